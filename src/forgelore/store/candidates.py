"""Candidate sets: the frozen lists of what an item could repeat, with the numbers each candidate had then.

A set is fresh while it is the newest of its source and the source says what it said: there is no write to forget when
an item is edited, because freshness compares content versions.

Clusters as they are kept: which item belongs to which, and the canonical of each. A rerun replaces them all.

Intent cards: what each was made from, by whom, and what it says. Its text becomes a document of its item.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from forgelore.records import JudgedItem
from forgelore.store.database import Store
from forgelore.store.jobs import queue_documents
from forgelore.store.sqlite.connection import json_list, one_of, pack_list

_FRESH = "s.is_fresh AND s.content_version = i.content_version"


class Candidate(NamedTuple):
    """A candidate of a set. `is_offered` False: it is shown beside the others, but not to a judge. The last three
    are for people, and are not kept: they say which item that is.
    """

    rank: int
    item_id: int
    content_version: int
    state: str
    is_offered: bool
    cosine: float | None
    strength: float
    similarity: float
    chance: float | None
    sameness: str
    marks: tuple[str, ...] = ()
    features: Mapping[str, float] = MappingProxyType({})  # the numbers of the pair that are not 0
    number: int = 0
    title: str = ""
    url: str = ""

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name in ("item_id", "content_version", "features") else name


class CandidateSet(NamedTuple):
    """What an item could repeat, and by which parameters that was found. `id` 0: it is not stored yet. `is_fresh`: it
    is the newest of its source, which has not changed since. `has_vector` False: the source's text was embedded for the
    occasion, or compared by words alone; that is not kept.
    """

    project_id: int
    item_id: int
    content_version: int
    representation: str
    model: str
    k: int
    min_score: float
    states: str
    made_at: int = 0
    is_fresh: bool = True
    id: int = 0
    members: tuple[Candidate, ...] = ()
    has_vector: bool = True


_SET = CandidateSet._fields[:8]
_MEMBER = Candidate._fields[:12]


def list_sources(store: Store, project_id: int, kind: str, *, states: Sequence[str] | None = ("open",)) -> list[int]:
    """Return the live public items of a kind in one of the states (None: in any), by number."""
    wanted = "" if states is None else f"AND state {one_of()}"
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL AND NOT is_confidential {wanted}
        ORDER BY number
    """
    given = () if states is None else (pack_list(states),)
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, *given)]


def load_versions(store: Store, item_ids: Iterable[int]) -> dict[int, tuple[int, str]]:
    """Return the content version and the state of live public items."""
    sql = f"""
        SELECT id, content_version, coalesce(state, '')
        FROM items
        WHERE id {one_of()} AND deleted_at IS NULL AND NOT is_confidential
    """
    return {item_id: (version, state) for item_id, version, state in store.rows(sql, pack_list(item_ids))}


def list_settled(store: Store, project_id: int, kind: str, new: CandidateSet) -> set[int]:
    """Return the sources with a fresh set of the same parameters as `new` (its item aside). A set that cards chose is
    older than it should be when the card of its source is younger.
    """
    sql = f"""
        SELECT s.item_id
        FROM candidate_sets s
        JOIN items i ON i.id = s.item_id
        WHERE s.project_id = ? AND i.kind = ? AND {_FRESH}
          AND s.representation = ? AND s.model = ? AND s.k = ? AND s.min_score = ? AND s.states = ?
          AND NOT EXISTS (
            SELECT 1
            FROM intent_cards c
            WHERE s.representation = 'intent' AND c.item_id = s.item_id AND c.made_at > s.made_at
          )
    """
    given = (new.representation, new.model, new.k, new.min_score, new.states)
    return {item_id for (item_id,) in store.rows(sql, project_id, kind, *given)}


def save_set(store: Store, new: CandidateSet, now_ms: int) -> tuple[int, int]:
    """Keep a set, the earlier ones of its source become stale. Returns its id and how many did. In a transaction."""
    stale = store.run("UPDATE candidate_sets SET is_fresh = FALSE WHERE item_id = ? AND is_fresh", new.item_id)
    sql = f"INSERT INTO candidate_sets ({', '.join(_SET)}, made_at) VALUES ({', '.join('?' * len(_SET))}, ?)"
    set_id = store.insert(sql, *new[: len(_SET)], now_ms)
    store.run_many(
        f"""
        INSERT INTO candidate_set_members (set_id, {", ".join(_MEMBER)})
        VALUES (?, {", ".join("?" * len(_MEMBER))})
        """,
        [(set_id, *one[:10], json.dumps(one.marks), json.dumps(dict(one.features))) for one in new.members],
    )
    return set_id, stale


def load_set(store: Store, set_id: int | None) -> CandidateSet | None:
    """Return one set with its members; None where it is gone."""
    found = _load(store, "s.id = ?", set_id)
    return next(found, None)


def each_latest_set(
    store: Store, project_id: int, kind: str, *, representations: Sequence[str] | None = None,
    allows_stale: bool = False,
) -> Iterator[CandidateSet]:  # fmt: skip
    """Yield the newest set of each open source of a kind, by number; stale ones only where that is asked for.
    `representations`: only sets that were made by one of these.
    """
    fresh = "TRUE" if allows_stale else _FRESH
    named = "" if representations is None else f"AND s.representation {one_of()}"
    given = () if representations is None else (pack_list(representations),)
    condition = f"""
        s.project_id = ? AND i.kind = ? AND i.state = 'open' AND i.deleted_at IS NULL AND {fresh} {named}
          AND s.id = (
              SELECT max(id)
              FROM candidate_sets
              WHERE item_id = s.item_id)
    """
    return _load(store, condition, project_id, kind, *given)


def _load(store: Store, condition: str, *bindings: object) -> Iterator[CandidateSet]:
    sql = f"""
        SELECT {", ".join(f"s.{name}" for name in _SET)}, s.made_at, {_FRESH}, s.id
        FROM candidate_sets s
        JOIN items i ON i.id = s.item_id
        WHERE {condition}
        ORDER BY i.number
    """
    for *columns, is_fresh, set_id in store.rows(sql, *bindings):
        yield CandidateSet._make((*columns, bool(is_fresh), set_id, _load_members(store, set_id), True))


def _load_members(store: Store, set_id: int) -> tuple[Candidate, ...]:
    sql = f"SELECT {', '.join(_MEMBER)} FROM candidate_set_members WHERE set_id = ? ORDER BY rank"
    return tuple(
        Candidate._make(
            (*row[:4], bool(row[4]), *row[5:10], tuple(json.loads(row[10])), json.loads(row[11]), 0, "", "")
        )
        for row in store.rows(sql, set_id)
    )


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


_WITHIN = one_of()


class CardOrigin(NamedTuple):
    """What a card was made from and by. Where nothing of it changed and its status is ok, it is not made again."""

    source_hash: str
    schema_version: int
    prompt_version: str
    model: str
    status: str


def load_card_sources(store: Store, item_ids: Iterable[int]) -> dict[int, JudgedItem]:
    """Return what the cards of live public items are made from; of a change with the paths of all its files."""
    sql = f"""
        SELECT i.id, i.number, i.kind, i.title, coalesce(i.body, ''), coalesce(i.state, ''), (
            SELECT {json_list("new_path")}
            FROM item_files
            WHERE item_id = i.id)
        FROM items i
        WHERE i.id {_WITHIN} AND i.deleted_at IS NULL AND NOT i.is_confidential
    """
    return {
        item_id: JudgedItem(item_id, *columns)._replace(files=tuple(sorted(json.loads(paths))))
        for item_id, *columns, paths in store.rows(sql, pack_list(item_ids))
    }


def load_origins(store: Store, item_ids: Iterable[int]) -> dict[int, CardOrigin]:
    """Return item -> what its card was made from; items without one are missing."""
    names = ", ".join(CardOrigin._fields)
    sql = f"SELECT item_id, {names} FROM intent_cards WHERE item_id {_WITHIN}"
    return {row[0]: CardOrigin._make(row[1:]) for row in store.rows(sql, pack_list(item_ids))}


def save_card(
    store: Store, project_id: int, item_id: int, origin: CardOrigin, card: str, text: str, now_ms: int, *,
    error: str = "",
) -> None:  # fmt: skip
    """Keep a card in place of the item's earlier one, and queue its documents. In a transaction. `error`: why a model
    failed to write it; the status is then fallback, and rules made it.
    """
    names = ("item_id", "project_id", *CardOrigin._fields, "error", "card", "text", "made_at")
    sql = f"""
        INSERT INTO intent_cards ({", ".join(names)})
        VALUES ({", ".join("?" * len(names))})
        ON CONFLICT (item_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in names)}
    """
    if error:
        origin = origin._replace(status="fallback")
    store.run(sql, item_id, project_id, *origin, error, card, text, now_ms)
    queue_documents(store, project_id, [item_id])


def drop_cards(store: Store, item_ids: Iterable[int]) -> int:
    """Delete the cards of items; returns how many there were. Their documents go when the items are indexed again."""
    return store.run(f"DELETE FROM intent_cards WHERE item_id {_WITHIN}", pack_list(item_ids))


def load_card_texts(store: Store, item_ids: Iterable[int]) -> dict[int, str]:
    """Return item -> the text of its card; items without one are missing."""
    sql = f"SELECT item_id, text FROM intent_cards WHERE item_id {_WITHIN}"
    return dict(store.rows(sql, pack_list(item_ids)))


def load_card_document(store: Store, item_id: int) -> tuple[int, str, str] | None:
    """Return document, title and text of an item's searchable card; None while it has none."""
    sql = """
        SELECT d.id, t.title, t.text
        FROM documents d
        JOIN document_texts t ON t.id = d.id
        WHERE d.item_id = ? AND d.representation = 'intent'
    """
    return store.row(sql, item_id)


def has_cards(store: Store, project_id: int) -> bool:
    """Whether a project has any."""
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM intent_cards WHERE project_id = ?)", project_id))


def each_card(store: Store) -> Iterator[tuple[int, str, str]]:
    """Yield (item, card, text) of every card, as it is kept."""
    return ((row[0], row[1], row[2]) for row in store.each("SELECT item_id, card, text FROM intent_cards"))
