"""`dedupe link`: what people called related in a review, posted as one comment on the newer item that names the others.
The forge then shows the mention on both sides.

    settled answers → without what is joined already → (shown) → each item read again → one comment, journalled

Only open items that may be seen by everybody and whose conversation is not locked get a comment, and each other item is
named once, whoever named it. A rollback of the run deletes the comments.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.journal import (
    JournalValues,
    LiveState,
    NoEffect,
    WriteContext,
    fetch_live,
    perform,
    settle_item,
    writing_run,
)
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.review_rules import settle
from forgelore.errors import AuthError, NotFound
from forgelore.model import ItemKey
from forgelore.ports.forge import ConversationLocked, Forge, LostWrite, WriteDelayed, WriteRefused
from forgelore.store.closings import PlanItem, list_linked, list_writes, load_plan_items
from forgelore.store.database import Store
from forgelore.store.decisions import end_run, save_counters
from forgelore.store.items import load_ids
from forgelore.store.projects import StoredProject
from forgelore.store.reviews import list_mentions, list_standing
from forgelore.text.links import links_in_text
from forgelore.text.markdown import build_message, related_marker
from forgelore.text.refs import shown_ref

KINDS = ("issue", "change")
_WORDS = "Related to {target}."


class LinkLine(NamedTuple):
    """One item and the older ones that it is related to, by their numbers. `action`: link (not yet), linked, skip or
    wait; `reason`: why nothing was posted.
    """

    kind: str
    number: int
    title: str
    targets: tuple[int, ...]
    action: str = "link"
    reason: str = ""


class Linked(NamedTuple):
    """What was linked, or would be. `run`: what a rollback takes back, None where nothing was posted."""

    run: int | None
    project: str
    lines: list[LinkLine]
    problems: list[str]


def find_links(store: Store, project: StoredProject) -> list[LinkLine]:
    """Return what people called related and nobody has joined yet, by items. An answer about another text is none."""
    found: list[LinkLine] = []
    linked = list_linked(store, project.id)
    for kind in KINDS:
        by_pair: dict[tuple[int, int], dict[str, str]] = {}
        answers = [one for one in list_standing(store, project.id, kind) if not one.is_outdated]
        for one in answers:
            by_pair.setdefault((one.item_id, one.target_id), {})[one.said_by] = one.decision
        related = [pair for pair, by in by_pair.items() if settle(by) == ("related", False)]
        joined = {frozenset(one[:2]) for one in list_mentions(store, project.id, kind)}
        items = load_plan_items(store, {item_id for pair in related for item_id in pair})
        targets: dict[int, list[int]] = {}
        for newer, older in related:
            is_known = newer in items and older in items and _may_be_linked(items[newer], items[older])
            if is_known and frozenset((newer, older)) not in joined and (newer, older) not in linked:
                targets.setdefault(newer, []).append(items[older].number)
        found += [
            LinkLine(kind, items[newer].number, items[newer].title, tuple(sorted(others)))
            for newer, others in targets.items()
        ]
    return sorted(found, key=lambda one: (one.kind, one.number))


def _may_be_linked(newer: PlanItem, older: PlanItem) -> bool:
    return newer.state == "open" and not (newer.is_confidential or older.is_confidential or newer.is_locked)


def post_links(
    job: JobContext, forge: Forge, *, force: bool = False, on_line: Callable[[LinkLine], None] | None = None
) -> Linked:
    """Post one comment for each item; a run that was killed is gone on with."""
    problems: list[str] = []
    with writing_run(job, forge, "link", None, {}, force=force) as context:
        for key in {entry.key for entry in list_writes(job.store, context.run_id)}:
            settle_item(context, key)  # what a killed run, or one without an answer, has left
        lines: list[LinkLine] = []
        for line in find_links(job.store, job.project):
            lines.append(_post_patiently(context, line, problems))
            if on_line:
                on_line(lines[-1])
        counters = {action: sum(one.action == action for one in lines) for action in ("linked", "skip", "wait")}
        with job.store.transaction():
            save_counters(job.store, context.run_id, {name: count for name, count in counters.items() if count})
            end_run(job.store, context.run_id, "waiting" if counters["wait"] else "done", job.now_ms())
    return Linked(context.run_id, str(job.project.name), lines, problems)


_TROUBLES = {LostWrite: ReasonCode.WRITE_UNANSWERED, NoEffect: ReasonCode.WRITE_WITHOUT_EFFECT}


def _post_patiently(context: WriteContext, line: LinkLine, problems: list[str]) -> LinkLine:
    """Start again with an item after each wait, because people may have acted meanwhile."""
    while True:
        try:
            reason = _post(context, line)
        except WriteDelayed:
            continue
        except ConversationLocked:
            reason = ReasonCode.CONVERSATION_LOCKED
        except (AuthError, NotFound, WriteRefused) as error:
            if isinstance(error, AuthError):
                raise
            problems.append(f"{line.kind} {line.number}: {error.message}")
            reason = ReasonCode.WRITE_REFUSED
        except (LostWrite, NoEffect) as error:
            problems.append(f"{line.kind} {line.number}: {error.message}; run the same command again")
            return line._replace(action="wait", reason=_TROUBLES[type(error)])
        return line._replace(action="skip" if reason else "linked", reason=reason or "")


def _post(context: WriteContext, line: LinkLine) -> ReasonCode | None:
    key = ItemKey("change" if line.kind == "change" else "issue", line.number)
    state = fetch_live(context, key)
    if state is None or not state.is_open:
        return ReasonCode.NOT_OPEN
    if state.item.is_locked:
        return ReasonCode.CONVERSATION_LOCKED
    named = _find_named(context, state)
    live = {number: fetch_live(context, ItemKey(key.kind, number)) for number in line.targets if number not in named}
    others = [one.item for one in live.values() if one is not None and not one.item.is_confidential]
    if not others or state.item.is_confidential:
        return ReasonCode.ALREADY_LINKED if not live else ReasonCode.CONFIDENTIAL
    ids = load_ids(context.store, context.project_id, [key, *(one.key for one in others)])
    refs = " and ".join(shown_ref(context.forge.name, key.kind, one.key.number) for one in others)
    targets = [ids[one.key] for one in others]
    marker = related_marker(context.store_id, context.run_id, ids[key], targets)
    body = build_message(_WORDS, marker=marker, target=refs)
    request: JournalValues = {"body": body, "item": ids[key], "targets": targets}

    def send() -> JournalValues:
        posted = context.forge.create_comment(context.project, key, body)
        return {"comment_id": posted.id, "created_at": posted.created_at}

    perform(context, key, "comment", request, send)
    return None


def _find_named(context: WriteContext, state: LiveState) -> set[int]:
    """Return the items of the same kind that the text or a comment names by now."""
    key = state.item.key
    texts = [state.item.body, *(one.body for one in context.forge.list_comments(context.project, key))]
    links = [link for text in texts for link in links_in_text(text)]
    return {link.number for link in links if not link.project and link.kind in (None, key.kind)}
