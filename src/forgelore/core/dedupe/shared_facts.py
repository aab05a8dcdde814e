"""Shared facts: do the quotes that a judge names really stand in both texts?

A model that invents, or that was talked into something by the text it read, cannot make words appear in the other text.
A quote counts when it stands in both (case, blanks and punctuation aside), says something (an identifier, a number with
letters, or three words that are not all common ones), and is not part of another quote.
"""

import re
from collections.abc import Iterable

from forgelore.core.text import folded

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"\w*(?:\d\w*[^\W\d]|[^\W\d]\w*\d|_\w|[a-z][A-Z])\w*|\w+(?:::|\.|/|->)\w+")
_MIN_WORDS = 3
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been but by can do does for from get had has have how i if in into is it its me my no"
        " not of on or our so than that the their then there these they this to us was we were what when where which"
        " who will with would you your bug issue error fix fails failed problem please version expected actual behavior"
        " behaviour steps reproduce description using use used work works working",
    )
)


def count_shared_facts(facts: Iterable[str], text: str, other: str) -> int:
    """Return how many of the facts stand in both texts and say something."""
    mine, theirs = _flat(text), _flat(other)
    found: list[str] = []
    for fact in facts:
        flat = _flat(fact)
        if flat.strip() and _says_something(fact) and flat in mine and flat in theirs:
            found.append(flat)
    distinct = set(found)
    return sum(not any(one != longer and one in longer for longer in distinct) for one in distinct)


def _flat(text: str) -> str:
    """Return the words of a text with one blank around each, so that a part of a word is not found."""
    return f" {' '.join(_WORD.findall(folded(text)))} "


def _says_something(fact: str) -> bool:
    if _IDENTIFIER.search(fact):
        return True
    words = [word for word in _WORD.findall(folded(fact)) if not word.isdigit()]
    return len(words) >= _MIN_WORDS and any(word not in _COMMON for word in words)
