"""Path evidence of a ranking: which of its candidates touch the same files as the change that asks.

Read with three queries for all candidates. An issue touches nothing, and paths of another project are other files.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from forgelore.core.compare.evidence import Quote
from forgelore.core.compare.shared_paths import compare_paths, telling_paths, weigh_paths
from forgelore.store.changed_paths import count_changes, count_changes_by_path, load_paths_of
from forgelore.store.db import Store
from forgelore.store.hits import Subject

_QUOTED = 3  # files that are named


class PathEvidence(NamedTuple):
    """What the change that asks touches, what its candidates do, and how much each path says."""

    mine: frozenset[str] = frozenset()
    theirs: Mapping[int, frozenset[str]] = {}  # by item
    weights: Mapping[str, float] = {}

    def features(self, item_id: int) -> dict[str, float]:
        """Return the numbers of a pair; none where paths are not known."""
        return compare_paths(self.mine, self.theirs.get(item_id, ()), self.weights)

    def quotes(self, item_id: int) -> tuple[Quote, ...]:
        """Return the rarest files that both touch."""
        found = telling_paths(self.mine, self.theirs.get(item_id, ()), self.weights)
        return tuple(Quote("file", path, path) for path in found[:_QUOTED])


def load_path_evidence(store: Store, subject: Subject, item_ids: Collection[int]) -> PathEvidence:
    """Return the path evidence of an item and these candidates; empty for what touches no files."""
    if subject.kind != "change" or not subject.item_id:
        return PathEvidence()
    mine = load_paths_of(store, subject.project_id, [subject.item_id]).get(subject.item_id)
    if not mine:
        return PathEvidence()
    theirs = load_paths_of(store, subject.project_id, item_ids)
    # Of candidates without a path of this change nobody asks what their paths weigh.
    near = {item_id: paths for item_id, paths in theirs.items() if paths & mine}
    counts = count_changes_by_path(store, subject.project_id, mine.union(*near.values()))
    return PathEvidence(mine, near, weigh_paths(counts, count_changes(store, subject.project_id)))
