"""Authors of commits and the accounts that are theirs, by .mailmap, by addresses and by the changes they wrote.

    Ana Lind <ana@example.org> <ana@old.example>        a line of .mailmap: this address is also hers
    Ana Lind <ana@example.org> A. <ana@old.example>     only with this name

A .mailmap comes with a clone and is a stranger's text: it decides who is the same person, and nothing else.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from forgelore.core.people.logins import login_in_address

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
