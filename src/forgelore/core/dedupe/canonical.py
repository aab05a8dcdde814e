"""Canonical: the item of a cluster that stays, by an order of preferences.

    what a person said > open > in the preferred language > written by a maintainer > activity > age > number

If any item of the cluster is open, an open one is chosen, whatever else speaks for a closed one; a person's choice of a
closed one waits until none is open.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from forgelore.core.text import folded


class ClusterItem(NamedTuple):
    """An item of a cluster, as far as the choice needs it."""

    item_id: int
    number: int
    is_open: bool
    is_chosen: bool = False  # by a person
    is_in_language: bool = True
    is_by_maintainer: bool = False
    activity: int = 0  # comments, of a change those on its lines too
    created_at: int = 0


class Choice(NamedTuple):
    """The canonical of a cluster, and which preference told it from the next."""

    member: ClusterItem
    chosen_by: str


_ORDER: tuple[tuple[str, Callable[[ClusterItem], int]], ...] = (
    ("open", lambda one: not one.is_open),
    ("a person", lambda one: not one.is_chosen),
    ("language", lambda one: not one.is_in_language),
    ("maintainer", lambda one: not one.is_by_maintainer),
    ("activity", lambda one: -one.activity),
    ("age", lambda one: one.created_at),
    ("number", lambda one: one.number),
)


def choose_canonical(members: Sequence[ClusterItem]) -> Choice:
    """Return the canonical; the order of the members does not matter."""
    ordered = sorted(members, key=lambda one: [key(one) for _, key in _ORDER])
    if len(ordered) == 1:
        return Choice(ordered[0], "")
    first, second = ordered[:2]
    return Choice(first, next((name for name, key in _ORDER if key(first) != key(second)), "number"))


# Short words that hardly another language has: enough to tell "is this English" from a few sentences.
_ENGLISH = frozenset(
    ("the", "and", "is", "to", "of", "in", "it", "that", "for", "with", "this", "not", "when", "are", "be", "on", "as",
     "from", "have", "but", "or", "can")
)  # fmt: skip
_LEAST = 8  # words; what is shorter is not held against anybody


def is_english(text: str) -> bool:
    """Tell whether a text is likely English: one word in twelve is among the commonest, and most letters are Latin."""
    words = folded(text[:4_000]).split()
    if len(words) < _LEAST:
        return not any(ord(sign) > 0x24F and sign.isalpha() for sign in text[:200])
    return sum(word.strip(".,:;!?()") in _ENGLISH for word in words) * 12 >= len(words)
