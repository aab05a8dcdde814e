"""Journalled writes: each is written down before it is sent, and completed by its answer.

    written down as sent → sent to the forge → written down as done

Killed before the second arrow is over, the entry says that a write may have happened; `settle_item` then asks the forge
(`look_up`). So it does when an answer is lost, and when the answer says that a write was taken, since some were taken
and had no effect: it looks several times, with longer and longer pauses, because a forge may show a write later than it
took it.

Nothing is sent twice from here. After a wait or a lost answer (WriteDelayed, LostWrite) the caller reads the item
again, asks all the gates again, and then may write again: meanwhile people may have acted. A refusal that surely left
nothing behind ends as failed. A write is known to be done by:

    close      the account that sent it was the last to close it since it was last read, also where it was reopened
    comment    a comment of that account with the entry's marker is there
    withdraw   that comment says that the item stays open, or is gone
    label      the labels are there
    reopen, uncomment, unlabel, unmark, unlink    what they take away is away

Runs that write are one at a time in a project, resumed where an earlier one was stopped or killed.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.closing_rules import LiveItem
from forgelore.errors import AuthError, ForgeError, Locked, LoreError, NotFound, Stopped
from forgelore.model import Item, ItemKey, Project
from forgelore.ports.closing import ClosingFacts
from forgelore.ports.forge import Comment, ConversationLocked, Forge, LostWrite, WriteDelayed, WriteRefused
from forgelore.profiles import profile_of
from forgelore.store.closings import (
    JournalEntry,
    JournalValue,
    begin_write,
    end_write,
    find_run_of,
    find_unfinished_run,
    keep_every_write,
    list_writes,
    load_store_id,
)
from forgelore.store.database import Store
from forgelore.store.decisions import RunValue, begin_run, end_run, load_run, resume_run
from forgelore.store.sync import Lock, acquire_lock
from forgelore.sync.jobs import beating
from forgelore.text.markdown import GRACE_LABEL, STAYS_OPEN, build_message, closing_marker, has_marker
from forgelore.text.values import content_hash

_SURE = (AuthError, NotFound, ConversationLocked, WriteDelayed, WriteRefused)
_PAUSES_S = (0.0, 1.0, 2.0, 4.0, 8.0)  # before each look for a write whose answer was lost

JournalValues = Mapping[str, JournalValue]
NOTHING: JournalValues = {}
NOT_FOUND: JournalValues = {"found": "not done"}


class NoEffect(ForgeError):
    """The forge answered that it did a write, and shows nothing of it."""


class WriteContext(NamedTuple):
    """A job that writes to a forge. `project`: as the forge has it; `own`: our login, None where it is unknown."""

    job: JobContext
    forge: Forge
    project: Project
    run_id: int
    own: str | None
    lock: Lock
    store_id: str

    @property
    def store(self) -> Store:
        return self.job.store

    @property
    def project_id(self) -> int:
        return self.job.project.id

    def now_ms(self) -> int:
        return self.job.now_ms()


def perform(
    context: WriteContext, key: ItemKey, step: str, request: JournalValues, send: Callable[[], object], *,
    before: JournalValues = NOTHING,
) -> JournalValues:  # fmt: skip
    """Write down, send once, look, complete; returns what the forge said and shows of it. `send`: a mapping that it
    returns is kept as the forge's answer. `before`: what a rollback restores. Raises LostWrite when nobody can know
    (the entry then stays as sent), WriteDelayed when it may be sent after a new look, NoEffect when the forge said yes
    and did nothing.
    """
    write = JournalEntry(context.run_id, context.project_id, key, context.own, step, request, before)
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        entry = begin_write(context.store, write, context.now_ms())
    answer: JournalValues = {}
    try:
        sent = send()
        answer = sent if isinstance(sent, dict) else {}
    except LostWrite:
        if (found := _look_again(context, entry)) is None:
            raise
    except _SURE as error:
        complete(context, entry.id, "failed", {"error": error.message})
        raise
    else:
        found = _look_again(context, entry) if step in _SIGNS else {}
    if found is None:
        complete(context, entry.id, "failed", NOT_FOUND)
        raise NoEffect(
            f"the forge accepted the {step} of {key.kind} {key.number}, but nothing changed",
            hint="run the same command again",
        )
    done = {**answer, **found}
    complete(context, entry.id, "done", done)
    return done


def _look_again(context: WriteContext, entry: JournalEntry) -> JournalValues | None:
    for pause in _PAUSES_S:
        context.job.sleep(pause)
        if (found := look_up(context, entry)) is not None:
            return found
    return None


def complete(context: WriteContext, entry_id: int, status: str, answer: JournalValues) -> None:
    with context.store.transaction():
        context.lock.confirm(context.now_ms())
        end_write(context.store, entry_id, status, answer, context.now_ms())


class LiveState(NamedTuple):
    """An item as the forge shows it now. Of the bot's waiting items also the comments that are not its own, and its
    note.
    """

    item: Item
    facts: ClosingFacts
    others: tuple[int, ...] = ()
    note: Comment | None = None

    @property
    def is_open(self) -> bool:
        return self.item.state == "open"

    def as_live(self, *, comments: int | None, own_comments: int = 0, newest_comment: int | None = None) -> LiveItem:
        """Return what the recheck looks at. `comments`: how many there are, `own_comments` of them are ours."""
        item, facts = self.item, self.facts
        # Events may be missing where the item itself says that it was reopened: then at its last change, at the latest.
        reopened_at = facts.reopened_at or (item.updated_at if item.state_reason == "reopened" else None)
        return LiveItem(
            item.key.number, item.author, item.created_at, self.is_open,
            content_hash(item.key.kind, item.title, item.body), tuple(item.assignees), comments,
            item.review_comment_count, reopened_at, bool(facts.duplicate_of) or item.state_reason == "duplicate",
            own_comments, newest_comment, item.is_confidential, item.head_sha or facts.head_sha,
            tuple(item.labels), item.milestone, item.is_locked, facts.is_approved or facts.is_merging,
        )  # fmt: skip


def fetch_live(context: WriteContext, key: ItemKey) -> LiveState | None:
    """Return an item as it is now; None when it is gone."""
    try:
        item = context.forge.fetch_item(context.project, key)
        return LiveState(item, context.forge.fetch_closing_facts(context.project, item))
    except NotFound:
        return None


def list_other_comments(context: WriteContext, key: ItemKey) -> list[Comment]:
    """Return the comments of an item that are not this run's."""
    written = list_writes(context.store, context.run_id, key)
    markers = {str(entry.request.get("body")).partition("\n")[0] for entry in written if entry.step == "comment"}
    accounts = {entry.account for entry in written} | {context.own}
    comments = context.forge.list_comments(context.project, key)
    return [one for one in comments if not any(is_own_comment(one, marker, accounts) for marker in markers)]


def is_own_comment(comment: Comment, marker: str, accounts: Collection[str | None]) -> bool:
    """Tell whether a comment has a marker and an author who may have set it: anybody can write a marker. None among the
    accounts: our login is unknown, and the marker alone decides.
    """
    is_ours = None in accounts or any(account and _is_same(comment.author, account) for account in accounts)
    return is_ours and has_marker(comment.body, marker)


def before_closing(state: LiveState, target: Item) -> JournalValues:
    """Return what a rollback restores, and what later proves that a closing was ours."""
    number = target.key.number
    return {
        "state_reason": state.item.state_reason, "updated_at": state.item.updated_at, "labels": list(state.item.labels),
        "is_marked": number in state.facts.duplicate_of, "is_linked": number in state.facts.linked_to,
    }  # fmt: skip


def closing_answer(state: LiveState | None) -> JournalValues:
    """Return who closed an item and when, in the forge's own words: a rollback knows the closing by them."""
    if state is None or state.is_open:
        return {}
    return {"closed_by": state.facts.closed_by, "closed_at": state.facts.closed_at}


def was_closed_by(state: LiveState, entry: JournalEntry, own: str | None) -> bool:
    """Tell whether the account of an entry was the last to close an item since it was read for that entry. `own`: the
    login of today, for entries that name none.
    """
    account, facts, read_at = entry.account or own, state.facts, entry.before.get("updated_at")
    is_since = facts.closed_at is not None and (not isinstance(read_at, int) or facts.closed_at >= read_at)
    return is_since and (_is_same(facts.closed_by, account) if account else not state.is_open)


def is_still_closed_by(state: LiveState, entry: JournalEntry, own: str | None) -> bool:
    """Tell whether an item is closed by this very write: somebody who reopened and closed it again made it theirs."""
    if state.is_open:
        return False
    answer = entry.answer or {}
    if not isinstance(answer.get("closed_at"), int):
        return was_closed_by(state, entry, own)
    is_the_one = (answer["closed_at"], answer.get("closed_by")) == (state.facts.closed_at, state.facts.closed_by)
    return is_the_one and (entry.account is None or _is_same(state.facts.closed_by, entry.account))


def _is_same(login: str | None, other: str) -> bool:
    return (login or "").lower() == other.lower()


def settle_item(context: WriteContext, key: ItemKey, *, run_id: int | None = None) -> list[JournalEntry]:
    """Return an item's entries of a run, each with an answer: those without one are looked up on the forge."""
    run = run_id or context.run_id
    for entry in list_writes(context.store, run, key):
        if entry.status == "sent":
            found = look_up(context, entry)
            complete(context, entry.id, "failed" if found is None else "done", found or NOT_FOUND)
    return list_writes(context.store, run, key)


def look_up(context: WriteContext, entry: JournalEntry) -> JournalValues | None:
    """Return what the forge shows of a write; None when it shows nothing of it."""
    if entry.step in ("comment", "uncomment", "withdraw"):
        return _look_for_comment(context, entry)
    state = fetch_live(context, entry.key)
    if state is None or entry.step not in _SIGNS:
        return None
    return _SIGNS[entry.step](state, entry, context.own)


def _look_for_comment(context: WriteContext, entry: JournalEntry) -> JournalValues | None:
    if entry.step == "uncomment":
        number = entry.request.get("comment_id")
        is_there = any(one.id == number for one in context.forge.list_comments(context.project, entry.key))
        return None if is_there else {"found": "it is gone"}
    if entry.step == "withdraw":
        number, body = entry.request.get("comment_id"), str(entry.request.get("body"))
        found = [one for one in context.forge.list_comments(context.project, entry.key) if one.id == number]
        is_done = not found or found[0].body.replace("\r\n", "\n").strip() == body.strip()
        return {"found": "its words" if found else "it is gone"} if is_done else None
    marker = str(entry.request.get("body")).partition("\n")[0]
    for comment in context.forge.list_comments(context.project, entry.key):
        if is_own_comment(comment, marker, [entry.account or context.own]):
            return {"comment_id": comment.id, "created_at": comment.created_at, "found": "its marker"}
    return None


def _is_closed(state: LiveState, entry: JournalEntry, own: str | None) -> JournalValues | None:
    is_done = was_closed_by(state, entry, own)
    return {"found": "closed by us", **closing_answer(state)} if is_done else None


def _is_labelled(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "the labels"} if _labels(entry) <= set(state.item.labels) else None


def _is_unlabelled(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no such labels"} if not _labels(entry) & set(state.item.labels) else None


def _is_reopened(state: LiveState, _: JournalEntry, __: str | None) -> JournalValues | None:
    return {"found": "it is open"} if state.is_open else None


def _is_unmarked(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no mark"} if entry.request.get("target") not in state.facts.duplicate_of else None


def _is_unlinked(state: LiveState, entry: JournalEntry, _: str | None) -> JournalValues | None:
    return {"found": "no link"} if entry.request.get("target") not in state.facts.linked_to else None


def _labels(entry: JournalEntry) -> set[str]:
    wanted = entry.request.get("labels")
    return set(map(str, wanted)) if isinstance(wanted, list) else set()


_SIGNS: dict[str, Callable[[LiveState, JournalEntry, str | None], JournalValues | None]] = {
    "close": _is_closed,
    "label": _is_labelled,
    "unlabel": _is_unlabelled,
    "reopen": _is_reopened,
    "unmark": _is_unmarked,
    "unlink": _is_unlinked,
}


def close_item(context: WriteContext, target_id: int, state: LiveState, target: Item) -> bool:
    """Close an item natively as a duplicate of another, and keep who closed it and when, as the forge says. False:
    somebody reopened it at once.
    """
    request: JournalValues = {"target_id": target_id, "target": target.key.number}
    send = partial(context.forge.close_as_duplicate, context.project, state.item, target)
    return "closed_by" in perform(context, state.item.key, "close", request, send, before=before_closing(state, target))


def comment_on(context: WriteContext, item_id: int, key: ItemKey, words: str, target: ItemKey, *, hours: int) -> None:
    """Post the comment that names the other item."""
    marker = closing_marker(context.store_id, context.run_id, item_id)
    body = build_message(words, marker=marker, target=_ref_of(context, target), hours=hours)

    def send() -> JournalValues:
        posted = context.forge.create_comment(context.project, key, body)
        return {"comment_id": posted.id, "created_at": posted.created_at}

    perform(context, key, "comment", {"body": body}, send)


def _ref_of(context: WriteContext, key: ItemKey) -> str:
    return f"{profile_of(context.forge.name).sigil(key.kind)}{key.number}"


def label_item(context: WriteContext, state: LiveState, label: str) -> None:
    """Give an item a label on top of those that it has."""
    send = partial(context.forge.add_labels, context.project, state.item.key, [label])
    before: JournalValues = {"labels": list(state.item.labels)}
    perform(context, state.item.key, "label", {"labels": [label]}, send, before=before)


def withdraw(context: WriteContext, done: Mapping[str, JournalEntry], state: LiveState, target: ItemKey) -> None:
    """Take the label off an item that stays open, and let our comment say that it does."""
    key, said, given = state.item.key, done.get("comment"), done.get("label")
    comment_id = (said.answer or {}).get("comment_id") if said else None
    if said is not None and isinstance(comment_id, int) and "withdraw" not in done:
        marker = str(said.request.get("body")).partition("\n")[0]
        body = build_message(STAYS_OPEN, marker=marker, target=_ref_of(context, target))
        send = partial(context.forge.update_comment, context.project, key, comment_id, body)
        perform(context, key, "withdraw", {"comment_id": comment_id, "body": body}, send)
    before = given.before.get("labels") if given else None
    is_ours = isinstance(before, list) and GRACE_LABEL not in before
    if is_ours and "unlabel" not in done and GRACE_LABEL in state.item.labels:
        remove = partial(context.forge.remove_labels, context.project, key, [GRACE_LABEL])
        perform(context, key, "unlabel", {"labels": [GRACE_LABEL]}, remove)


@contextlib.contextmanager
def writing_run(
    job: JobContext,
    forge: Forge,
    step: str,
    of_run: int | None,
    parameters: Mapping[str, RunValue],
    *,
    force: bool = False,
) -> Iterator[WriteContext]:
    """Hold the project's lock around the one run that carries out (or takes back) another one, or stands for itself.
    `force`: take over the lock of a run that has gone quiet on another machine.

    A run that was killed is resumed under the same number and with the same parameters.
    """
    store, project, now_ms = job.store, job.project, job.now_ms
    current = forge.fetch_project(project.name)
    own = _own_login(forge)
    lock = acquire_lock(store, f"closings of {project.id}", now_ms(), shown=f"closing in {project.name}", force=force)
    keep_every_write(store)
    try:
        with store.transaction():
            run_id = find_run_of(store, of_run, step) if of_run else find_unfinished_run(store, project.id, step)
            if run_id is None:
                run_id = begin_run(store, project.id, step, parameters, now_ms(), of_run=of_run)
            else:
                resume_run(store, run_id)
        context = WriteContext(job, forge, current, run_id, own, lock, load_store_id(store))
        with beating(lock, now_ms), _stopped_on_failure(context):
            yield context
    finally:
        lock.release()


@contextlib.contextmanager
def _stopped_on_failure(context: WriteContext) -> Iterator[None]:
    try:
        yield
    except Locked:
        raise  # the run that took over records how it ends
    except (LoreError, KeyboardInterrupt, Stopped):
        with contextlib.suppress(LoreError), context.store.transaction():
            end_run(context.store, context.run_id, "stopped", context.now_ms())
        raise


def _own_login(forge: Forge) -> str | None:
    """Return who we are. No forge says whose the token of a CI job is, but the author of its comments is known."""
    profile = profile_of(forge.name)
    try:
        identity = forge.fetch_identity()
    except (AuthError, NotFound) as error:
        if isinstance(error, AuthError) and error.is_rejected:
            raise
        return profile.ci_login or None
    if identity is None:
        raise AuthError("closing needs a token", hint=f"set {profile.token_variables[0]}")
    return identity.login


def load_parameters(context: WriteContext) -> dict[str, RunValue]:
    """Return the parameters that the run began with."""
    return load_run(context.store, context.run_id).parameters
