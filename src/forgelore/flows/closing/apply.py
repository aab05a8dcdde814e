"""Apply: carry out a plan. Each item and its target are read anew, and closed only if nothing has happened since.

    recheck → close → comment                          without days of grace
    recheck → label → comment → … hours … → recheck → close    with them

Everything is journalled before it is sent, so the same command goes on where a killed one ended, and a plan that was
applied changes nothing the second time.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from forgelore.core.closing.messages import CLOSED
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.errors import InvalidValue
from forgelore.flows.closing.grace import wait
from forgelore.flows.closing.journal import RunClock, WriteContext
from forgelore.flows.closing.live_state import LiveState, fetch_live
from forgelore.flows.closing.objections import find_objection
from forgelore.flows.closing.people import LivePeople
from forgelore.flows.closing.proof_gate import check_proof
from forgelore.flows.closing.reconcile import settle_item
from forgelore.flows.closing.write_run import WriteOrder, load_parameters, writing_run
from forgelore.flows.closing.writes import close_item, comment_on
from forgelore.model import ItemKey
from forgelore.ports import ConversationLocked, Forge, LostWrite
from forgelore.store.closing_items import PlanItem, load_plan_items
from forgelore.store.closings import PlannedClosing, list_closings, save_closings
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, end_run, load_run, save_counters
from forgelore.store.projects import StoredProject
from forgelore.store.write_journal import JournalEntry


class ApplySettings(NamedTuple):
    """`close_after`: hours of grace, 0 for none. What a run began with stays, also when it is gone on with.
    `maintainers`: by the settings. `is_forced`: take over from a run that has gone quiet on another machine.
    """

    message: str = CLOSED
    close_after: int = 0
    is_unproven: bool = False
    maintainers: Sequence[str] = ()
    is_forced: bool = False


class AppliedLine(NamedTuple):
    """What became of one item: closed, skip or wait (its hours of grace run, or an answer never came), and why."""

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
    store: Store, forge: Forge, project: StoredProject, plan: DedupeRun, settings: ApplySettings, clock: RunClock, *,
    on_line: Callable[[AppliedLine], None] | None = None,
) -> Applied:  # fmt: skip
    """Carry out a plan, or go on with it. Raises Unproven where nobody has measured that it would be right."""
    if settings.close_after < 0:
        raise InvalidValue(f"{settings.close_after} hours of grace are none", hint="give a number of hours, or none")
    if not settings.is_unproven:
        check_proof(store, plan)
    parameters = {"close_after": settings.close_after, "unproven": settings.is_unproven}
    order = WriteOrder("apply", plan.id, parameters, settings.is_forced)
    with writing_run(store, forge, project, order, clock) as context:
        hours = int(load_parameters(context).get("close_after") or 0)
        if settings.close_after and settings.close_after != hours:
            raise InvalidValue(
                f"this plan was begun with {hours} hours of grace", hint="make a new plan to give other hours"
            )
        work = _Work(context, settings, hours)
        planned = [line for line in list_closings(store, plan.id) if line.action == "close"]
        lines: list[AppliedLine] = []
        for line in planned:
            lines.append(work.apply_line(line))
            if on_line:
                on_line(lines[-1])
        counters = _count(lines)
        with store.transaction():
            save_counters(store, context.run_id, counters)
            end_run(store, context.run_id, "waiting" if counters.get("wait") else "done", clock.now_ms())
        return Applied(context.run_id, plan.id, lines, counters, work.problems)


_WAITS = (ReasonCode.IN_GRACE, ReasonCode.WRITE_UNANSWERED)


class _Work:
    """One run over the lines of a plan."""

    def __init__(self, context: WriteContext, settings: ApplySettings, hours: int) -> None:
        self._context, self._message, self._hours = context, settings.message, hours
        self._people = LivePeople(context, settings.maintainers)
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
        try:
            reason = self._close(line, item, target)
        except ConversationLocked:
            reason = ReasonCode.CONVERSATION_LOCKED
        except LostWrite as error:
            reason = ReasonCode.WRITE_UNANSWERED
            self.problems.append(f"{item.kind} {item.number}: {error.message}; run the same command again")
        action = "closed" if reason is None else "wait" if reason in _WAITS else "skip"
        with store.transaction():
            save_closings(store, run_id, [line._replace(action=action, reason=reason or "")])
        return AppliedLine(item.kind, item.number, target.number, action, reason or "")

    def _close(self, line: PlannedClosing, item: PlanItem, target: PlanItem) -> ReasonCode | None:
        """Do what is left to do for an item; returns why it stays open, None when it is closed."""
        context, key = self._context, _key(item)
        done = {entry.step: entry for entry in settle_item(context, key) if entry.status == "done"}
        state = fetch_live(context, key)
        if "close" in done:
            return self._after_closing(done, item, state, target)
        target_state, own_comments = fetch_live(context, _key(target)), int("comment" in done)
        if reason := find_objection(context, self._people, line, state, target_state, own_comments=own_comments):
            return reason
        assert state is not None
        assert target_state is not None
        if self._hours and (reason := wait(context, done, item.id, state, _key(target), self._hours)):
            return reason
        close_item(context, target.id, state, target_state.item)
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
