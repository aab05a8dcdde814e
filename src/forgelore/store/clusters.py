"""Clusters as they are kept: which item belongs to which, and the canonical of each. A rerun replaces them all."""

from collections.abc import Iterable
from typing import NamedTuple

from forgelore.store.db import Store


class StoredCluster(NamedTuple):
    id: int
    canonical_id: int
    chosen_by: str
    members: tuple[int, ...]


def replace_clusters(
    store: Store, project_id: int, kind: str, clusters: Iterable[tuple[int, str, Iterable[int]]], now_ms: int
) -> int:
    """Keep (canonical, chosen by, members) of every cluster of a kind instead of the earlier ones. In a transaction."""
    store.run("DELETE FROM clusters WHERE project_id = ? AND kind = ?", project_id, kind)
    count = 0
    for canonical_id, chosen_by, members in clusters:
        sql = "INSERT INTO clusters (project_id, kind, canonical_id, chosen_by, made_at) VALUES (?, ?, ?, ?, ?)"
        cluster_id = store.insert(sql, project_id, kind, canonical_id, chosen_by, now_ms)
        rows = [(item_id, cluster_id) for item_id in members]
        store.run_many("INSERT INTO cluster_members (item_id, cluster_id) VALUES (?, ?)", rows)
        count += 1
    return count


def list_clusters(store: Store, project_id: int, kind: str) -> list[StoredCluster]:
    """Return the clusters of a kind, the largest first."""
    sql = """
        SELECT c.id, c.canonical_id, c.chosen_by, m.item_id
        FROM clusters c
        JOIN cluster_members m ON m.cluster_id = c.id
        WHERE c.project_id = ? AND c.kind = ?
        ORDER BY c.id, m.item_id
    """
    found: dict[int, StoredCluster] = {}
    for cluster_id, canonical_id, chosen_by, item_id in store.rows(sql, project_id, kind):
        cluster = found.setdefault(cluster_id, StoredCluster(cluster_id, canonical_id, chosen_by, ()))
        found[cluster_id] = cluster._replace(members=(*cluster.members, item_id))
    return sorted(found.values(), key=lambda one: (-len(one.members), one.id))
