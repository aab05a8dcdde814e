"""People in text: the accounts of commit authors, which accounts are programs, and whom a text mentions.

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
from typing import Literal, NamedTuple

from forgelore.text.markdown import code_spans, is_inside

# 12345+ana@users.noreply.github.com: the number is the account's, and older addresses have none.
_NOREPLY = re.compile(r"(?:\d+[+-])?(?P<login>[\w.-]+)@users\.noreply\.[\w.-]+\Z")
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


class GitName(NamedTuple):
    """An author as a commit has it."""

    name: str
    mail: str


class CommitAuthor(NamedTuple):
    """Who that is: the name as .mailmap has it, the login where something tells it, and what does."""

    proper_name: str
    login: str | None = None
    source: Literal["address", "changes"] | None = None


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
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
MAX = 100  # of one text: whoever lists more means nobody
_LOOKED_AT = 5_000


def mentions_in_text(text: str | None, owner: str = "") -> list[str]:
    """Return who is called, each once, as first spelled. `owner`: the first part of the project's path."""
    if not text or "@" not in text:
        return []
    names = list(itertools.islice(_names(text, owner.lower()), _LOOKED_AT))
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
    for mark, pattern in ((">", _QUOTED), ("<!--", _COMMENT)):
        if mark in text:
            found.append([match.span() for match in pattern.finditer(text)])
    return found


def line_calling(text: str | None, login: str) -> str:
    """Return the first line of a text that calls somebody, or else its first line."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    called = f"@{login}".lower()
    return next((line for line in lines if called in line.lower()), lines[0] if lines else "")
