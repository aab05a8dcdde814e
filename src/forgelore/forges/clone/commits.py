r"""Commits as git keeps them: the object's own text, and what `diff-tree --raw -z` says of its paths.

tree 8f1c…                              :100644 100644 3a1… 9b2… M\0src/net/conn.py\0
parent 77ad…
author Ana <ana@example.org> 1700000000 +0100
committer Ana <ana@example.org> 1700000000 +0100

Subject, then the rest of the message
"""

import re

from forgelore.code_port import TreeCommit
from forgelore.core.text import storable

MAX_MESSAGE = 64_000  # characters
MAX_PATHS = 1_000  # of one commit: whoever touches more has moved the project, and says nothing of a file
_PERSON = re.compile(r"(?P<name>[^<]*?)\s*<(?P<address>[^>]*)>\s*(?P<seconds>-?\d{1,12})")
# 12345+ana@users.noreply.github.com: the number is the account's, and older addresses have none.
_NOREPLY = re.compile(r"(?:\d+[+-])?(?P<login>[\w.-]+)@users\.noreply\.[\w.-]+\Z")


def parse_paths(raw: bytes) -> dict[str, tuple[str, ...]]:
    """Return commit -> the paths it touched. A path always follows its row, so that none can pass for a commit."""
    found: dict[str, list[str]] = {}
    words = iter(raw.split(b"\0"))
    paths: list[str] = []
    for word in words:
        if word.startswith(b":"):
            path = next(words, b"").decode("utf-8", "surrogateescape")
            if len(paths) <= MAX_PATHS:
                paths.append(path)
        elif word:
            paths = found.setdefault(word.decode("ascii", "replace").strip(), [])
    return {sha: tuple(map(storable, each)) if len(each) <= MAX_PATHS else () for sha, each in found.items()}


def parse_commit(sha: str, data: bytes, paths: tuple[str, ...]) -> TreeCommit:
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
    return TreeCommit(sha, author, login, authored_at, committed_at, text, () if is_merge else paths, is_merge)


def _person(line: bytes, encoding: str) -> tuple[str | None, str | None, int | None]:
    found = _PERSON.match(_decode(line, encoding))
    if not found:
        return None, None, None
    known = _NOREPLY.match(found["address"])
    return found["name"] or None, known["login"] if known else None, int(found["seconds"]) * 1000


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        text = data.decode("latin-1") if b"\x00" not in data else data.decode("utf-8", "replace")
    return storable(text)
