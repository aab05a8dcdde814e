"""Boilerplate: the lines that every report of a project has. Headings, questions and checklists of its templates.

They are learned, not listed: a line that many items of a project share says nothing about any of them. Many items are
items of many people: one text that was filed twenty times, or one person's way of writing, is no template. Where
nobody knows who wrote an item, its text stands for its author. A line is known by a hash of its words, so that
`### Steps to reproduce` and `**Steps to reproduce:**` are one.
"""

import hashlib
import re
from collections.abc import Collection, Iterable

from forgelore.core.text import folded

SHARE = 0.02  # of a project's items of one kind that must have a line ...
LEAST = 8  # ... and how many authors and how many different texts: what three people paste is a shared symptom
READ = 8_000  # characters of a text; templates stand at the beginning
_MOST_LINES = 200
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() and code < 128 else ord(" ") for code in range(256))
_MOST_WORDS = 40  # a paragraph that is repeated word by word is a quotation

# What GitHub's own templates for bugs and features bring along (docs.github.com, "About issue and pull request
# templates"): a young project has them before there is anything to learn from.
_USUAL_LINES = """\
Describe the bug
A clear and concise description of what the bug is.
To Reproduce
Steps to reproduce the behavior:
1. Go to '...'
2. Click on '....'
3. Scroll down to '....'
4. See error
Expected behavior
A clear and concise description of what you expected to happen.
If applicable, add screenshots to help explain your problem.
Desktop (please complete the following information):
- OS: [e.g. iOS]
- Browser [e.g. chrome, safari]
- Version [e.g. 22]
Smartphone (please complete the following information):
- Device: [e.g. iPhone6]
- OS: [e.g. iOS8.1]
- Browser [e.g. stock browser, safari]
Add any other context about the problem here.
Is your feature request related to a problem? Please describe.
A clear and concise description of what the problem is. Ex. I'm always frustrated when [...]
Describe the solution you'd like
A clear and concise description of what you want to happen.
Describe alternatives you've considered
A clear and concise description of any alternative solutions or features you've considered.
Add any other context or screenshots about the feature request here.
"""


def line_key(line: str) -> int | None:
    """Return the hash of a line's words, None for a line that has none.

    "- [x] I have **searched**" and "- [ ] I have searched" have the same.
    """
    words = _words(line)
    if words and words[0] == b"x" and len(words) > 1:  # a box that somebody ticked
        del words[0]
    if not words or len(words) > _MOST_WORDS:
        return None
    digest = hashlib.blake2b(b" ".join(words), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)  # as SQLite holds it


def _words(line: str) -> list[bytes]:
    """Return the words of a line in lower case. Nearly all lines are ASCII, and a table takes a fifth of the time."""
    if line.isascii():
        return line.encode().translate(_ASCII_WORDS).split()
    return [word.encode(errors="replace") for word in _WORD.findall(line.casefold())]


def keys_of(text: str) -> set[int]:
    lines = text[:READ].splitlines()[:_MOST_LINES]
    return {key for line in lines if (key := line_key(line)) is not None}


class _Line:
    """How often a line was seen, and up to `LEAST` of the authors and of the texts that have it."""

    __slots__ = ("authors", "items", "texts")

    def __init__(self) -> None:
        self.items, self.authors, self.texts = 0, set[int](), set[int]()

    def add(self, author: int, text: int) -> None:
        self.items += 1
        if len(self.authors) < LEAST:
            self.authors.add(author)
        if len(self.texts) < LEAST:
            self.texts.add(text)

    def is_everybodys(self, least: float) -> bool:
        return self.items >= least and len(self.authors) >= LEAST and len(self.texts) >= LEAST


def learn(written: Iterable[tuple[str | None, str]]) -> tuple[dict[int, int], int]:
    """Return the lines that many people's texts have, with how many items, and the number of items.

    Each entry is an author, None where unknown, and a text.
    """
    once: dict[int, tuple[int, int]] = {}  # nearly all lines are seen once: a pair takes a fifth of the room
    often: dict[int, _Line] = {}
    total = 0
    for author, text in written:
        key = hash(folded(text[:READ]))
        who = key if author is None else hash(author)
        for line in keys_of(text):
            if line in often:
                often[line].add(who, key)
            elif line in once:
                often[line] = seen = _Line()
                seen.add(*once.pop(line))
                seen.add(who, key)
            else:
                once[line] = (who, key)
        total += 1
        if total % 5_000 == 0:  # keeping the rare ones would take more room than the texts
            once.clear()
            often = {line: seen for line, seen in often.items() if seen.items > total // 5_000}
    least = max(LEAST, SHARE * total)
    return {line: seen.items for line, seen in often.items() if seen.is_everybodys(least)}, total


def without_boilerplate(text: str, known: Collection[int]) -> str:
    """Return the text without the lines that are known; a text of nothing else is empty."""
    if not known or not text:
        return text
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines[:_MOST_LINES] if not line.strip() or line_key(line) not in known]
    return "".join([*kept, *lines[_MOST_LINES:]])


USUAL = frozenset(key for key in map(line_key, _USUAL_LINES.splitlines()) if key is not None)
