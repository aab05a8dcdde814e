"""Rollback: take back what a run closed. State, duplicate mark, GitLab's link, labels and our own comments.

An item is reopened only where the journal proves that this run closed it and nobody has closed it again since. One that
stays closed keeps our comment and label, which say why it was closed. Events of its timeline cannot be removed by
anybody; the answer lists them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.clusters import ACCEPTED
from forgelore.dedupe.journal import (
    JournalValues,
    LiveState,
    NoEffect,
    WriteContext,
    fetch_live,
    is_still_closed_by,
    perform,
    settle_item,
    writing_run,
)
from forgelore.errors import AuthError, ForgeError, InvalidValue
from forgelore.model import Item, ItemKey
from forgelore.ports.forge import Forge, LostWrite, WriteDelayed
from forgelore.records import HumanDecision
from forgelore.store.closings import JournalEntry, find_run_of, list_writes, load_closed_pair
from forgelore.store.database import Store
from forgelore.store.decisions import (
    DedupeRun,
    each_override,
    end_run,
    load_run,
    save_counters,
    save_override,
)


class RolledBackItem(NamedTuple):
    """What was taken back of one item, what of its timeline remains, and what could not be restored, with the reason;
    "" where all of it was.
    """

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
    """Return an apply by its own number, or by that of its plan; or a run that posted links."""
    run = load_run(store, run_id)
    if run.step == "plan":
        applied = find_run_of(store, run_id, "apply")
        if applied is None:
            raise InvalidValue(f"plan {run_id} was never applied", hint="see: forgelore dedupe runs")
        run = load_run(store, applied)
    if run.step not in ("apply", "link"):
        raise InvalidValue(f"run {run_id} ({run.step}) wrote nothing", hint="see: forgelore dedupe runs")
    return run


def roll_back(
    job: JobContext, forge: Forge, applied: DedupeRun, *, force: bool = False,
    on_item: Callable[[RolledBackItem], None] | None = None,
) -> RolledBack:  # fmt: skip
    """Restore what an apply changed, the last item first. It can be repeated, and goes on where it was killed."""
    store = job.store
    with writing_run(job, forge, "rollback", applied.id, {}, force=force) as context:
        done: list[RolledBackItem] = []
        for key in reversed(dict.fromkeys(entry.key for entry in list_writes(store, applied.id))):
            found = _restore_item(context, applied.id, key)
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
            end_run(store, context.run_id, "done", job.now_ms())
        return RolledBack(context.run_id, applied.id, done, counters)


def _restore_item(context: WriteContext, applied: int, key: ItemKey) -> RolledBackItem | None:
    work = _ItemRollback(context, key)
    is_lost = False
    while True:  # from the beginning after each wait, and after a lost answer: people may have acted meanwhile
        try:
            entries = settle_item(context, key, run_id=applied)
            settle_item(context, key)
            written = {entry.step: entry for entry in entries if entry.status == "done"}
            if not written:
                return None
            state = fetch_live(context, key)
            if state is None:
                return RolledBackItem(key.kind, key.number, [], [], "it is gone from the forge")
            work.restore(written, state)
        except WriteDelayed:
            continue
        except LostWrite:
            if is_lost:
                raise
            is_lost = True
        else:
            remains = list(dict.fromkeys(work.remains))
            return RolledBackItem(key.kind, key.number, work.restored, remains, "; ".join(work.problems))


class _ItemRollback:
    """What is taken back of one item."""

    def __init__(self, context: WriteContext, key: ItemKey) -> None:
        self._context, self._key = context, key
        self._state: LiveState
        self.restored: list[str] = []
        self.remains: list[str] = []
        self.problems: list[str] = []

    def restore(self, written: Mapping[str, JournalEntry], state: LiveState) -> None:
        """Open the item again, and then take off what was put on it; all of it, or nothing where it stays closed."""
        self._state = state
        self.problems.clear()
        closing = written.get("close")
        if closing:
            self.remains += ["closed", "reopened"]
            if not self._state.is_open and not self._reopen(closing):
                return
            self._unmark(closing)
            self._keep_apart(closing)
        if "comment" in written:
            self._remove_comment(written["comment"])
        if "label" in written:
            self._remove_labels(written["label"])

    def _reopen(self, closing: JournalEntry) -> bool:
        context, closed_by = self._context, self._state.facts.closed_by or "somebody"
        if not is_still_closed_by(self._state, closing, context.own):
            self.problems.append(f"{closed_by} closed it in the meantime: it stays closed, and nothing was undone")
            return False
        try:
            perform(context, self._key, "reopen", {}, partial(context.forge.reopen, context.project, self._key))
        except NoEffect as error:
            self.problems.append(f"it is still closed: {error.message}")
            return False
        self.restored.append("state")
        return True

    def _keep_apart(self, closing: JournalEntry) -> None:
        """Remember that the pair is not a duplicate, so that no later plan closes it again; unless a person accepted it
        since it was opened again.
        """
        context = self._context
        pair = load_closed_pair(context.store, closing.id)
        if pair is None:
            return
        reopened = [one for one in list_writes(context.store, context.run_id, self._key) if one.step == "reopen"]
        since = reopened[-1].sent_at if reopened else 0
        words = each_override(context.store, context.project_id)
        said = [one for one in words if {one.item_id, one.target_id} == set(pair)]
        if any(one.decision == "reject" or (one.decision in ACCEPTED and one.said_at > since) for one in said):
            return
        word = HumanDecision(*pair, "reject", f"rollback {context.run_id}", context.now_ms())
        with context.store.transaction():
            context.lock.confirm(context.now_ms())
            save_override(context.store, context.project_id, word)

    def _unmark(self, closing: JournalEntry) -> None:
        """Take off the mark and the link that the closing made; those that were there before stay."""
        context, number = self._context, closing.request.get("target")
        state = fetch_live(context, self._key)
        if state is None or not isinstance(number, int):
            return
        is_marked = number in state.facts.duplicate_of and not closing.before.get("is_marked")
        is_linked = number in state.facts.linked_to and not closing.before.get("is_linked")
        target = fetch_live(context, ItemKey(self._key.kind, number)) if is_marked or is_linked else None
        if target and is_marked and self._take_mark_off(state.item, target.item):
            self.restored.append("duplicate mark")
            self.remains.append("unmarked_as_duplicate")
        send = partial(context.forge.remove_link, context.project, state.item, target.item) if target else None
        if send and is_linked and self._try("unlink", {"target": number}, send, "the link"):
            self.restored.append("link")

    def _take_mark_off(self, item: Item, target: Item) -> bool:
        """Take off the duplicate mark. Where an older server cannot, the problem is noted and the rest restored."""
        context = self._context
        self.remains.append("marked_as_duplicate")
        send = partial(context.forge.unmark_duplicate, context.project, item, target)
        try:
            return self._try("unmark", {"target": target.key.number}, send, "the duplicate mark")
        except ForgeError as error:
            self.problems.append(f"the duplicate mark is still there: {error.message}")
            return False

    def _remove_comment(self, said: JournalEntry) -> None:
        comment_id = (said.answer or {}).get("comment_id")
        if not isinstance(comment_id, int) or self._is_done("uncomment"):
            return
        send = partial(self._context.forge.delete_comment, self._context.project, self._key, comment_id)
        if self._try("uncomment", {"comment_id": comment_id}, send, "our comment"):
            self.restored.append("comment")

    def _remove_labels(self, given: JournalEntry) -> None:
        wanted, before = given.request.get("labels"), given.before.get("labels")
        if not isinstance(wanted, list) or not isinstance(before, list):
            return
        added = [str(one) for one in wanted if one not in before and one in self._state.item.labels]
        if not added:
            return
        send = partial(self._context.forge.remove_labels, self._context.project, self._key, added)
        if self._try("unlabel", {"labels": added}, send, "the label"):
            self.restored.append("labels")
            self.remains += ["labeled", "unlabeled"]

    def _is_done(self, step: str) -> bool:
        entries = list_writes(self._context.store, self._context.run_id, self._key)
        return any(entry.step == step and entry.status == "done" for entry in entries)

    def _try(self, step: str, request: JournalValues, send: Callable[[], object], what: str) -> bool:
        """Send what another account than the one that wrote it may not be allowed to take back."""
        try:
            perform(self._context, self._key, step, request, send)
        except (AuthError, NoEffect) as error:
            if isinstance(error, AuthError) and error.is_rejected:
                raise
            self.problems.append(f"{what} is still there: {error.message}")
            return False
        return True
