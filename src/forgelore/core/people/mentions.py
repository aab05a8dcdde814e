"""Mentions: the people, and the teams, that a text calls by @name.

    "cc @Ana and @acme/web, mail bo@x.io; see `@property`"  ->  "Ana", and in a project of acme "acme/web"

No mention is what stands in code, in a comment of HTML, in a quoted line, behind a letter (an e-mail address) or behind
a slash (the end of an address). `@scope/package` is a team where the scope owns the project, a package anywhere else,
and never a person. Names are kept as they are spelled; whoever compares them ignores capitals, as forges do.
"""

import itertools
import re
from collections.abc import Iterator

from forgelore.core.links import code_spans, is_inside

_NAME = re.compile(r"(?<![\w@/.\-+=&`\\])@([A-Za-z0-9_][A-Za-z0-9_.\-]{0,99})((?:/[A-Za-z0-9_.\-]{1,100}){0,8})")
_MORE = re.compile(r"[\w@/\\\-]")  # behind a name: it is longer than names are, or something else
_QUOTED = re.compile(r"^[ \t]{0,3}>[^\n]*", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
MOST = 100  # of one text: whoever lists more means nobody
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
    return list(found.values())[:MOST]


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
