"""Do two changes change the same lines? The rule, over the hashes of the lines that each removes (text/patches).

    shared   lines that both remove, and that at most `MAX_SHARERS` changes remove: a licence header proves nothing
    overlap  shared / sqrt(a * b), where a and b are how many lines each removes

Two changes change the same lines where they share one line and overlap by at least `MIN_OVERLAP`. Measured on half of
bitcoin's rival changes (bench/results/overlap.md); whoever quotes the lines of everybody else has a long patch, and
overlaps with nobody.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import combinations
from typing import NamedTuple

from forgelore.model import PatchLines

MAX_SHARERS = 12
MIN_OVERLAP = 0.2
_CONTAINED = 0.8  # of a change's lines are in another one: it has nothing to add to that
_ENOUGH = 3  # lines of a change; fewer are in another one by chance


class SharedLines(NamedTuple):
    """How many rare lines two changes both remove, and how much of the two that is."""

    lines: int
    overlap: float


def find_shared(mine: Collection[int], others: Mapping[int, Collection[int]]) -> dict[int, SharedLines]:
    """Return item -> what it shares with these lines, of those that change the same lines."""
    wanted = frozenset(mine)
    common = {item_id: found for item_id, lines in others.items() if (found := wanted.intersection(lines))}
    sharers = Counter(line for found in common.values() for line in found)
    shared = {}
    for item_id, found in common.items():
        count = sum(sharers[line] < MAX_SHARERS for line in found)
        if one := _shared(count, len(wanted), len(others[item_id])):
            shared[item_id] = one
    return shared


def find_shared_pairs(removed: Mapping[int, Collection[int]]) -> dict[tuple[int, int], SharedLines]:
    """Return (item, item) -> what they share, of every pair that changes the same lines; the lower item first."""
    by_line: dict[int, list[int]] = {}
    for item_id in sorted(removed):
        for line in removed[item_id]:
            by_line.setdefault(line, []).append(item_id)
    counts: Counter[tuple[int, int]] = Counter()
    for items in by_line.values():
        if 1 < len(items) <= MAX_SHARERS:
            counts.update(combinations(items, 2))
    found = {pair: _shared(count, *(len(removed[item_id]) for item_id in pair)) for pair, count in counts.items()}
    return {pair: shared for pair, shared in found.items() if shared}


def _shared(count: int, mine: int, theirs: int) -> SharedLines | None:
    overlap = count / math.sqrt(mine * theirs) if count else 0.0
    return SharedLines(count, overlap) if overlap >= MIN_OVERLAP else None


def is_same_change(mine: PatchLines, theirs: PatchLines) -> bool:
    """Tell whether two changes remove and add the same lines, and enough of them to say so."""
    return mine == theirs and len(mine.removed) + len(mine.added) >= _ENOUGH


def is_contained(mine: PatchLines, theirs: PatchLines) -> bool:
    """Tell whether nearly all that a change removes and adds is removed and added by another one too."""
    if len(mine.removed) + len(mine.added) < _ENOUGH:
        return False
    parts = ((mine.removed, theirs.removed), (mine.added, theirs.added))
    return all(len({*one} & {*other}) >= _CONTAINED * len(one) for one, other in parts)
