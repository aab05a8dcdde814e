"""Relations that people write ("Fixes #12", "duplicate of acme/web#3", a page's URL), and what reviews conclude.

    "Fixes #12, see acme/api#3"  ->  closes #12, mentions acme/api#3

A reference inside code is not a reference, on either forge. The scan jumps from mark to mark, so text without `#`, `!`
or a page's URL costs one search. GitHub and Forgejo name the state of a review; GitLab writes it into system notes
("approved this merge request"), and there a remark at a line is a review of its own.
"""

import re

from forgelore.model import Involvement, Link, Note, Relation, ReviewVerdict
from forgelore.text.markdown import code_spans, is_inside, is_report
from forgelore.text.people import mentions_in_text
from forgelore.text.refs import PAGE_KINDS, page_in_url

# One pattern per mark: with a literal first character the scanner jumps from mark to mark at memory speed.
_MARKS = (("#", re.compile(r"#(\d{1,9})(?![\w#])"), None), ("!", re.compile(r"!(\d{1,9})(?![\w#])"), "change"))
_PAGES = "|".join(name for name in PAGE_KINDS if name != "pulls")  # that is a list's address, or the API's
_PAGE = re.compile(rf"/(?:{_PAGES})/\d")
_URL = re.compile(rf"https?://[^\s<>()\[\]\"'`]+/(?:{_PAGES})/\d{{1,9}}")
_PROJECT_BEFORE = re.compile(r"[A-Za-z0-9_][\w.\-]*(?:/[\w.\-]+)+\Z")
_CLOSING = frozenset({
    "close", "closes", "closed", "closing", "fix", "fixes", "fixed", "fixing", "resolve", "resolves", "resolved",
    "resolving",
    "implement", "implements", "implemented",
})  # fmt: skip
_TELLING = ("clos", "fix", "resolv", "implement", "dup", "moved")
_DUPLICATING = frozenset(["duplicate", "duplicates", "duplicated", "dup", "dupe"])

# GitLab's own sentences, which hold the duplicate history. The wording differs by version.
_EVENTS: tuple[tuple[re.Pattern[str], Relation, bool], ...] = (
    (re.compile(r"marked this (?:issue|work item|task) as a duplicate of (\S+)"), "duplicate_of", False),
    (re.compile(r"marked this (?:issue|work item|task) as related to (\S+)"), "relates", False),
    (re.compile(r"removed the relation with (\S+)"), "relates", True),
    (re.compile(r"moved to (\S+)"), "moved_to", False),
)
_EVENT_REF = re.compile(r"(?P<project>\S*?)(?P<mark>[#!])(?P<number>\d{1,9})")
_WINDOW = 80  # how far back a project's name may reach
_WORDS_BEFORE = 32  # how far back "is a duplicate of issue: " may


def links_in_text(text: str | None) -> list[Link]:
    """Return what the text refers to, each target once, its strongest relation first seen."""
    if not text or not ("#" in text or "!" in text or "://" in text):
        return []
    targets = _targets(text)
    if not targets:
        return []
    code = code_spans(text) if "`" in text or "~~~" in text else []
    found: dict[tuple[str, str | None, int], Link] = {}
    for start, project, kind, number in targets:
        if code and is_inside(start, code):
            continue
        key = (project, kind, number)
        known = found.get(key)
        if known is not None and known.relation != "mentions":
            continue
        end = start - len(project) if text[start] in "#!" else start
        relation = _relation(text[max(0, end - _WORDS_BEFORE) : end])
        if known is None or relation != "mentions":
            found[key] = Link(relation, number, kind, project, "text")  # type: ignore[arg-type]
    return list(found.values())


def links_in_event(text: str) -> list[Link]:
    """Return the relations stated by a GitLab system note: "marked this issue as a duplicate of #12"."""
    found = []
    for pattern, relation, is_withdrawn in _EVENTS:
        match = pattern.match(text)
        target = _EVENT_REF.match(match[1]) if match else None
        if target:
            kind = "change" if target["mark"] == "!" else "issue"
            found.append(Link(relation, int(target["number"]), kind, target["project"], "event", is_withdrawn))  # type: ignore[arg-type]
    return found


def _targets(text: str) -> list[tuple[int, str, str | None, int]]:
    """Return (position, project or "", kind or None, number) of everything that looks like a reference."""
    found: list[tuple[int, str, str | None, int]] = []
    for mark, pattern, kind in _MARKS:
        if mark not in text:
            continue
        for match in pattern.finditer(text):
            start = match.start()
            project = _project_before(text, start)
            if project is not None:
                found.append((start, project, kind, int(match[1])))
    if "://" in text and _PAGE.search(text):  # most URLs are no pages of items: half the time of trying each
        for match in _URL.finditer(text):
            page = page_in_url(match[0])
            if page:
                found.append((match.start(), *page))
    return found


def _project_before(text: str, start: int) -> str | None:
    """Return the project a mark is attached to, "" for none, None when the mark is no reference at all."""
    last = text[start - 1] if start else " "
    if last in " \n([,;:*>\"'|" or last.isspace():
        return ""
    if last.isalnum() or last in "-_.":
        match = _PROJECT_BEFORE.search(text, max(0, start - _WINDOW), start)
        return match[0] if match else None  # None: part of a word or an anchor
    return None if last in "/&#!" else ""


def _relation(before: str) -> Relation:
    """Return what the words right before a reference make of it: "fixes: issue " -> closes."""
    before = before.lower()
    for part in _TELLING:  # half the time of any(…), a quarter of a pattern's
        if part in before:
            return _read_relation(before)
    return "mentions"  # as most are


def _read_relation(before: str) -> Relation:
    words = [word.strip("([*_,.;:-") for word in before.split()[-3:]]
    if words and words[-1] == "issue":
        words.pop()
    if not words or not before[-1:].isspace():
        return "mentions"
    last, previous = words[-1], words[-2] if len(words) > 1 else ""
    if last in _CLOSING:
        return "closes"
    if last in _DUPLICATING or (last in ("of", "to") and previous in _DUPLICATING):
        return "duplicate_of"
    return "moved_to" if last == "to" and previous == "moved" else "mentions"


# What forges call a review -> what it says. One that its author has not sent yet (PENDING) is none.
VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved", "CHANGES_REQUESTED": "changes_requested", "REQUEST_CHANGES": "changes_requested",
    "COMMENTED": "commented", "COMMENT": "commented", "DISMISSED": "dismissed", "DiffNote": "commented",
}  # fmt: skip
# GitLab's own sentences, in system notes.
_REVIEW_EVENTS: tuple[tuple[str, ReviewVerdict], ...] = (
    ("approved this merge request", "approved"),
    ("unapproved this merge request", "dismissed"),
    ("requested changes", "changes_requested"),
    ("left review comments", "commented"),
)
_REQUESTED = re.compile(r"requested review from (.*?)(?:\band removed review request|\Z)", re.DOTALL)


def people_in_note(note: Note, owner: str = "") -> list[Involvement]:
    """Return whom a note mentions, and what its author says of a change. What the bot writes is nobody's word."""
    if is_report(note.body):
        return []
    if note.is_system:
        return _people_in_event(note)
    called = people_in_text(note.body, note.created_at, owner)
    verdict = VERDICTS.get(note.type or "")
    if verdict and note.author:
        called.append(Involvement(note.author, "reviewed", verdict, "event", note.created_at))
    return called


def people_in_text(text: str | None, created_at: int | None, owner: str = "") -> list[Involvement]:
    """Return whom a text mentions."""
    return [Involvement(name, "mentioned", None, "text", created_at) for name in mentions_in_text(text, owner)]


def _people_in_event(note: Note) -> list[Involvement]:
    body, when = note.body or "", note.created_at
    asked = _REQUESTED.match(body)
    if asked:
        return [Involvement(name, "requested", None, "event", when) for name in mentions_in_text(asked[1])]
    verdict = next((verdict for sentence, verdict in _REVIEW_EVENTS if body.startswith(sentence)), None)
    return [Involvement(note.author, "reviewed", verdict, "event", when)] if verdict and note.author else []
