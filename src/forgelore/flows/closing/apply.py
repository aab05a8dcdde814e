"""Apply: carry out a plan. Each item and its target are read anew, and closed only if nothing has happened since.

    recheck → close → comment                          without days of grace
    recheck → label → comment → … hours … → recheck → close    with them

Everything is journalled before it is sent, so the same command goes on where a killed one ended, and a plan that was
applied changes nothing the second time.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from forgelore.core.dedupe.closings import reaches
from forgelore.core.dedupe.messages import CLOSED, GRACE, GRACE_LABEL, closing_marker
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.recheck import RecheckCase, SeenItem, recheck
from forgelore.errors import InvalidValue
from forgelore.flows.closing.journal import WriteContext
from forgelore.flows.closing.live_state import LiveState, as_live, fetch_live, find_newest_comment
from forgelore.flows.closing.proof_gate import check_proof
from forgelore.flows.closing.reconcile import settle_item
from forgelore.flows.closing.write_run import load_parameters, writing_run
from forgelore.flows.closing.writes import close_item, comment_on, label_item
from forgelore.flows.dedupe.canonicalize import load_edges
from forgelore.model import ItemKey
from forgelore.ports import ConversationLocked, Forge
from forgelore.store.closing_items import PlanItem, load_plan_items
from forgelore.store.closings import PlannedClosing, list_closings, save_closings
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, end_run, load_run, save_counters
from forgelore.store.projects import StoredProject
from forgelore.store.write_journal import JournalEntry, load_closed_onto

HOUR_MS = 3_600_000


class ApplySettings(NamedTuple):
    """`close_after`: hours of grace, 0 for none. What a run began with stays, also when it is gone on with."""

    message: str = CLOSED
    close_after: int = 0
    is_unproven: bool = False


class AppliedLine(NamedTuple):
    """What became of one item: closed, skip or wait (its hours of grace run), and why."""

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
        raise InvalidValue(f"run {run_id} is no plan but {plan.step}", hint="see: forgelore dedupe runs --step plan")
    return plan


def apply_plan(
    store: Store, forge: Forge, project: StoredProject, plan: DedupeRun, settings: ApplySettings,
    now_ms: Callable[[], int], *, on_line: Callable[[AppliedLine], None] | None = None,
) -> Applied:  # fmt: skip
    """Carry out a plan, or go on with it. Raises Unproven where nobody has measured that it would be right."""
    if settings.close_after < 0:
        raise InvalidValue(f"{settings.close_after} hours of grace are none", hint="give a number of hours, or none")
    if not settings.is_unproven:
        check_proof(store, plan)
    with writing_run(
        store, forge, project, "apply", plan.id,
        {"close_after": settings.close_after, "unproven": settings.is_unproven}, now_ms,
    ) as context:  # fmt: skip
        hours = int(load_parameters(context).get("close_after") or 0)
        if settings.close_after and settings.close_after != hours:
            raise InvalidValue(
                f"this plan was begun with {hours} hours of grace", hint="make a new plan to give other hours"
            )
        work = _Work(context, settings.message, hours)
        planned = [line for line in list_closings(store, plan.id) if line.action == "close"]
        lines: list[AppliedLine] = []
        for line in planned:
            lines.append(work.apply_line(line))
            if on_line:
                on_line(lines[-1])
        counters = _count(lines)
        with store.transaction():
            save_counters(store, context.run_id, counters)
            end_run(store, context.run_id, "waiting" if counters.get("wait") else "done", now_ms())
        return Applied(context.run_id, plan.id, lines, counters, work.problems)


class _Work:
    """One run over the lines of a plan."""

    def __init__(self, context: WriteContext, message: str, hours: int) -> None:
        self._context, self._message, self._hours = context, message, hours
        self.problems: list[str] = []

    def apply_line(self, line: PlannedClosing) -> AppliedLine:
        """Close one item, or say why not; what became of it is kept."""
        store, run_id = self._context.store, self._context.run_id
        assert line.target_id is not None
        items = load_plan_items(store, [line.item_id, line.target_id])
        if len(items) < 2:
            gone = ReasonCode.NOT_OPEN if line.item_id not in items else ReasonCode.TARGET_NOT_OPEN
            return AppliedLine("", 0, 0, "skip", gone)
        item, target = items[line.item_id], items[line.target_id]
        reason = self._close(line, item, target)
        action = "closed" if reason is None else "wait" if reason == ReasonCode.IN_GRACE else "skip"
        with store.transaction():
            save_closings(store, run_id, [line._replace(action=action, reason=reason or "")])
        return AppliedLine(item.kind, item.number, target.number, action, reason or "")

    def _close(self, line: PlannedClosing, item: PlanItem, target: PlanItem) -> ReasonCode | None:
        """Do what is left to do for an item; returns why it stays open, None when it is closed."""
        context, key = self._context, _key(item)
        entries = settle_item(context, item.id, key)
        done = {entry.step: entry for entry in entries if entry.status == "done"}
        state = fetch_live(context, key)
        if "close" in done:
            return self._after_closing(done, item, state, target)
        target_state = fetch_live(context, _key(target))
        if reason := self._object(line, item.kind, state, target_state, own_comments=int("comment" in done)):
            return reason
        assert state is not None
        assert target_state is not None
        if self._hours and (reason := self._wait(done, item, state, _key(target))):
            return reason
        close_item(context, item.id, target.id, state, target_state.item)
        if not self._hours:
            self._comment(item, _key(target))
        return None

    def _after_closing(
        self, done: dict[str, JournalEntry], item: PlanItem, state: LiveState | None, target: PlanItem
    ) -> ReasonCode | None:
        """It was closed before: what somebody reopened stays open; a comment that was not posted is."""
        if state is None or state.is_open:
            return ReasonCode.REOPENED_SINCE_PLAN
        if not self._hours and "comment" not in done:
            self._comment(item, _key(target))
        return None

    def _object(
        self, line: PlannedClosing, kind: str, state: LiveState | None, target: LiveState | None, *, own_comments: int
    ) -> ReasonCode | None:
        seen = json.loads(line.seen)
        newest = find_newest_comment(self._context, state, closing_marker(self._context.run_id, line.item_id))
        case = RecheckCase(
            msgspec.convert(seen["item"], SeenItem),
            as_live(state, own_comments=own_comments, newest_comment=newest),
            msgspec.convert(seen["target"], SeenItem), as_live(target),
        )  # fmt: skip
        if reason := recheck(case) or self._overruled(line, kind):
            return reason
        closed_onto = load_closed_onto(self._context.store, self._context.project_id)
        is_circle = line.target_id is not None and reaches(closed_onto, line.target_id, line.item_id)
        return ReasonCode.WOULD_CYCLE if is_circle else None

    def _overruled(self, line: PlannedClosing, kind: str) -> ReasonCode | None:
        """Return what was said since the plan, by people or a judge: the edge must stand, the item in its place."""
        standing = load_edges(self._context.store, self._context.project_id, kind)
        if {line.item_id, line.target_id} & standing.alone or line.item_id in standing.chosen:
            return ReasonCode.SAID_OTHERWISE
        stands = any((edge.source, edge.target) == (line.item_id, line.target_id) for edge in standing.edges)
        return None if stands else ReasonCode.MISSING_ACCEPTED_EDGE

    def _wait(
        self, done: dict[str, JournalEntry], item: PlanItem, state: LiveState, target: ItemKey
    ) -> ReasonCode | None:
        """Label and comment first; then wait, and close only if nobody reacted. None: the hours are over."""
        context, key = self._context, state.item.key
        if "comment" not in done:
            if "label" not in done:
                label_item(context, item.id, state, GRACE_LABEL)
            comment_on(context, item.id, key, GRACE, target, hours=self._hours)
            return ReasonCode.IN_GRACE
        said = done["comment"]
        if context.now_ms() < (said.answered_at or said.sent_at) + self._hours * HOUR_MS:
            return ReasonCode.IN_GRACE
        comment_id = (said.answer or {}).get("comment_id")
        is_liked = isinstance(comment_id, int) and context.forge.count_reactions(context.project, key, comment_id) > 0
        return ReasonCode.DISCUSSED_SINCE_PLAN if is_liked else None

    def _comment(self, item: PlanItem, target: ItemKey) -> None:
        try:
            comment_on(self._context, item.id, _key(item), self._message, target, hours=0)
        except ConversationLocked as error:
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
