"""Decision records: files that a project keeps its decisions in (ADRs), and what such a file decides.

    docs/adr/0005-locks.md        # 5. Locks are files
                                  Status: superseded by [0009](0009-leases.md)
                                  ## Decision
                                  We use files as locks, because ...

Known by their folder or name. What is quoted is the first sentence below the heading of the decision (or behind
"**Choice.**"), else the title.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.decisions.statements import DecisionEdge, Sentence, find_edges, split_sentences

_RECORD_PATH = re.compile(
    r"(?:\A|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?)/(?!readme|index|template)[^/]+\.(?:md|rst|adoc|txt)\Z"
    r"|(?:\A|/)adr-?\d+[^/]*\.(?:md|rst|adoc|txt)\Z",
    re.IGNORECASE,
)
_DECIDING = re.compile(
    r"\A[#=*_\s]{0,8}(?:\d{1,2}[.)]\s*)?(?:decision|choice|resolution)(?:\s+outcome)?\b", re.IGNORECASE
)
_BOLD = re.compile(r"\A\*\*[^*]{1,40}\*\*\s*")
_STATUS_LINES = 40  # within which a record says what became of it
_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b")


class DecisionRecord(NamedTuple):
    """What a file decides: the sentence to quote, what it replaces or is replaced by, and the day it names."""

    title: str
    sentence: Sentence
    edges: tuple[DecisionEdge, ...]
    day: str


def is_record(path: str) -> bool:
    """Whether a file is a decision record, by its path."""
    return _RECORD_PATH.search(path) is not None


def read_record(lines: Sequence[str]) -> DecisionRecord | None:
    """Return what a record decides; None for a file without a word."""
    title = next((number for number, line in enumerate(lines, 1) if line.strip("#=-* \t")), 0)
    if not title:
        return None
    named = Sentence(lines[title - 1].strip("#=* \t"), title, title)
    head = lines[:_STATUS_LINES]
    edges = tuple(dict.fromkeys(edge for line in head for edge in find_edges(line)))
    day = next((found[0] for line in head if (found := _DATE.search(line))), "")
    return DecisionRecord(named.text, _find_decision(lines) or named, edges, day)


def _find_decision(lines: Sequence[str]) -> Sentence | None:
    for number, line in enumerate(lines, 1):
        if _DECIDING.match(line):
            bold = _BOLD.match(line)
            first = number if bold and line[bold.end() :].strip() else number + 1
            found = next((one for one in split_sentences(lines, first, len(lines)) if _says(one.text)), None)
            if found:
                return found
    return None


def _says(text: str) -> bool:
    """Whether a sentence is more than a heading such as "**Choice.**"."""
    return len(_BOLD.sub("", text).strip("#*= ")) > 3
