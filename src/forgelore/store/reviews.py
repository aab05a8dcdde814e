"""Review: the pairs that people look at in `dedupe review`, what joins them already, and what people answered.

Answers are kept for ever. Each person's last answer on a pair stands; "undone" takes it back. What standing answers
mean for edges is read here too:

    same      somebody said same, and nobody said anything else
    reject    as by `dedupe reject`: somebody said related, twin or not. Where somebody else said same, the pair is
              disputed: no edge either, until one of them changes the answer

Somebody who is unsure objects to nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forgelore.records import CandidatePair, HumanDecision
from forgelore.store.database import Store
from forgelore.store.filters import visible, visible_link
from forgelore.store.sqlite.connection import one_of, pack_list

UNDONE = "undone"


def is_outdated(table: str) -> str:
    """Return the condition that a text changed since a person spoke of it, of `overrides` or `reviews`."""
    return " OR ".join(
        f"coalesce({table}.{what}_version <> (SELECT content_version FROM items WHERE id = {table}.{what}_id), FALSE)"
        for what in ("item", "target")
    )


_STANDING = f"""
    SELECT r.item_id, r.target_id, r.answer, r.said_by, r.said_at, r.chance, {is_outdated("r")} AS is_outdated
    FROM reviews r
    WHERE r.project_id = ? AND r.answer <> '{UNDONE}' AND NOT EXISTS (
        SELECT 1
        FROM reviews later
        WHERE later.item_id = r.item_id AND later.target_id = r.target_id AND later.said_by = r.said_by
          AND later.id > r.id
    )
"""


class PairItem(NamedTuple):
    """An item of a pair, without its text. `ended_at`: when it was closed or merged; `reason`: why, as forges say."""

    id: int
    kind: str
    number: int
    title: str
    author: str
    created_at: int | None
    ended_at: int | None
    reason: str


def save_answer(store: Store, project_id: int, said: HumanDecision) -> None:
    """Add an answer. In a transaction."""
    sql = """
        INSERT INTO reviews (project_id, item_id, target_id, answer, said_by, said_at, chance, item_version,
            target_version)
        VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT content_version FROM items WHERE id = ?),
            (SELECT content_version FROM items WHERE id = ?))
    """
    store.run(sql, project_id, *said[:6], said.item_id, said.target_id)


def list_standing(store: Store, project_id: int, kind: str | None = None) -> list[HumanDecision]:
    """Return the standing answers about pairs of items that the viewer may see, of a kind or of all, oldest first."""
    sql = f"""
        SELECT s.*
        FROM ({_STANDING}) s
        JOIN items i ON i.id = s.item_id
        JOIN items t ON t.id = s.target_id
        WHERE i.kind = coalesce(?, i.kind) AND {visible(store, "i")} AND {visible(store, "t")}
        ORDER BY s.said_at, s.item_id, s.target_id
    """
    return [HumanDecision._make(row) for row in store.rows(sql, project_id, kind)]


def find_last_answer(store: Store, project_id: int, said_by: str) -> HumanDecision | None:
    """Return the answer about items that the viewer may see that a person gave last and has not taken back."""
    sql = f"""
        {_STANDING} AND r.said_by = ? AND {_may_see_item(store, "r.item_id")} AND {_may_see_item(store, "r.target_id")}
        ORDER BY r.id DESC
        LIMIT 1
    """
    row = store.row(sql, project_id, said_by)
    return HumanDecision._make(row) if row else None


def _may_see_item(store: Store, column: str) -> str:
    return f"EXISTS (SELECT 1 FROM items i WHERE i.id = {column} AND {visible(store, 'i')})"


def list_review_words(store: Store, project_id: int) -> list[HumanDecision]:
    """Return what the standing answers about each pair say together, same or reject, oldest first."""
    sql = f"""
        SELECT item_id, target_id, CASE WHEN max(answer <> 'same') THEN 'reject' ELSE 'same' END, max(said_by),
            max(said_at), NULL, min(answer = 'same' AND is_outdated)
        FROM ({_STANDING})
        WHERE answer <> 'unsure'
        GROUP BY item_id, target_id
        ORDER BY max(said_at), item_id, target_id
    """
    return [HumanDecision(*row) for row in store.rows(sql, project_id)]


_LABELS = {"same": "duplicate", "related": "related", "twin": "related", "not": "different", "unsure": "unsure"}


def list_review_labels(store: Store, project_id: int) -> dict[tuple[int, int], str]:
    """Return (newer item, older one) -> what the standing answers call the pair, in the words of audits. What people
    disagree about is unsure, which counts for nothing.
    """
    found: dict[tuple[int, int], str] = {}
    disputed: set[tuple[int, int]] = set()
    for one in list_standing(store, project_id):
        pair, label = (one.item_id, one.target_id), _LABELS[one.decision]
        before = found.get(pair, "unsure")
        if "unsure" not in (before, label) and (before == "duplicate") != (label == "duplicate"):
            disputed.add(pair)
        found[pair] = before if label == "unsure" else label
    return found | dict.fromkeys(disputed, "unsure")


def list_candidate_pairs(store: Store, project_id: int, kind: str, *, closed_since: int) -> list[CandidatePair]:
    """Return the candidates of the fresh sets of open items, open ones and those that ended since, public ones alone.
    Of two open items each may have the other.
    """
    sql = """
        SELECT s.item_id, m.item_id, m.strength, m.cosine, m.similarity, m.sameness, s.model
        FROM candidate_sets s
        JOIN items i ON i.id = s.item_id
        JOIN candidate_set_members m ON m.set_id = s.id
        JOIN items t ON t.id = m.item_id
        WHERE s.project_id = ?1 AND i.kind = ?2 AND s.is_fresh AND s.content_version = i.content_version
          AND i.state = 'open' AND i.deleted_at IS NULL AND NOT i.is_confidential
          AND t.deleted_at IS NULL AND NOT t.is_confidential
          AND (t.state = 'open' OR coalesce(t.merged_at, t.closed_at, 0) >= ?3)
    """
    return [CandidatePair(*row) for row in store.rows(sql, project_id, kind, closed_since)]


def list_compared(store: Store, project_id: int, kind: str) -> set[int]:
    """Return the open items of a kind that have a fresh set, whatever its parameters."""
    sql = """
        SELECT s.item_id
        FROM candidate_sets s
        JOIN items i ON i.id = s.item_id
        WHERE s.project_id = ? AND i.kind = ? AND s.is_fresh AND s.content_version = i.content_version
          AND i.state = 'open'
    """
    return {item_id for (item_id,) in store.rows(sql, project_id, kind)}


def load_pair_strength(store: Store, item_id: int, target_id: int) -> tuple[float, str] | None:
    """Return the strength of a pair in the fresh sets of the two, and what it was measured by; None where neither has
    the other.
    """
    sql = """
        SELECT m.strength, s.model
        FROM candidate_sets s
        JOIN candidate_set_members m ON m.set_id = s.id
        WHERE s.is_fresh AND (s.item_id, m.item_id) IN ((?1, ?2), (?2, ?1))
        ORDER BY m.strength DESC
        LIMIT 1
    """
    row = store.row(sql, item_id, target_id)
    return (row[0], row[1]) if row else None


def load_pair_items(store: Store, item_ids: Iterable[int]) -> dict[int, PairItem]:
    """Return what orders and describes the items of pairs."""
    sql = f"""
        SELECT id, kind, number, title, coalesce(author, ''), created_at, coalesce(merged_at, closed_at),
            coalesce(state_reason, '')
        FROM items
        WHERE id {one_of()}
    """
    return {row[0]: PairItem._make(row) for row in store.rows(sql, pack_list(item_ids))}


def list_mentions(store: Store, project_id: int, kind: str) -> list[tuple[int, int, bool]]:
    """Return (item, other, is a duplicate mark) of what items of a kind, their comments or the forge say of others of
    that kind, as far as the viewer may see all three. What was taken back is there as well: somebody has looked at the
    two.
    """
    sql = f"""
        SELECT DISTINCT i.id, t.id, l.relation = 'duplicate_of'
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = l.project_id AND t.number = l.target_number AND t.kind = i.kind
        WHERE l.project_id = ? AND i.kind = ? AND l.target_project = '' AND coalesce(l.target_kind, i.kind) = i.kind
          AND t.id <> i.id AND {visible_link(store)} AND {visible(store, "t")}
    """
    return [(item_id, other, bool(is_mark)) for item_id, other, is_mark in store.rows(sql, project_id, kind)]


def list_closed_by(store: Store, project_id: int) -> list[tuple[int, int]]:
    """Return (change, issue) of the issues that a change closes or would close, as far as the viewer may see both."""
    sql = f"""
        SELECT DISTINCT l.item_id, t.id
        FROM item_links l
        JOIN items t ON t.project_id = l.project_id AND t.number = l.target_number AND t.kind = 'issue'
        WHERE l.project_id = ? AND l.relation = 'closes' AND NOT l.is_withdrawn AND l.target_project = ''
          AND coalesce(l.target_kind, 'issue') = 'issue'
          AND {visible_link(store)} AND {visible(store, "t")}
    """
    return [(change, issue) for change, issue in store.rows(sql, project_id)]
