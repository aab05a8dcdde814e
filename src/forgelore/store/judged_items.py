"""Judged items: what a judge and its gates read of items, and what people have said of pairs."""

import json
from collections.abc import Iterable

from forgelore.core.dedupe.question import JudgedItem
from forgelore.store.db import Store

_MOST_FILES = 30  # that a judge is told of a change


def load_judged(store: Store, item_ids: Iterable[int]) -> dict[int, JudgedItem]:
    """Return live public items. Marked is what the forge itself calls a duplicate, not what somebody wrote."""
    sql = """
        SELECT i.id, i.number, i.kind, i.title, coalesce(i.body, ''), coalesce(i.state, ''),
            coalesce(i.state_reason, '') = 'duplicate' OR EXISTS (
                SELECT 1
                FROM item_links l
                WHERE l.item_id = i.id AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.source <> 'text'
            ),
            (SELECT json_group_array(name) FROM item_labels WHERE item_id = i.id), coalesce(i.url, ''),
            (SELECT json_group_array(new_path) FROM (SELECT new_path FROM item_files WHERE item_id = i.id LIMIT ?))
        FROM items i
        WHERE i.id IN (SELECT value FROM json_each(?)) AND i.deleted_at IS NULL AND NOT i.is_confidential
    """
    rows = store.rows(sql, _MOST_FILES, json.dumps(list(item_ids)))
    return {
        row[0]: JudgedItem._make(
            (*row[:6], bool(row[6]), tuple(json.loads(row[7])), row[8], tuple(json.loads(row[9])), "", "")
        )
        for row in rows
    }


def load_said_targets(store: Store, item_id: int) -> set[int]:
    """Return the items of the same kind that an item was said to repeat: by the forge's own mark, or in a comment of
    somebody with the right to write, as far as the forge tells who has it.
    """
    sql = """
        SELECT t.id
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = i.project_id AND t.number = l.target_number AND t.kind = i.kind AND t.id <> i.id
        LEFT JOIN notes n ON n.id = l.note_id
        WHERE i.id = ? AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.target_project = ''
          AND coalesce(l.target_kind, i.kind) = i.kind AND t.deleted_at IS NULL
          AND (l.source <> 'text' OR n.author_role IN ('OWNER', 'MEMBER', 'COLLABORATOR'))
    """
    return {target_id for (target_id,) in store.rows(sql, item_id)}


def load_refused_pairs(store: Store, project_id: int) -> set[frozenset[int]]:
    """Return the pairs of which a person has said that they are no duplicates, whichever was named first."""
    sql = "SELECT item_id, target_id FROM overrides WHERE project_id = ? AND action = 'reject'"
    return {frozenset(pair) for pair in store.rows(sql, project_id)}
