"""The write journal: every write to a forge, written down before it is sent and completed by its answer.

sent        it was about to be sent; without an answer nobody knows, and the forge has to be asked
done        it happened; `answer` is what the forge said, or what a later look found
failed      it did not happen
not_needed  what it would have done was so already
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.store.db import Store

JournalValue = str | int | float | bool | None | list[str] | list[int]


class JournalEntry(NamedTuple):
    id: int
    run_id: int
    item_id: int
    step: str
    request: dict[str, JournalValue]
    before: dict[str, JournalValue]
    answer: dict[str, JournalValue] | None
    status: str
    sent_at: int
    answered_at: int | None


def keep_every_write(store: Store) -> None:
    """Let each transaction of this connection reach the disk before it counts: a write that was forgotten in a power
    cut would be sent again.
    """
    store.run("PRAGMA synchronous=FULL")


def begin_write(
    store: Store,
    run_id: int,
    item_id: int,
    step: str,
    request: Mapping[str, JournalValue],
    before: Mapping[str, JournalValue],
    now_ms: int,
) -> int:
    """Write down what is about to be sent. In a transaction that ends before it is."""
    sql = """
        INSERT INTO write_journal (run_id, item_id, step, request, before, status, sent_at)
        VALUES (?, ?, ?, ?, ?, 'sent', ?)
    """
    return store.insert(sql, run_id, item_id, step, json.dumps(dict(request)), json.dumps(dict(before)), now_ms)


def end_write(store: Store, entry_id: int, status: str, answer: Mapping[str, JournalValue], now_ms: int) -> None:
    """Write down what came of it. In a transaction."""
    sql = "UPDATE write_journal SET status = ?, answer = ?, answered_at = ? WHERE id = ?"
    store.run(sql, status, json.dumps(dict(answer)), now_ms, entry_id)


def list_writes(store: Store, run_id: int, item_id: int | None = None) -> list[JournalEntry]:
    """Return the entries of a run, or of one item in it, in the order in which they were sent."""
    sql = f"""
        SELECT {", ".join(JournalEntry._fields)}
        FROM write_journal
        WHERE run_id = ? AND item_id = coalesce(?, item_id)
        ORDER BY id
    """
    return [_as_entry(row) for row in store.rows(sql, run_id, item_id)]


def load_closed_onto(store: Store, project_id: int) -> dict[int, int]:
    """Return item -> target of every closing of ours that may have happened and was not taken back."""
    sql = """
        SELECT j.item_id, json_extract(j.request, '$.target_id')
        FROM write_journal j
        JOIN dedupe_runs r ON r.id = j.run_id
        WHERE r.project_id = ? AND j.step = 'close' AND j.status IN ('sent', 'done')
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal b
            JOIN dedupe_runs back ON back.id = b.run_id
            WHERE back.of_run = r.id AND b.item_id = j.item_id AND b.step = 'reopen' AND b.status = 'done'
          )
        ORDER BY j.id
    """
    return dict(store.rows(sql, project_id))


def _as_entry(row: tuple[object, ...]) -> JournalEntry:
    entry = JournalEntry._make(row)
    answer = json.loads(str(entry.answer)) if entry.answer is not None else None
    return entry._replace(request=json.loads(str(entry.request)), before=json.loads(str(entry.before)), answer=answer)
