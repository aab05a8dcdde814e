r"""Commits as git keeps them: the object's own text, and what `diff-tree --raw -z` says of its paths.

tree 8f1c…                              :100644 100644 3a1… 9b2… M\0src/net/conn.py\0
parent 77ad…
author Ana <ana@example.org> 1700000000 +0100
committer Ana <ana@example.org> 1700000000 +0100

Subject, then the rest of the message
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.code_port import TreeCommit
from forgelore.core.people.logins import login_in_address
from forgelore.core.text import storable

MAX_MESSAGE = 64_000  # characters
MAX_MAIL = 320
MAX_PATHS = 1_000  # of one commit: whoever touches more has moved the project, and says nothing of a file
_EMPTY = (  # git's names of an empty file: one is like the other
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
MIN_RENAMED = 50  # percent that a renamed file keeps: git's own bound
MIN_SPLIT = 40  # percent of the larger one that a part and its source share: halves are less than 50 with a new head
MIN_LOST = 0.5  # of the part's size, which its source must have lost
_PERSON = re.compile(r"(?P<name>[^<]*?)\s*<(?P<address>[^>]*)>\s*(?P<seconds>-?\d{1,12})")


class TouchedPaths(NamedTuple):
    """What a commit touched, and what of it was renamed, or split off: (old, new)."""

    paths: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()


class TouchedRow(NamedTuple):
    """`before` and `after` name contents; one of zeros is none. Of a rename (R) and a copy (C), `path` is the new one,
    `old` the old one, and `score` how alike they are, in percent.
    """

    before: str
    after: str
    status: str
    path: str
    old: str = ""
    score: int = 0


def parse_rows(raw: bytes) -> dict[str, list[TouchedRow]]:
    """Return commit -> its rows. A path always follows its row, so that none can pass for a commit."""
    found: dict[str, list[TouchedRow]] = {}
    words = iter(raw.split(b"\0"))
    rows: list[TouchedRow] = []
    for word in words:
        if word.startswith(b":"):
            _, _, before, after, status = (word.decode("ascii", "replace").split(" ") + [""] * 5)[:5]
            old = _path(next(words, b"")) if status[:1] in ("R", "C") else ""
            path = _path(next(words, b""))
            if len(rows) <= MAX_PATHS:
                score = int(status[1:]) if status[1:].isdecimal() else 0
                rows.append(TouchedRow(before, after, status[:1], path, old, score))
        elif word:
            rows = found.setdefault(word.decode("ascii", "replace").strip(), [])
    return found


def _path(word: bytes) -> str:
    return storable(word.decode("utf-8", "surrogateescape"))


def list_split_blobs(rows: list[TouchedRow]) -> list[str]:
    """Return the contents whose sizes say whether a copy is a part that was split off."""
    shrunk = {row.path: row.after for row in rows if row.status == "M"}
    copies = [row for row in rows if row.status == "C" and row.old in shrunk]
    return [blob for row in copies for blob in (row.before, row.after, shrunk[row.old])]


def find_touched(rows: list[TouchedRow], sizes: Mapping[str, int]) -> TouchedPaths:
    """Return the paths of a commit, and what of them was renamed or split off. A copy is a part that was split off
    where its source went away or lost about as much as the copy has: other copies (of a template, of a licence) have a
    history of their own. `sizes`: of the contents that `list_split_blobs` names.
    """
    if len(rows) > MAX_PATHS:
        return TouchedPaths()
    paths = dict.fromkeys(path for row in rows for path in ((row.old, row.path) if row.status == "R" else (row.path,)))
    shrunk = {row.path: row.after for row in rows if row.status == "M"}
    moved = {row.old for row in rows if row.status == "R"}
    copied = {row.old for row in rows if row.status == "C"}
    found = set()
    for row in rows:
        if row.status == "R":
            is_linked = row.score >= MIN_RENAMED or row.old in copied
        elif row.status == "C":
            lost = sizes.get(row.before, 0) - sizes.get(shrunk.get(row.old, ""), sizes.get(row.before, 0))
            is_linked = row.old in moved or 0 < sizes.get(row.after, 0) * MIN_LOST <= lost
        else:
            is_linked = False
        if is_linked and row.old and row.path:
            found.add((row.old, row.path))
    return TouchedPaths(tuple(paths), tuple(sorted(found)))


def find_exact(rows: list[TouchedRow]) -> TouchedPaths:
    """The same without contents, which a partial clone may lack: what went away here and came there as it was, where
    only one can be meant.
    """
    if len(rows) > MAX_PATHS:
        return TouchedPaths()
    gone, come = _by_blob(rows, "D"), _by_blob(rows, "A")
    pairs = ((gone[blob], come[blob]) for blob in gone.keys() & come.keys() if blob not in _EMPTY)
    renames = sorted((old[0], new[0]) for old, new in pairs if len(old) == len(new) == 1)
    return TouchedPaths(tuple(row.path for row in rows), tuple(renames))


def _by_blob(rows: list[TouchedRow], status: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.status == status:
            found.setdefault(row.before if status == "D" else row.after, []).append(row.path)
    return found


def parse_commit(sha: str, data: bytes, touched: TouchedPaths) -> TreeCommit:
    """Return a commit; whatever its object lacks or garbles is None."""
    head, _, message = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name and not line.startswith(b" "):  # a signature goes on with a blank
            fields.setdefault(name.decode("ascii", "replace"), []).append(value)
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("ascii", "replace")
    author, mail, authored_at = _person(fields.get("author", [b""])[0], encoding)
    login = login_in_address(mail) if mail else None
    committed_at = _person(fields.get("committer", [b""])[0], encoding)[2]
    text = _decode(message, encoding).replace("\r\n", "\n").strip()[:MAX_MESSAGE]
    parents = tuple(one.decode("ascii", "replace").strip() for one in fields.get("parent", ()))
    is_merge = len(parents) > 1
    known = TouchedPaths() if is_merge else touched
    return TreeCommit(
        sha, author, login, authored_at, committed_at, text, known.paths, is_merge, known.renames, mail, parents
    )


def _person(line: bytes, encoding: str) -> tuple[str | None, str | None, int | None]:
    found = _PERSON.match(_decode(line, encoding))
    if not found:
        return None, None, None
    return found["name"] or None, found["address"].strip()[:MAX_MAIL] or None, int(found["seconds"]) * 1000


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        text = data.decode("latin-1") if b"\x00" not in data else data.decode("utf-8", "replace")
    return storable(text)
