"""Globs: patterns for paths, from the root of the project. `*` stops at a slash, `**` does not.

    src/*.py        files of that folder            src/**/test_*.py   also src/test_x.py
    **.rs           every Rust file                 docs/*/            everything below a folder of docs

No other sign means anything: brackets and question marks stand in real paths.
"""

import re
from functools import lru_cache

MAX_STARS = 8  # each one may be tried at every place of a path


def is_glob(path: str) -> bool:
    return "*" in path


def count_stars(pattern: str) -> int:
    return len(re.findall(r"\*+", pattern))


def glob_matches(pattern: str, path: str) -> bool:
    return _compiled(pattern).fullmatch(path) is not None


def loose_glob(pattern: str) -> str:
    """Return a pattern in SQLite's GLOB, whose star stops nowhere, that matches all the glob does and more."""
    escaped = re.sub(r"[\[?]", lambda sign: f"[{sign[0]}]", pattern + "**" if pattern.endswith("/") else pattern)
    return re.sub(r"\*+", "*", re.sub(r"(\A|/)(?:\*\*+/)+", r"\1*", escaped))


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern + "**" if pattern.endswith("/") else pattern
    parts = re.split(r"((?:\A|(?<=/))\*\*+/|\*+)", pattern)
    return re.compile("".join(_translate(part) for part in parts), re.DOTALL)


def _translate(part: str) -> str:
    if part.startswith("**"):
        return "(?:.*/)?" if part.endswith("/") else ".*"
    return "[^/]*" if part == "*" else re.escape(part)
