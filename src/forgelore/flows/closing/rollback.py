"""Rollback: take back what a run closed. State, duplicate mark, GitLab's link, labels and our own comments.

What a forge keeps of it is told: events of its timeline cannot be taken back by anybody.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from forgelore.errors import ForgeError, InvalidValue
from forgelore.flows.closing.journal import JournalValues, Write, WriteContext, perform
from forgelore.flows.closing.live_state import LiveState, fetch_live, is_closed_by
from forgelore.flows.closing.reconcile import settle, settle_item
from forgelore.flows.closing.write_run import writing_run
from forgelore.model import Item, ItemKey
from forgelore.ports import Forge
from forgelore.store.closings import find_run_of
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import DedupeRun, end_run, load_run, save_counters
from forgelore.store.item_facts import find_key
from forgelore.store.projects import StoredProject
from forgelore.store.write_journal import JournalEntry, list_writes


class RolledBackItem(NamedTuple):
    """What was taken back of one item, what of its timeline remains, and what could not be restored."""

    kind: str
    number: int
    restored: list[str]
    remains: list[str]
    problem: str


class RolledBack(NamedTuple):
    """A run that was taken back. `of_run` is the apply."""

    run: int
    of_run: int
    items: list[RolledBackItem]
    counters: dict[str, int]


def load_applied(store: Store, run_id: int) -> DedupeRun:
    """Return the apply that is meant: by its own number, or by that of its plan."""
    run = load_run(store, run_id)
    if run.step == "plan":
        applied = find_run_of(store, run_id, "apply")
        if applied is None:
            raise InvalidValue(f"plan {run_id} was never applied", hint="see: forgelore dedupe runs")
        run = load_run(store, applied)
    if run.step != "apply":
        raise InvalidValue(f"run {run_id} is {run.step}, and closed nothing", hint="see: forgelore dedupe runs")
    return run


def roll_back(
    store: Store, forge: Forge, project: StoredProject, applied: DedupeRun, now_ms: Callable[[], int], *,
    on_item: Callable[[RolledBackItem], None] | None = None,
) -> RolledBack:  # fmt: skip
    """Restore what an apply changed, the last item first. It can be repeated, and goes on where it was killed."""
    with writing_run(store, forge, project, "rollback", applied.id, {}, now_ms) as context:
        done: list[RolledBackItem] = []
        for item_id in reversed(dict.fromkeys(entry.item_id for entry in list_writes(store, applied.id))):
            found = _restore_item(context, applied.id, item_id)
            if found:
                done.append(found)
                if on_item:
                    on_item(found)
        counters = {
            "restored": sum(not one.problem for one in done),
            "problems": sum(bool(one.problem) for one in done),
        }
        with store.transaction():
            save_counters(store, context.run_id, counters)
            end_run(store, context.run_id, "done", now_ms())
        return RolledBack(context.run_id, applied.id, done, counters)


def _restore_item(context: WriteContext, applied: int, item_id: int) -> RolledBackItem | None:
    key = find_key(context.store, item_id)
    if key is None:
        return None
    entries = settle_item(context, item_id, key, run_id=applied)
    settle_item(context, item_id, key)
    written = {entry.step: entry for entry in entries if entry.status == "done"}
    if not written:
        return None
    state = fetch_live(context, key)
    if state is None:
        return RolledBackItem(key.kind, key.number, [], [], "it is gone from the forge")
    work = _Restoring(context, item_id, key, state)
    if "close" in written:
        work.reopen(written["close"])
    if "comment" in written:
        work.remove_comment(written["comment"])
    if "label" in written:
        work.remove_labels(written["label"])
    return RolledBackItem(key.kind, key.number, work.restored, work.remains, work.problem)


class _Restoring:
    """What is taken back of one item."""

    def __init__(self, context: WriteContext, item_id: int, key: ItemKey, state: LiveState) -> None:
        self._context, self._item_id, self._key, self._state = context, item_id, key, state
        self.restored: list[str] = []
        self.remains: list[str] = []
        self.problem = ""

    def reopen(self, closing: JournalEntry) -> None:
        context = self._context
        self.remains += ["closed", "reopened"]
        if is_closed_by(self._state, context.own):
            self._send("reopen", {}, partial(context.forge.reopen, context.project, self._key))
            self.restored.append("state")
        elif not self._state.is_open:
            self.problem = f"{self._state.facts.closed_by or 'somebody'} closed it since: it stays closed"
        self._unmark(closing)

    def _unmark(self, closing: JournalEntry) -> None:
        """Take off the mark and the link that the closing made; those that were there before stay."""
        context, number = self._context, closing.request.get("target")
        state = fetch_live(context, self._key)
        target_key = ItemKey(self._key.kind, int(number)) if isinstance(number, int) else None
        if state is None or target_key is None:
            return
        is_marked = number in state.facts.duplicate_of and not closing.before.get("is_marked")
        is_linked = number in state.facts.linked_to and not closing.before.get("is_linked")
        target = fetch_live(context, target_key) if is_marked or is_linked else None
        if target and is_marked and not self.problem:
            self._take_mark_off(state.item, target.item)
        if target and is_linked and not self.problem:
            send = partial(context.forge.remove_link, context.project, state.item, target.item)
            self._send("unlink", {"target": number}, send)
            self.restored.append("link")

    def _take_mark_off(self, item: Item, target: Item) -> None:
        """An older server may not know how: that is told, and the rest is restored."""
        context = self._context
        self.remains.append("marked_as_duplicate")
        try:
            send = partial(context.forge.unmark_duplicate, context.project, item, target)
            self._send("unmark", {"target": target.key.number}, send)
        except ForgeError as error:
            self.problem = f"the duplicate mark is still there: {error.message}"
            return
        self.restored.append("duplicate mark")
        self.remains.append("unmarked_as_duplicate")

    def remove_comment(self, said: JournalEntry) -> None:
        comment_id = (said.answer or {}).get("comment_id")
        if not isinstance(comment_id, int) or self._is_done("uncomment"):
            return
        forge, project = self._context.forge, self._context.project
        self._send(
            "uncomment", {"comment_id": comment_id}, partial(forge.delete_comment, project, self._key, comment_id)
        )
        self.restored.append("comment")

    def remove_labels(self, given: JournalEntry) -> None:
        wanted, before = given.request.get("labels"), given.before.get("labels")
        if not isinstance(wanted, list) or not isinstance(before, list):
            return
        added = [str(one) for one in wanted if one not in before and one in self._state.item.labels]
        if not added:
            return
        forge, project = self._context.forge, self._context.project
        self._send("unlabel", {"labels": added}, partial(forge.remove_labels, project, self._key, added))
        self.restored.append("labels")
        self.remains += ["labeled", "unlabeled"]

    def _is_done(self, step: str) -> bool:
        entries = list_writes(self._context.store, self._context.run_id, self._item_id)
        return any(entry.step == step and entry.status == "done" for entry in entries)

    def _send(self, step: str, request: JournalValues, send: Callable[[], object]) -> None:
        def sent() -> JournalValues:
            send()
            return {}

        write = Write(self._item_id, step, request, {}, sent)
        perform(self._context, write, partial(settle, self._context, self._key))
