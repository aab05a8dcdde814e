"""Evidence of an item's history: what was known of a candidate when the question was asked, as numbers for a model.

    open          1 it was open, 0 it was closed
    closed_for    logarithm of the days since it was closed; unknown while it was open
    marked        1 somebody had called it a duplicate
    comments      logarithm of how many comments it had
    people        ... of how many people had taken part
    quiet         ... of the days since the last comment
    mentions      ... of how many other items had named it
    duplicates    ... of how many were said to repeat it
    same_author   1 both have the same author
    took_part     1 the author of the one that asks had taken part in the other

Of originals 71 to 84 of 100 were open, of other candidates 29 to 44. What nobody knows is left out, and a model takes
it for unknown: that is not 0.
"""

import math
from collections.abc import Mapping

from forgelore.core.compare.item_history import ItemHistory

HISTORY = (
    "open", "closed_for", "marked", "comments", "people", "quiet", "mentions", "duplicates", "same_author", "took_part",
)  # fmt: skip
_DAY_MS = 86_400_000


def compare_history(history: ItemHistory, *, author: str | None, asked_at: int | None) -> dict[str, float]:
    """Return the numbers of a candidate, by the names of `HISTORY`, as far as they are known. `author` and `asked_at`
    are of the item that asks.
    """
    people = history.participants
    found = {
        "open": _number(history.is_open), "closed_for": _days(history.ended_at, asked_at),
        "marked": _number(history.is_marked), "comments": _count(history.comments),
        "people": _count(None if people is None else len(people)), "quiet": _days(history.active_at, asked_at),
        "mentions": _count(history.mentions), "duplicates": _count(history.duplicates),
        "same_author": None if not author or not history.author else float(author == history.author),
        "took_part": None if not author or people is None else float(author in people),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def was_open(features: Mapping[str, float]) -> bool | None:
    """Tell whether a candidate was open, None where nobody knows."""
    known = features.get("open")
    return None if known is None else bool(known)


def _number(fact: bool | None) -> float | None:  # noqa: FBT001 - a fact, not a switch
    return None if fact is None else float(fact)


def _count(number: int | None) -> float | None:
    return None if number is None else math.log1p(number)


def _days(then: int | None, now: int | None) -> float | None:
    """Return 0 for what came later: whoever looks at an old item sees what is known today."""
    return None if then is None or now is None else math.log1p(max(0, now - then) / _DAY_MS)
