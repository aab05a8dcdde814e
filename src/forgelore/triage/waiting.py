"""Waiting items: what the bot's writer says it will close, and closes when nobody has taken part for some hours.

    the reader says duplicate, and so does the writer by the builtin judge → told and labelled → … hours … → closed

Only the job that applies a decision begins it, and only for a duplicate by the gates of `detect-new`, which the writer
asks itself: a reader, with or without a model, can take away and not add. A later run closes it, after everything was
asked of the forge again. Whatever people did keeps the item open, and takes the label off. The report tells all of
it: there is one comment, and it says that the item will be closed, or that it stays open.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from forgelore.dedupe.closing_rules import (
    NOTE_BEGIN,
    LiveItem,
    RecheckCase,
    SeenItem,
    WaitingNote,
    parse_note,
    recheck,
    with_note,
)
from forgelore.dedupe.clusters import protects
from forgelore.dedupe.detect_new import detect_new
from forgelore.dedupe.gates import RuleJudge
from forgelore.dedupe.journal import LiveState
from forgelore.dedupe.maintainers import is_maintainer, people_of
from forgelore.dedupe.reasons import MEANINGS, ReasonCode
from forgelore.errors import NotFound
from forgelore.model import Cursor, Item, ItemKey, Project
from forgelore.ports.forge import Comment, Forge, LostWrite, WriteDelayed
from forgelore.profiles import profile_of
from forgelore.store.closings import list_announced, load_associations
from forgelore.store.items import load_ids
from forgelore.sync.pages import KnownStore
from forgelore.text.items import is_report
from forgelore.text.markdown import GRACE_LABEL
from forgelore.triage.item import TriageContext, TriageResult
from forgelore.triage.posting import ask_login, note_closing, write_patiently
from forgelore.triage.report import build_report, stay_open

MAX_CLOSED = 20  # in one run


class WaitingItems:
    """The waiting items of a project, for one run of the bot."""

    def __init__(self, forge: Forge, project: Project, context: TriageContext, now_ms: int) -> None:
        self._forge, self._project, self._context, self._now_ms = forge, project, context, now_ms
        self._own = ""
        self._roles: dict[str, str] | None = None

    def begin(self, found: TriageResult, target: int, hours: int) -> list[str]:
        """Tell that an item will be closed onto another, if the builtin judge says duplicate and nothing objects."""
        return self._again(lambda: self._begin(found, target, hours))

    def _again(self, work: Callable[[], list[str]]) -> list[str]:
        """Begin anew after each wait, and once after a lost answer: people may have acted meanwhile."""
        is_lost = False
        while True:
            try:
                return work()
            except WriteDelayed:
                continue
            except LostWrite:
                if is_lost:
                    raise
                is_lost = True

    def _begin(self, found: TriageResult, target: int, hours: int) -> list[str]:
        key = found.key
        if found.report is None or not self._is_duplicate(key, target):
            return []
        live, onto = self._fetch(key), self._fetch(ItemKey(key.kind, target))
        if live is None or onto is None:
            return []
        ref = f"{profile_of(self._forge.name).sigil(key.kind)}{target}"
        news = [f"{key.kind} {key.number} will be closed in {hours} hours as a duplicate of {ref}"]
        if live.note is not None:
            return news if self._label_announced(key, live) else []
        note = WaitingNote(target, hours, self._now_ms, _seen(live), _seen(onto))
        if self._object(note, live, onto):
            return []
        body = build_report(found.report._replace(closes_in=hours))
        if not note_closing(self._forge, self._project, key, body, note):
            return []
        self._label(key)
        return news

    def _label_announced(self, key: ItemKey, live: LiveState) -> bool:
        """Label an item that this run has told and not labelled: the note was posted, and its answer lost."""
        note = parse_note(live.note.body) if live.note else None
        if note is None or note.at != self._now_ms or GRACE_LABEL in live.item.labels:
            return False
        self._label(key)
        return True

    def _label(self, key: ItemKey) -> None:
        write_patiently(lambda: self._forge.add_labels(self._project, key, [GRACE_LABEL]))

    def close_due(self, is_late: Callable[[], bool]) -> list[str]:
        """Close what has waited long enough, and let go what people took part in."""
        done: list[str] = []
        for key in list_announced(self._context.store, self._context.project_id, GRACE_LABEL, NOTE_BEGIN):
            if is_late() or len(done) >= MAX_CLOSED:
                break
            done += self._again(partial(self._end, key))
        return done

    def _end(self, key: ItemKey) -> list[str]:
        live = self._fetch(key)
        note = parse_note(live.note.body) if live and live.note else None
        if live is None or note is None or not (note.is_over(self._now_ms) or note.is_ended):
            return []
        if note.is_ended:
            return self._take_back(live, note)
        onto = self._fetch(ItemKey(key.kind, note.target))
        reason = self._object(note, live, onto)
        if reason is None and not self._is_duplicate(key, note.target):  # whoever wrote the note, the gates decide
            reason = ReasonCode.MISSING_ACCEPTED_EDGE
        if reason is None and onto is not None:
            return self._close(live, onto)
        self._take_back(live, note)
        return [f"{key.kind} {key.number} stays open: {MEANINGS[reason or ReasonCode.TARGET_NOT_OPEN]}"]

    def _close(self, live: LiveState, onto: LiveState) -> list[str]:
        """Close an item, and look whether it is closed: some forges said yes and did nothing."""
        key = live.item.key
        is_lost = False
        try:
            self._forge.close_as_duplicate(self._project, live.item, onto.item)
        except LostWrite:
            is_lost = True
        now = self._fetch(key)
        if now is not None and not now.is_open:
            return [f"{key.kind} {key.number} was closed as a duplicate of {onto.item.key.number}"]
        if is_lost:
            raise LostWrite(f"the closing of {key.kind} {key.number} was never answered", hint="run the bot again")
        return [f"{key.kind} {key.number} stays open: {MEANINGS[ReasonCode.WRITE_WITHOUT_EFFECT]}"]

    def _take_back(self, live: LiveState, note: WaitingNote) -> list[str]:
        """Say in our note that the item stays open, and take the label off."""
        key, said = live.item.key, live.note
        if said is not None and not note.is_ended:
            _, _, rest = said.body.replace("\r\n", "\n").partition(f"{NOTE_BEGIN}")
            ended = with_note(structs.replace(note, is_ended=True), stay_open(rest.partition("\n")[2]))
            write_patiently(lambda: self._forge.update_comment(self._project, key, said.id, ended))
        if GRACE_LABEL in live.item.labels:
            write_patiently(lambda: self._forge.remove_labels(self._project, key, [GRACE_LABEL]))
        return []

    def _is_duplicate(self, key: ItemKey, target: int) -> bool:
        item_id = load_ids(self._context.store, self._context.project_id, [key]).get(key)
        if item_id is None:
            return False
        found = detect_new(self._context.retriever, item_id, RuleJudge(), now_ms=self._context.now_ms)
        return (found.outcome, found.target) == ("duplicate", target)

    def _object(self, note: WaitingNote, live: LiveState, onto: LiveState | None) -> ReasonCode | None:
        case = RecheckCase(
            note.item, _live(live), note.onto, _live(onto) if onto else None,
            own_label=GRACE_LABEL if live.note else "", keep_open=self._context.keep_open,
        )  # fmt: skip
        if reason := recheck(case) or self._protects(live.item):
            return reason
        is_liked = live.note and self._forge.count_reactions(self._project, live.item.key, live.note.id) > 0
        return ReasonCode.DISCUSSED_SINCE_PLAN if is_liked else None

    def _protects(self, item: Item) -> ReasonCode | None:
        """Maintainers are asked for once a run; where the list is refused, what the forge says beside their words."""
        if self._roles is None:
            self._roles = self._fetch_roles()
        logins = [login for login in (item.author, *item.assignees) if login]
        said = load_associations(self._context.store, self._context.project_id, logins)
        if item.author and item.author_role:
            said[item.author.lower()] = said.get(item.author.lower(), frozenset()) | {item.author_role}
        people = people_of(self._project.name, self._roles, {} if self._roles else said)
        return protects(item.author, item.assignees, {login: is_maintainer(people, login) for login in logins})

    def _fetch_roles(self) -> dict[str, str]:
        known = KnownStore(self._context.store, self._context.project_id)
        pages = self._forge.pages(self._project, "members", Cursor(), known, self._now_ms)
        return {one.login.lower(): one.role for page in pages for one in page.members or ()}

    def _fetch(self, key: ItemKey) -> LiveState | None:
        try:
            item = self._forge.fetch_item(self._project, key)
            facts = self._forge.fetch_closing_facts(self._project, item)
            comments = list(self._forge.list_comments(self._project, key))
        except NotFound:
            return None
        ours = self._find_own(comments)
        others = tuple(one.id for one in comments if one not in ours)
        return LiveState(item, facts, others, next((one for one in ours if parse_note(one.body)), None))

    def _find_own(self, comments: Sequence[Comment]) -> list[Comment]:
        """Return the bot's reports and notes. What another workflow wrote with the same token is somebody's word."""
        marked = [one for one in comments if is_report(one.body) or parse_note(one.body)]
        if marked and not self._own:
            self._own = ask_login(self._forge)
        return [one for one in marked if (one.author or "").lower() == self._own.lower()]


def _seen(live: LiveState) -> SeenItem:
    now = _live(live)
    return SeenItem(
        now.content_hash, now.assignees, now.comment_count, now.review_comment_count, live.item.updated_at,
        now.newest_comment, now.head_sha, now.milestone,
    )  # fmt: skip


def _live(live: LiveState) -> LiveItem:
    return live.as_live(comments=len(live.others), newest_comment=max(live.others, default=0))
