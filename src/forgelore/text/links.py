"""What a text names: other items ("Fixes #12", "duplicate of acme/web#3", a page's URL) and people, and what reviews
conclude; the accounts of commit authors, and which accounts are programs.

    "Fixes #12, see acme/api#3"  ->  closes #12, mentions acme/api#3

A reference inside code is not a reference, on either forge. The scan jumps from mark to mark, so text without `#`, `!`
or a page's URL costs one search. GitHub and Forgejo name the state of a review; GitLab writes it into system notes
("approved this merge request"), and there a remark at a line is a review of its own.

    Ana Lind <ana@example.org> <ana@old.example>        a line of .mailmap: this address is also hers
    Ana Lind <ana@example.org> A. <ana@old.example>     only with this name
    "cc @Ana and @acme/web, mail bo@x.io; see `@property`"  ->  "Ana", and in a project of acme "acme/web"

A .mailmap comes with a clone and is a stranger's text: it decides who is the same person, and nothing else. A mention
does not count in code, in a comment of HTML, in a quoted line, behind a letter (an e-mail address) or behind a slash
(the end of an address). `@scope/package` is a team where the scope owns the project, a package anywhere else, and never
a person. Names keep their spelling; whoever compares them ignores capitals, as forges do.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from forgelore.model import Involvement, Link, Note, Relation, ReviewVerdict
from forgelore.records import CommitAuthor, GitName
from forgelore.text.items import is_report
from forgelore.text.markdown import code_spans, is_inside
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


def people_in_note(note: Note, owner: str = "", logins: str = "") -> list[Involvement]:
    """Return whom a note mentions, and what its author says of a change. What the bot writes is nobody's word."""
    if is_report(note.body):
        return []
    if note.is_system:
        return _people_in_event(note)
    called = people_in_text(note.body, note.created_at, owner, logins)
    verdict = VERDICTS.get(note.type or "")
    if verdict and note.author:
        called.append(Involvement(note.author, "reviewed", verdict, "event", note.created_at))
    return called


def people_in_text(text: str | None, created_at: int | None, owner: str = "", logins: str = "") -> list[Involvement]:
    """Return whom a text mentions."""
    return [Involvement(name, "mentioned", None, "text", created_at) for name in mentions_in_text(text, owner, logins)]


def _people_in_event(note: Note) -> list[Involvement]:
    body, when = note.body or "", note.created_at
    asked = _REQUESTED.match(body)
    if asked:
        return [Involvement(name, "requested", None, "event", when) for name in mentions_in_text(asked[1])]
    verdict = next((verdict for sentence, verdict in _REVIEW_EVENTS if body.startswith(sentence)), None)
    return [Involvement(note.author, "reviewed", verdict, "event", when)] if verdict and note.author else []


# 12345+ana@users.noreply.github.com: the number is the account's, and older addresses have none.
_NOREPLY = re.compile(r"(?:\d+[+-])?(?P<login>[\w.-]+)@users\.noreply\.[\w.-]+\Z")
_PROGRAM = re.compile(r".*\[bot\]\Z|(?:project|group)_\d+_bot")
BOT = "[bot]"  # how the login of a program ends on GitHub


def login_in_address(address: str) -> str | None:
    """Return the login in an address that a forge gives out; None in any other."""
    found = _NOREPLY.match(address)
    return found["login"] if found else None


def possible_logins(name: str, address: str) -> list[str]:
    """Return what somebody's account may be called, by what git knows of them, the surest first."""
    found = [login_in_address(address), name, address.partition("@")[0]]
    return [login for login in dict.fromkeys(found) if login and not re.search(r"\s", login)]


MAX_MAILMAP = 1 << 20  # bytes
_MAX_LINES = 50_000
_LINE = re.compile(r"([^<>]*)<([^<>]*)>(?:([^<>]*)<([^<>]*)>)?\s*(?:#.*)?\Z")
_MIN_VOTES = 2
_SHARE = 2 / 3  # of the changes that commits of one address came with


class Mailmap(NamedTuple):
    """Names and addresses to use instead: by name and address, else by address; all in lower case."""

    by_both: Mapping[tuple[str, str], tuple[str, str]]
    by_mail: Mapping[str, tuple[str, str]]

    def proper(self, one: GitName) -> GitName:
        mail = one.mail.lower()
        name, address = self.by_both.get((one.name.lower(), mail)) or self.by_mail.get(mail) or ("", "")
        return GitName(name or one.name, address or one.mail)


def parse_mailmap(text: str) -> Mailmap:
    """Return what a .mailmap says; lines that say nothing are skipped."""
    by_both: dict[tuple[str, str], tuple[str, str]] = {}
    by_mail: dict[str, tuple[str, str]] = {}
    for line in text.splitlines()[:_MAX_LINES]:
        found = _LINE.match(line.strip()[:2_000])
        if not found or line.lstrip().startswith("#"):
            continue
        name, mail, old_name, old_mail = ((part or "").strip() for part in found.groups())
        if not old_mail:
            by_mail[mail.lower()] = (name, mail)
        elif old_name:
            by_both[old_name.lower(), old_mail.lower()] = (name, mail)
        else:
            by_mail[old_mail.lower()] = (name, mail)
    return Mailmap(by_both, by_mail)


def join_people(
    names: Iterable[GitName], mailmap: Mailmap, written: Iterable[tuple[str, frozenset[GitName]]]
) -> dict[GitName, CommitAuthor]:
    """Return who each author is. `written`: the author of a change on the forge, and the authors of its commits.

    An address that a forge gives out names the account. Else the changes do whose commits are all of one author: two of
    three must be of the same account, and one alone counts only where names agree, because people also bring commits
    of others.
    """
    proper = {one: mailmap.proper(one) for one in names}
    accounts: dict[str, set[str]] = {}
    for one, person in proper.items():
        if login := login_in_address(one.mail):
            accounts.setdefault(person.mail.lower(), set()).add(login)
    votes: dict[str, dict[str, int]] = {}
    for login, authors in written:
        mails = {proper.get(one, one).mail.lower() for one in authors}
        if len(mails) == 1 and login:
            counts = votes.setdefault(mails.pop(), {})
            counts[login] = counts.get(login, 0) + 1
    found = {}
    for one, person in proper.items():
        key = person.mail.lower()
        own = login_in_address(one.mail)
        sure = {own} if own else accounts.get(key, set())
        if len(sure) == 1:
            found[one] = CommitAuthor(person.name, min(sure), "address")
        elif login := _elect(votes.get(key, {}), person):
            found[one] = CommitAuthor(person.name, login, "changes")
        else:
            found[one] = CommitAuthor(person.name)
    return found


def _elect(votes: dict[str, int], person: GitName) -> str | None:
    if not votes:
        return None
    login = max(votes, key=lambda one: (votes[one], one))
    is_clear = votes[login] >= _SHARE * sum(votes.values())
    return login if is_clear and (votes[login] >= _MIN_VOTES or _agrees(login, person)) else None


def _agrees(login: str, person: GitName) -> bool:
    bare, mail = _letters(login), _letters(person.mail.partition("@")[0])
    names = {_letters(person.name), *(_letters(part) for part in person.name.split()), mail} - {""}
    return len(bare) > 1 and any(bare == one or (len(one) > 2 and (one in bare or bare in one)) for one in names)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


_NAME = re.compile(r"(?<![\w@/.\-+=&`\\])@([A-Za-z0-9_][A-Za-z0-9_.\-]{0,99})((?:/[A-Za-z0-9_.\-]{1,100}){0,8})")
_MORE = re.compile(r"[\w@/\\\-]")  # behind a name: it is longer than names are, or something else
_QUOTED = re.compile(r"^[ \t]{0,3}>[^\n]*", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
MAX = 100  # of one text: whoever lists more means nobody
_LOOKED_AT = 5_000


def mentions_in_text(text: str | None, owner: str = "", logins: str = "") -> list[str]:
    """Return who is called, each once, as first spelled. `owner`: the first part of the project's path; `logins`: what
    names of people match on its forge (of its profile).
    """
    if not text or "@" not in text:
        return []
    names = list(itertools.islice(_names(text, owner.lower()), _LOOKED_AT))
    if logins:
        is_login = re.compile(logins).fullmatch
        names = [(at, name) for at, name in names if is_login(name.partition("/")[0])]
    spans = _not_spoken(text) if names else []
    found: dict[str, str] = {}
    for start, name in names:
        if not any(is_inside(start, part) for part in spans):
            found.setdefault(name.lower(), name)
    return list(found.values())[:MAX]


def _names(text: str, owner: str) -> Iterator[tuple[int, str]]:
    """(From one @ to the next: a pattern that looks behind is tried at every letter, which takes ten times as long.)"""
    at = text.find("@")
    while at >= 0:
        match, behind = _NAME.match(text, at), at + 1
        if match:
            name, rest, behind = match[1], match[2], match.end()
            if not (_MORE.match(text, behind) or (rest and name.lower() != owner)):
                yield at, f"{name}{rest}".rstrip(".-")
        at = text.find("@", behind)


def _not_spoken(text: str) -> list[list[tuple[int, int]]]:
    """Return where nobody is spoken to: code, quotes, comments of HTML; each part in order."""
    found = [code_spans(text)] if "`" in text or "~~~" in text else []
    for mark, pattern in ((">", _QUOTED), ("<!--", COMMENT)):
        if mark in text:
            found.append([match.span() for match in pattern.finditer(text)])
    return found


def line_calling(text: str | None, login: str) -> str:
    """Return the first line of a text that calls somebody, or else its first line."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    called = f"@{login}".lower()
    return next((line for line in lines if called in line.lower()), lines[0] if lines else "")


def is_program(login: str | None) -> bool:
    """Tell whether an account is a program's by its name: GitHub's apps, and the tokens of GitLab's projects and
    groups.
    """
    return bool(_PROGRAM.match(login or ""))
