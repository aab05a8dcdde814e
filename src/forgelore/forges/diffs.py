"""The beginning of a change's diff, as much of it as somebody wants to read.

A diff may have ten megabytes; for comparing changes the first few thousand characters do. GitHub sends plain text,
GitLab JSON rows with a file each: of a page that was left half-way, what came of its last row is used too.
"""

import json
from typing import Any

from forgelore.core.text import storable

BYTES_PER_CHAR = 4  # of UTF-8, at most


def first_chars(body: bytes, max_chars: int) -> str:
    """Return the beginning of a plain diff; "" when no file in it has lines (binary files, renames)."""
    return _with_lines(body.decode("utf-8", "replace"), max_chars)


def join_files(rows: list[dict[str, Any]], max_chars: int) -> str:
    """Return GitLab's rows as one plain diff, as GitHub would write it."""
    parts = []
    for row in rows:
        text, old, new = row.get("diff") or "", row.get("old_path") or "", row.get("new_path") or ""
        if row.get("too_large") or row.get("collapsed") or "@@" not in text:
            continue  # no lines in it: the path says all there is, and paths have a list of their own
        before = "/dev/null" if row.get("new_file") else f"a/{old}"
        after = "/dev/null" if row.get("deleted_file") else f"b/{new}"
        parts.append(f"diff --git a/{old} b/{new}\n--- {before}\n+++ {after}\n{text.rstrip()}\n")
    return _with_lines("".join(parts), max_chars)


def read_partial_rows(body: bytes) -> list[dict[str, Any]]:
    r"""Return the objects at the beginning of a JSON list that may end anywhere.

    b'[{"a": 1}, {"b": "x' -> [{"a": 1}, {"b": "x"}]
    """
    text = body.decode("utf-8", "ignore")
    reader, rows = json.JSONDecoder(), []
    position = text.find("{")
    while position >= 0:
        try:
            row, end = reader.raw_decode(text, position)
        except ValueError:
            row, end = _mended(text[position:]), len(text)
        if isinstance(row, dict):
            rows.append(row)
        position = text.find("{", end)
    return rows


def _mended(text: str) -> object:
    """Close an object that broke off: inside a value's text, else before its last member; None when neither helps."""
    tails = [text[: len(text) - cut] + '"}' for cut in range(7)]  # an escape has at most six characters: \u20ac
    for candidate in (*tails, text[: text.rfind(',"')] + "}"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return None


def _with_lines(text: str, max_chars: int) -> str:
    return storable(text[:max_chars]) if "\n@@" in text else ""
