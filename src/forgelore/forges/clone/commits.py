r"""Commits as git keeps them: the object's own text, and what `diff-tree --raw -z` says of its paths.

tree 8f1c…                              :100644 100644 3a1… 9b2… M\0src/net/conn.py\0
parent 77ad…
author Ana <ana@example.org> 1700000000 +0100
committer Ana <ana@example.org> 1700000000 +0100

Subject, then the rest of the message
"""

import re
from typing import NamedTuple

from forgelore.code_port import TreeCommit
from forgelore.core.people.logins import login_in_address
from forgelore.core.text import storable

MAX_MESSAGE = 64_000  # characters
MAX_PATHS = 1_000  # of one commit: whoever touches more has moved the project, and says nothing of a file
_EMPTY = (  # git's names of an empty file: one is like the other
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_PERSON = re.compile(r"(?P<name>[^<]*?)\s*<(?P<address>[^>]*)>\s*(?P<seconds>-?\d{1,12})")


class TouchedPaths(NamedTuple):
    """What a commit touched, and what of it only moved: (old, new)."""

    paths: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()


class _Row(NamedTuple):
    """`before` and `after` name contents; one of zeros is none."""

    before: bytes
    after: bytes
    status: bytes
    path: str


def parse_paths(raw: bytes) -> dict[str, TouchedPaths]:
    """Return commit -> the paths it touched. A path always follows its row, so that none can pass for a commit."""
    found: dict[str, list[_Row]] = {}
    words = iter(raw.split(b"\0"))
    rows: list[_Row] = []
    for word in words:
        if word.startswith(b":"):
            path = next(words, b"").decode("utf-8", "surrogateescape")
            if len(rows) <= MAX_PATHS:
                _, _, before, after, status = (word.split(b" ") + [b""] * 5)[:5]
                rows.append(_Row(before, after, status[:1], storable(path)))
        elif word:
            rows = found.setdefault(word.decode("ascii", "replace").strip(), [])
    return {
        sha: TouchedPaths(tuple(row.path for row in each), _find_renames(each))
        if len(each) <= MAX_PATHS
        else TouchedPaths()
        for sha, each in found.items()
    }


def _find_renames(rows: list[_Row]) -> tuple[tuple[str, str], ...]:
    """Return what went away here and came there with the same content, where only one can be meant. Git's own search
    for moved files would read contents, which a partial clone may lack.
    """
    gone, come = _by_blob(rows, b"D"), _by_blob(rows, b"A")
    pairs = ((gone[blob], come[blob]) for blob in gone.keys() & come.keys() if blob not in _EMPTY)
    return tuple(sorted((old[0], new[0]) for old, new in pairs if len(old) == len(new) == 1))


def _by_blob(rows: list[_Row], status: bytes) -> dict[bytes, list[str]]:
    found: dict[bytes, list[str]] = {}
    for row in rows:
        if row.status == status:
            found.setdefault(row.before if status == b"D" else row.after, []).append(row.path)
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
    author, login, authored_at = _person(fields.get("author", [b""])[0], encoding)
    committed_at = _person(fields.get("committer", [b""])[0], encoding)[2]
    text = _decode(message, encoding).replace("\r\n", "\n").strip()[:MAX_MESSAGE]
    is_merge = len(fields.get("parent", [])) > 1
    known = TouchedPaths() if is_merge else touched
    return TreeCommit(sha, author, login, authored_at, committed_at, text, known.paths, is_merge, known.renames)


def _person(line: bytes, encoding: str) -> tuple[str | None, str | None, int | None]:
    found = _PERSON.match(_decode(line, encoding))
    if not found:
        return None, None, None
    return found["name"] or None, login_in_address(found["address"]), int(found["seconds"]) * 1000


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        text = data.decode("latin-1") if b"\x00" not in data else data.decode("utf-8", "replace")
    return storable(text)
