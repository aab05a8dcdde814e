r"""Signatures of patches: one hash for each line that a change removes or adds, with its path. Patches are not kept.

    --- a/src/app.py             removed  hash of "src/app.py" and "timeout = 3000"
    +++ b/src/app.py             added    hash of "src/app.py" and "timeout = read_timeout()"
    @@ -7,3 +7,3 @@
     def connect():
    -    timeout = 3000
    +    timeout = read_timeout()

White space is folded, so that an indented copy is the same line. A line of at most `MIN_CHARS` characters, or without
a letter or digit, says too little and is left out. Lines are counted as each hunk's head announces them: a removed
line "-- a/x" is one, though it looks like the head of a file. Text from a forge is hostile: any text at all gives a
signature, of at most `MAX_LINES` lines.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import chain

from forgelore.model import PatchLines

MIN_CHARS = 12  # a line must be longer
MAX_LINES = 4_000  # removed and added each: those with the lowest hashes, so that two copies keep the same
_MAX_LINE = 2_000  # characters of a line that are looked at
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def read_patch(old_path: str, new_path: str, patch: str) -> PatchLines:
    """Return the signature of one file's hunks, as forges list them beside its path."""
    rows = _Rows(iter(patch.split("\n")))
    removed, added = set[int](), set[int]()
    for line in rows.lines:
        if hunk := _HUNK.match(line):
            rows.read_hunk(hunk, old_path, new_path, removed, added)
    return _lines(removed, added)


def read_diff(diff: str) -> PatchLines:
    """Return the signature of a whole diff, as `git diff` and forges write it; empty for text that is not one."""
    removed, added, _ = _read(diff)
    return _lines(removed, added)


def find_diff_paths(diff: str) -> frozenset[str]:
    """Return the paths that a diff names, of a rename both; none for text that is not a diff."""
    return frozenset(_read(diff)[2])


def _read(diff: str) -> tuple[set[int], set[int], set[str]]:
    rows = _Rows(iter(diff.split("\n")))
    removed, added, paths = set[int](), set[int](), set[str]()
    old_path = new_path = ""
    for line in rows.lines:
        if line.startswith("--- "):
            old_path = _path(line[4:])
        elif line.startswith("+++ "):
            new_path = _path(line[4:])
        elif line.startswith(("rename from ", "rename to ")):
            paths.add(_path(line.partition(" ")[2].partition(" ")[2]))
        elif hunk := _HUNK.match(line):
            paths.update((old_path, new_path))
            rows.read_hunk(hunk, old_path or new_path, new_path or old_path, removed, added)
    return removed, added, paths - {""}


def join_lines(parts: Iterable[PatchLines]) -> PatchLines:
    """Return the signature of several files together."""
    every = list(parts)
    return _lines(chain.from_iterable(p.removed for p in every), chain.from_iterable(p.added for p in every))


class _Rows:
    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines

    def read_hunk(self, hunk: re.Match[str], old_path: str, new_path: str, removed: set[int], added: set[int]) -> None:
        """Read as many lines as the head of a hunk announces, or as there are."""
        old, new = (1 if count is None else int(count) for count in hunk.groups())
        while old > 0 or new > 0:
            line = next(self.lines, None)
            if line is None:
                return
            mark = line[:1]
            old -= mark not in ("+", "\\")
            new -= mark not in ("-", "\\")
            if mark == "-" and (text := normalise(line[1:])):
                removed.add(hash_line(old_path, text))
            elif mark == "+" and (text := normalise(line[1:])):
                added.add(hash_line(new_path, text))


def normalise(line: str) -> str:
    """Return a line as it is compared; "" where it says too little.

    "    return  total_of(rows)" -> "return total_of(rows)"
    """
    text = " ".join(line[:_MAX_LINE].split())
    return text if len(text) > MIN_CHARS and any(map(str.isalnum, text)) else ""


def hash_line(path: str, text: str) -> int:
    """Return 64 bits, signed as SQLite's integers are."""
    said = f"{path}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, digest_size=8).digest(), "big", signed=True)


def _lines(removed: Iterable[int], added: Iterable[int]) -> PatchLines:
    return PatchLines(tuple(sorted({*removed})[:MAX_LINES]), tuple(sorted({*added})[:MAX_LINES]))


def _path(said: str) -> str:
    r"""Return the path in a file's head; "" for /dev/null.

    a/src/app.py -> src/app.py        "b/na\303\257ve.py" -> naïve.py
    """
    said = said.rstrip("\r").partition("\t")[0]
    if len(said) > 1 and said[0] == said[-1] == '"':
        said = _ESCAPE.sub(_unescape, said[1:-1].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    if said == "/dev/null":
        return ""
    return said[2:] if said[:2] in ("a/", "b/") else said


def _unescape(found: re.Match[bytes]) -> bytes:
    said = found[1]
    return bytes([int(said, 8) & 255]) if len(said) == 3 else _ESCAPED.get(said, said)
