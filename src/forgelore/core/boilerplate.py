"""Which lines does every report of a project have? Headings, questions and checklists of its templates.

They are learned, not listed: a line that many items of a project share says nothing about any of them. A line is known
by a hash of its words, so that `### Steps to reproduce` and `**Steps to reproduce:**` are one.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable

SHARE = 0.02  # of a project's items of one kind that must have a line ...
LEAST = 8  # ... and how many at least: what three people paste is a shared symptom
READ = 8_000  # characters of a text; templates stand at the beginning
_MOST_LINES = 200
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 40  # a paragraph that is repeated word by word is a quotation


def line_key(line: str) -> int | None:
    """Return the hash of a line's words, None for a line that has none.

    "- [x] I have **searched**" and "- [ ] I have searched" have the same.
    """
    words = _WORD.findall(line.casefold())
    if words and words[0] == "x" and len(words) > 1:  # a box that somebody ticked
        del words[0]
    if not words or len(words) > _MOST_WORDS:
        return None
    digest = hashlib.blake2b(" ".join(words).encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)  # as SQLite holds it


def keys_of(text: str) -> set[int]:
    lines = text[:READ].splitlines()[:_MOST_LINES]
    return {key for line in lines if (key := line_key(line)) is not None}


def learn(texts: Iterable[str]) -> tuple[dict[int, int], int]:
    """Return the lines that many of the texts have, with how many, and the number of texts."""
    counts: Counter[int] = Counter()
    total = 0
    for text in texts:
        counts.update(keys_of(text))
        total += 1
        if total % 5_000 == 0:  # nearly all lines are seen once: keeping them would take more room than the texts
            counts = Counter({key: count for key, count in counts.items() if count > total // 5_000})
    least = max(LEAST, SHARE * total)
    return {key: count for key, count in counts.items() if count >= least}, total


def without_boilerplate(text: str, known: Collection[int]) -> str:
    """Return the text without the lines that are known; a text of nothing else is empty."""
    if not known or not text:
        return text
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines[:_MOST_LINES] if not line.strip() or line_key(line) not in known]
    return "".join([*kept, *lines[_MOST_LINES:]])
