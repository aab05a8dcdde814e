"""Globs: patterns for paths, from the root of the project. `*` stops at a slash, `**` does not.

    src/*.py        files of that folder            src/**/test_*.py   also src/test_x.py
    **.rs           every Rust file                 docs/*/            everything below a folder of docs

No other sign means anything: brackets and question marks stand in real paths.
"""

import re
from functools import lru_cache

MAX_STARS = 8  # nobody writes patterns with more
_FEW_STARS = 2


def is_glob(path: str) -> bool:
    return "*" in path


def count_stars(pattern: str) -> int:
    return len(re.findall(r"\*+", pattern))


def glob_matches(pattern: str, path: str) -> bool:
    """Whether a path is meant by a pattern. With many stars a regular expression would try them at all places of all
    others (`*a*a*a*a*ab` took seconds for one path), so that these are walked through instead.
    """
    if count_stars(pattern) <= _FEW_STARS:
        return _compiled(pattern).fullmatch(path) is not None
    return _walks_to_end(pattern, path)


def loose_glob(pattern: str) -> str:
    """Return a pattern in SQLite's GLOB, whose star stops nowhere, that matches all the glob does and more."""
    escaped = re.sub(r"[\[?]", lambda sign: f"[{sign[0]}]", pattern + "**" if pattern.endswith("/") else pattern)
    return re.sub(r"\*+", "*", re.sub(r"(\A|/)(?:\*\*+/)+", r"\1*", escaped))


def as_expression(pattern: str) -> str:
    """Return a glob as a regular expression for the whole of a path, for engines that have such."""
    return f"^{''.join(_translate(part) for part in _split(pattern))}$"


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_translate(part) for part in _split(pattern)), re.DOTALL)


def _split(pattern: str) -> list[str]:
    """Return the parts of a pattern: `**/` at the beginning of a folder, stars, and what stands between them."""
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    return [part for part in re.split(r"((?:\A|(?<=/))\*\*+/|\*+)", pattern) if part]


def _translate(part: str) -> str:
    if part.startswith("**"):
        return "(?:.*/)?" if part.endswith("/") else ".*"
    return "[^/]*" if part == "*" else re.escape(part)


def _walks_to_end(pattern: str, path: str) -> bool:
    """Part by part, keep all places of the path that can be reached: a place is looked at once for each part."""
    places = {0}
    for part in _split(pattern):
        if not places:
            return False
        first = min(places)
        if part.startswith("**"):
            behind = {at + 1 for at in range(first, len(path)) if path[at] == "/"}
            places = places | behind if part.endswith("/") else set(range(first, len(path) + 1))
        elif part == "*":
            places = _within_folders(places, path)
        else:
            places = {at + len(part) for at in places if path.startswith(part, at)}
    return len(path) in places


def _within_folders(places: set[int], path: str) -> set[int]:
    found: set[int] = set()
    reached = -1
    for at in sorted(places):
        if at > reached:
            slash = path.find("/", at)
            reached = len(path) if slash < 0 else slash
            found.update(range(at, reached + 1))
    return found
