"""Sameness: do two items have the same text, nearly the same, or are they merely similar?

    same_text          title and text are equal but for case, blanks, line ends and characters that cannot be seen
    nearly_same_text   the same words in the same order; or, where all numbers are the same, 9 of 10 pairs of
                       neighbouring words, and 8 of 10 words of the titles
    similar            everything else

This is looked up, not measured: it needs no chance, no percentage and no model, and everybody can check it. So it
claims little. A number that differs counts ("Bump foo to 1.2" is not "Bump foo to 1.3"). HTML comments are not seen,
and near copies are compared without the lines of a form. An empty form has no text: an item must have three words of
its own, and one that is nothing but a title five ("Update README.md" is a habit, not a text).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from forgelore.core.compare.boilerplate import USUAL, line_key
from forgelore.core.search.cleaning import is_form_line
from forgelore.core.search.terms import has_unspaced, pairs_of
from forgelore.core.text import folded

Sameness = Literal["same_text", "nearly_same_text", "similar"]

_NEAR = 0.9  # of the pairs of neighbouring words: one word in twenty may differ, in a short text none
_NEAR_TITLE = 0.8  # of the words: a long form in both texts must not hide that the subjects differ
_LEAST_WORDS = 3
_LEAST_TITLE = 5  # words of an item that is nothing but a title
_READ = 30_000  # characters of a text whose words are compared
_WORD = re.compile(r"\w+")


def find_sameness(title: str, text: str, other_title: str, other_text: str) -> Sameness:
    """Return how nearly two items have the same text. Texts come without the project's own boilerplate.

    ("Crash", "It hangs on start.", "CRASH", "it hangs  on start.")  ->  same_text
    """
    titles = _words(title), _words(other_title)
    if _shared(*titles) < _NEAR_TITLE:  # so it ends for nearly every pair
        return "similar"
    mine, theirs = _visible(text), _visible(other_text)
    if not _says_enough(title, mine) or not _says_enough(other_title, theirs):
        return "similar"
    if folded(title) == folded(other_title) and folded(mine) == folded(theirs):
        return "same_text"
    words = titles[0] + _words(_own(mine)), titles[1] + _words(_own(theirs))
    return "nearly_same_text" if _is_near(*words) else "similar"


def _is_near(mine: list[str], theirs: list[str]) -> bool:
    if mine == theirs:
        return True
    if not 0.8 <= len(mine) / len(theirs) <= 1.25 or _numbers(mine) != _numbers(theirs):
        return False
    return _shared(list(pairwise(mine)), list(pairwise(theirs))) >= _NEAR


def _shared(mine: Sequence[object], theirs: Sequence[object]) -> float:
    """Return the share of both lists that is in the other one too, each entry as often as it stands there."""
    both = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * both / (len(mine) + len(theirs)) if mine and theirs else 0.0


def _numbers(words: list[str]) -> list[str]:
    return sorted(word for word in words if any(sign.isdigit() for sign in word))


def _words(text: str) -> list[str]:
    """Return the words of a text in order; a run of a script without blanks as its pairs of characters."""
    words = _WORD.findall(folded(text[:_READ]))
    if not has_unspaced(text):
        return words
    return [part for word in words for part in (pairs_of(word) if has_unspaced(word) else [word])]


def _says_enough(title: str, text: str) -> bool:
    """Tell whether an item has a text of its own, beside what a form brought along."""
    in_title, in_text = ({word for word in _words(_own(part)) if not word.isdigit()} for part in (title, text))
    return len(in_title | in_text) >= (_LEAST_WORDS if in_text else _LEAST_TITLE)


def _own(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line_key(line) not in USUAL and not is_form_line(line))


def _visible(text: str) -> str:
    """Return a text without HTML comments; one without an end hides nothing."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])
