"""Apply a plan: read each item and its target again, and close the item only if nothing has happened since.

    recheck → close → comment                          without a grace period
    recheck → label → comment → … hours … → recheck → close    with one

A plan is applied only where an audit has shown that its judges are right (`check_proof`). Everything is journalled
before it is sent, so the same command goes on where a killed one ended, and a plan that was applied changes nothing the
second time. Whatever people, a judge or another run said since the plan keeps an item open (`find_objection`).
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from forgelore.context import JobContext
from forgelore.dedupe.closing_rules import (
    HOUR_MS,
    AuditResult,
    RecheckCase,
    SeenItem,
    find_gap,
    find_proofs,
    parse_note,
    recheck,
    why_waiting,
)
from forgelore.dedupe.clusters import ACCEPTED, EffectiveEdges, chain_edges, cluster_edges, copy_edges, reaches
from forgelore.dedupe.journal import (
    LiveState,
    NoEffect,
    WriteContext,
    close_item,
    comment_on,
    fetch_live,
    label_item,
    list_other_comments,
    load_parameters,
    settle_item,
    withdraw,
    writing_run,
)
from forgelore.dedupe.maintainers import LivePeople
from forgelore.dedupe.plan import Copies, load_edges, load_waiting
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import AuthError, InvalidValue, LoreError, NotFound, Unproven
from forgelore.model import ItemKey
from forgelore.ports.forge import Comment, ConversationLocked, Forge, LostWrite, WriteDelayed, WriteRefused
from forgelore.records import Edge, EdgeJudge, PlannedClosing
from forgelore.store.closings import (
    JournalEntry,
    PlanItem,
    list_closings,
    load_closed_onto,
    load_plan_items,
    save_closings,
)
from forgelore.store.database import Store
from forgelore.store.decisions import DedupeRun, each_override, end_run, list_runs, load_run, save_counters
from forgelore.text.markdown import (
    CLOSED,
    GRACE,
    GRACE_LABEL,
    KEEP_OPEN_LABELS,
    is_standing_promise,
)


def find_objection(
    context: WriteContext, people: LivePeople, line: PlannedClosing, state: LiveState | None, target: LiveState | None,
    *, own: Collection[str], keep_open: Collection[str],
) -> ReasonCode | None:  # fmt: skip
    """Return what forbids a closing now; None: nothing does, and both items are there and open.

    The grace period is checked first: the comment that announced it does not count as discussion. `own`: the steps
    that this run has done with the item. `keep_open`: labels that speak against a closing.
    """
    if state is not None and state.is_open and (reason := _find_grace(context, line)):
        return reason
    kind = (state or target).item.key.kind if state or target else "issue"  # type: ignore[union-attr]
    standing = load_edges(context.store, context.project_id, kind)
    others = list_other_comments(context, state.item.key) if state and state.item.comment_count else []
    if state is not None and state.is_open and _is_promised(context, others, people):
        return ReasonCode.IN_GRACE
    newest = None if state is None else max((one.id for one in others), default=0)
    if reason := _recheck(context, line, state, target, standing, newest, own, keep_open):
        return reason
    assert state is not None
    return people.protects(state.item) or _overruled(context, line, standing, kind) or _circle(context, line)


def _recheck(
    context: WriteContext, line: PlannedClosing, state: LiveState | None, target: LiveState | None,
    standing: EffectiveEdges, newest: int | None, own: Collection[str], keep_open: Collection[str],
) -> ReasonCode | None:  # fmt: skip
    seen = json.loads(line.seen)
    case = RecheckCase(
        msgspec.convert(seen["item"], SeenItem),
        state and state.as_live(
            comments=state.item.comment_count, own_comments=int("comment" in own), newest_comment=newest
        ),
        msgspec.convert(seen["target"], SeenItem), target and target.as_live(comments=target.item.comment_count),
        accepted_at=_find_acceptance(context, line, standing),
        own_label=GRACE_LABEL if "label" in own and "unlabel" not in own else "", keep_open=keep_open,
    )  # fmt: skip
    return recheck(case)


def _is_promised(context: WriteContext, comments: Iterable[Comment], people: LivePeople) -> bool:
    """Tell whether another operator, or the bot, has told people that an item is closed or will be."""
    for one in comments:
        note = parse_note(one.body)
        is_standing = not note.is_ended if note else is_standing_promise(one.body, context.store_id)
        if is_standing and people.speak_for_us(one.author):
            return True
    return False


def _find_acceptance(context: WriteContext, line: PlannedClosing, standing: EffectiveEdges) -> int | None:
    """Return when a person accepted the very pair of a line; None where nobody did."""
    pair = (line.item_id, line.target_id)
    if line.item_id not in standing.by_people or not any(tuple(one[:2]) == pair for one in standing.edges):
        return None
    words = each_override(context.store, context.project_id)
    said = [one for one in words if one.decision in ACCEPTED and (one.item_id, one.target_id) == pair]
    return max(one.said_at for one in said)


def _overruled(context: WriteContext, line: PlannedClosing, standing: EffectiveEdges, kind: str) -> ReasonCode | None:
    """Return what people or a judge have changed since the plan: the edge must still stand, and so must the target."""
    if {line.item_id, line.target_id} & standing.alone or line.item_id in standing.chosen:
        return ReasonCode.SAID_OTHERWISE
    edge = _find_edge(context, line, standing, kind)
    if edge is None:
        return ReasonCode.MISSING_ACCEPTED_EDGE
    return ReasonCode.LOW_CONFIDENCE if edge.confidence < (line.confidence or 0.0) else None


def _find_edge(context: WriteContext, line: PlannedClosing, standing: EffectiveEdges, kind: str) -> Edge | None:
    """Return the edge of a line: a decision's, that of what people say connects the two, or that of two copies which
    decisions connect.
    """
    pair = (line.item_id, line.target_id or 0)
    for edge in standing.edges:
        if (edge.source, edge.target) == pair:
            return edge
    if chain := chain_edges(pair[:1], pair[1], standing):
        return chain[0]
    if not any(set(pair) <= set(one) for one in cluster_edges(standing.edges, alone=standing.alone)[0]):
        return None
    same = Copies(context.store, context.project_id, kind, load_plan_items(context.store, pair))
    return next(iter(copy_edges(pair[:1], pair[1], standing, same.is_copy)), None)


def _circle(context: WriteContext, line: PlannedClosing) -> ReasonCode | None:
    closed_onto = load_closed_onto(context.store, context.project_id)
    is_circle = line.target_id is not None and reaches(closed_onto, line.target_id, line.item_id)
    return ReasonCode.WOULD_CYCLE if is_circle else None


def _find_grace(context: WriteContext, line: PlannedClosing) -> ReasonCode | None:
    """Return why an item has to wait: another run has announced that it will close it, or its target."""
    waiting = load_waiting(context.store, context.project_id, except_run=context.run_id)
    return why_waiting(waiting, line.item_id, line.target_id)


_LABELLED = ("history", "human")  # an audit of one model against another has no labels
_RUNS = 200


def load_audits(store: Store, project_id: int) -> list[AuditResult]:
    """Return the finished audits of a project that had labels."""
    runs = [run for run in list_runs(store, project_id, step="audit", limit=_RUNS) if run.status == "done"]
    return [_as_result(run) for run in runs if run.parameters.get("against") in _LABELLED]


def _as_result(run: DedupeRun) -> AuditResult:
    against, judge, model, policy, kinds = (
        str(run.parameters.get(name) or "") for name in ("against", "judge", "model", "policy", "kinds")
    )
    min_edge, min_gap = (_number(run.parameters.get(name)) for name in ("min_edge", "min_gap"))
    of_kinds = frozenset(kinds.split(",")) if kinds else None
    return AuditResult(run.id, against, judge, model, policy, run.counters, min_edge, min_gap, of_kinds)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def load_edges_judged(plan: DedupeRun) -> list[EdgeJudge]:
    """Return the judges behind a plan. What is closed passed the plan's own least confidence as well as theirs."""
    min_close = _number(plan.parameters.get("min_close")) or 0.0
    rows = json.loads(str(plan.parameters.get("judges") or "[]"))
    found = []
    for judge, model, *rest in rows:
        kind, min_edge, min_gap = rest or ("", 0.0, 0.0)  # an older plan: nobody kept them
        found.append(EdgeJudge(judge, model, kind, max(min_edge, min_close) if rest else 0.0, min_gap))
    return found


def check_proof(store: Store, plan: DedupeRun) -> list[str]:
    """Raise Unproven unless every judge behind the plan's closings was shown to be right often enough; return what was
    shown, in words.
    """
    edges, audits = load_edges_judged(plan), load_audits(store, plan.project_id)
    gap = find_gap(edges, audits)
    if gap:
        raise Unproven(
            f"plan {plan.id} was not applied: {gap}",
            hint="measure it with: forgelore dedupe audit --against history (or human); --unproven applies it anyway,"
            " with an unknown share of wrong closings",
        )
    return find_proofs(edges, audits)


def wait(
    context: WriteContext, done: Mapping[str, JournalEntry], item_id: int, state: LiveState, target: ItemKey, hours: int
) -> ReasonCode | None:
    """Comment and label first, then wait. None: the grace period is over, and nobody reacted. Raises
    ConversationLocked where no comment can be posted; the label is not set there, because the comment comes first.
    """
    said = done.get("comment")
    if said is None:
        comment_on(context, item_id, state.item.key, GRACE, target, hours=hours)
    if "label" not in done:
        label_item(context, state, GRACE_LABEL)
    if said is None or _forge_ms(context) < _told_at(said) + hours * HOUR_MS:
        return ReasonCode.IN_GRACE
    return ReasonCode.DISCUSSED_SINCE_PLAN if _has_reactions(context, state.item.key, said) else None


def _forge_ms(context: WriteContext) -> int:
    """Return the forge's clock: ours may be wrong by days."""
    return context.forge.server_ms() or context.now_ms()


def _told_at(said: JournalEntry) -> int:
    """Return when the comment was posted, by the forge's clock; for an older entry, when we sent it."""
    told_at = (said.answer or {}).get("created_at")
    return told_at if isinstance(told_at, int) else said.answered_at or said.sent_at


def _has_reactions(context: WriteContext, key: ItemKey, said: JournalEntry) -> bool:
    comment_id = (said.answer or {}).get("comment_id")
    return isinstance(comment_id, int) and context.forge.count_reactions(context.project, key, comment_id) > 0


class ApplySettings(NamedTuple):
    """`close_after`: the grace period in hours, 0 for none. A run keeps what it began with, also when it is resumed.
    `maintainers`, and labels that keep an item open: by the settings. `force`: take over from a run that has gone quiet
    on another machine.
    """

    message: str = CLOSED
    close_after: int = 0
    is_unproven: bool = False
    maintainers: Sequence[str] = ()
    force: bool = False
    keep_open: Sequence[str] = KEEP_OPEN_LABELS


class AppliedLine(NamedTuple):
    """What became of one item: closed, skip or wait (in its grace period, or a write was not answered), and why. Closed
    because of `already_closed`: by an earlier run of the same command.
    """

    kind: str
    number: int
    target: int
    action: str
    reason: str


class Applied(NamedTuple):
    """What a run did. `run` is what a rollback takes back; `problems` kept nothing from being closed."""

    run: int
    plan: int
    lines: list[AppliedLine]
    counters: dict[str, int]
    problems: list[str]


def load_plan(store: Store, run_id: int) -> DedupeRun:
    """Return a plan by its number. Raises InvalidValue for any other run."""
    plan = load_run(store, run_id)
    if plan.step != "plan":
        raise InvalidValue(f"run {run_id} is not a plan but {plan.step}", hint="see: forgelore dedupe runs --step plan")
    return plan


def apply_plan(
    job: JobContext, forge: Forge, plan: DedupeRun, settings: ApplySettings, *,
    on_line: Callable[[AppliedLine], None] | None = None,
) -> Applied:  # fmt: skip
    """Apply a plan, or resume applying it. Raises Unproven where no audit has shown that its judges are right."""
    store = job.store
    if settings.close_after < 0:
        raise InvalidValue(
            f"invalid grace period: {settings.close_after} hours",
            hint="give a positive number of hours, or leave it out",
        )
    if not settings.is_unproven:
        check_proof(store, plan)
    parameters = {"close_after": settings.close_after, "unproven": settings.is_unproven}
    with writing_run(job, forge, "apply", plan.id, parameters, force=settings.force) as context:
        hours = int(load_parameters(context).get("close_after") or 0)
        if settings.close_after and settings.close_after != hours:
            raise InvalidValue(
                f"this plan was started with a grace period of {hours} hours",
                hint="make a new plan to change the grace period",
            )
        work = _ApplyRun(context, settings, hours)
        planned = [line for line in list_closings(store, plan.id) if line.action == "close"]
        lines: list[AppliedLine] = []
        for line in planned:
            lines.append(work.apply_line(line))
            if on_line:
                on_line(lines[-1])
        if work.refusal and work.is_refused:
            raise work.refusal
        counters = _count(lines)
        with store.transaction():
            save_counters(store, context.run_id, counters)
            end_run(store, context.run_id, "waiting" if counters.get("wait") else "done", job.now_ms())
        return Applied(context.run_id, plan.id, lines, counters, work.problems)


_TROUBLES = {LostWrite: ReasonCode.WRITE_UNANSWERED, NoEffect: ReasonCode.WRITE_WITHOUT_EFFECT}
_CLOSED = (None, ReasonCode.ALREADY_CLOSED)
_WORKED = (*_CLOSED, ReasonCode.IN_GRACE)
_REFUSED_ALL = 3  # items in a row, before any write succeeded
_WAITS = (ReasonCode.IN_GRACE, *_TROUBLES.values())


class _ApplyRun:
    """One run over the lines of a plan."""

    def __init__(self, context: WriteContext, settings: ApplySettings, hours: int) -> None:
        self._context, self._message, self._hours = context, settings.message, hours
        self._keep_open = settings.keep_open
        self._before = {one.item_id: one.reason for one in list_closings(context.store, context.run_id)}
        self._people = LivePeople(context, settings.maintainers)
        self.problems: list[str] = []
        self.refusal: AuthError | None = None
        self._refused, self._is_effective = 0, False
        self._closed_now: set[int] = set()  # sent by this very command

    def apply_line(self, line: PlannedClosing) -> AppliedLine:
        """Close one item, or say why not; what became of it is kept."""
        store, run_id = self._context.store, self._context.run_id
        assert line.target_id is not None
        items = load_plan_items(store, [line.item_id, line.target_id])
        if len(items) < 2:
            gone = ReasonCode.NOT_OPEN if line.item_id not in items else ReasonCode.TARGET_NOT_OPEN
            return AppliedLine("", 0, 0, "skip", gone)
        item, target = items[line.item_id], items[line.target_id]
        try:
            reason = self._close_patiently(line, item, target)
        except ConversationLocked:
            reason = ReasonCode.CONVERSATION_LOCKED
        except (AuthError, NotFound, WriteRefused) as error:
            self._refuse(item, error)
            reason = ReasonCode.WRITE_REFUSED
        except (LostWrite, NoEffect) as error:
            reason = _TROUBLES[type(error)]
            self.problems.append(f"{item.kind} {item.number}: {error.message}; run the same command again")
        self._is_effective = self._is_effective or reason in _WORKED
        action = "closed" if reason in _CLOSED else "wait" if reason in _WAITS else "skip"
        with store.transaction():
            save_closings(store, run_id, [line._replace(action=action, reason=reason or "")])
        return AppliedLine(item.kind, item.number, target.number, action, reason or "")

    def _refuse(self, item: PlanItem, error: LoreError) -> None:
        """Note that a write was refused. A token that may not write at all ends the run."""
        self._refused += 1
        is_general = isinstance(error, AuthError) and not self._is_effective and self._refused >= _REFUSED_ALL
        if is_general or (isinstance(error, AuthError) and error.is_rejected):
            raise error
        self.problems.append(f"{item.kind} {item.number}: {error.message}")
        self.refusal = self.refusal or (error if isinstance(error, AuthError) else None)

    @property
    def is_refused(self) -> bool:
        """Whether the token was refused and no write succeeded."""
        return self.refusal is not None and not self._is_effective

    def _close_patiently(self, line: PlannedClosing, item: PlanItem, target: PlanItem) -> ReasonCode | None:
        """Start again with an item after each wait and each lost answer, because people may have acted meanwhile. The
        client decides how often a forge may make us wait; at most one answer may be lost.
        """
        is_lost = False
        while True:
            try:
                return self._close(line, item, target)
            except WriteDelayed:
                continue
            except LostWrite:
                if is_lost:
                    raise
                is_lost = True

    def _close(self, line: PlannedClosing, item: PlanItem, target: PlanItem) -> ReasonCode | None:
        """Do the remaining steps for an item; return why it stays open, None when it is closed."""
        context, key = self._context, _key(item)
        done = {entry.step: entry for entry in settle_item(context, key) if entry.status == "done"}
        state = fetch_live(context, key)
        if "close" in done:
            return self._after_closing(done, item, state, target)
        target_state = fetch_live(context, _key(target))
        reason = find_objection(context, self._people, line, state, target_state, own=done, keep_open=self._keep_open)
        if "withdraw" in done:  # our comment already says that it stays open
            before = self._before.get(item.id) or ReasonCode.DISCUSSED_SINCE_PLAN
            reason = reason or ReasonCode(before)
        if reason is None and self._hours:
            assert state is not None
            reason = wait(context, done, item.id, state, _key(target), self._hours)
        if reason:
            if state is not None and state.is_open and reason not in _WAITS:
                self._withdraw(done, state, _key(target))
            return reason
        assert state is not None
        assert target_state is not None
        self._closed_now.add(item.id)
        if not close_item(context, target.id, state, target_state.item):
            return ReasonCode.REOPENED_SINCE_PLAN
        if not self._hours:
            self._comment(item, _key(target))
        return None

    def _after_closing(
        self, done: dict[str, JournalEntry], item: PlanItem, state: LiveState | None, target: PlanItem
    ) -> ReasonCode | None:
        """Finish an item that was closed before: post the missing comment, unless somebody has reopened the item."""
        if state is None or state.is_open:
            return ReasonCode.REOPENED_SINCE_PLAN
        if not self._hours and "comment" not in done:
            self._comment(item, _key(target))
        return None if item.id in self._closed_now else ReasonCode.ALREADY_CLOSED

    def _withdraw(self, done: Mapping[str, JournalEntry], state: LiveState, target: ItemKey) -> None:
        try:
            withdraw(self._context, done, state, target)
        except (AuthError, NotFound, ConversationLocked, WriteRefused, NoEffect) as error:
            if isinstance(error, AuthError) and error.is_rejected:
                raise
            key = state.item.key
            self.problems.append(f"{key.kind} {key.number} stays open, and our comment or label is there: {error}")

    def _comment(self, item: PlanItem, target: ItemKey) -> None:
        """Post the comment that names the other item, unless another operator has done so."""
        context, key = self._context, _key(item)
        if _is_promised(context, list_other_comments(context, key), self._people):
            return
        try:
            comment_on(context, item.id, key, self._message, target, hours=0)
        except (AuthError, NotFound, ConversationLocked, WriteRefused) as error:
            if isinstance(error, AuthError) and error.is_rejected:
                raise
            self.problems.append(f"{item.kind} {item.number} was closed without a comment: {error.message}")


def _key(item: PlanItem) -> ItemKey:
    return ItemKey("change" if item.kind == "change" else "issue", item.number)


def _count(lines: list[AppliedLine]) -> dict[str, int]:
    counters: dict[str, int] = {}
    for line in lines:
        for name in (line.action, line.reason):
            if name:
                counters[name] = counters.get(name, 0) + 1
    return counters
