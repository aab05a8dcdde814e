"""The write journal: every write to a forge, written down before it is sent and completed by its answer.

sent        it was about to be sent; without an answer nobody knows, and the forge has to be asked
done        it happened; `answer` is what the forge said, or what a later look found
failed      it did not happen

It is history: an entry names project, kind and number itself, and stays when the item, the run or the project is
forgotten.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.model import ItemKey
from forgelore.store.db import Store

JournalValue = str | int | float | bool | None | list[str] | list[int]


class NewWrite(NamedTuple):
    """What is about to be sent, to which item, with whose token."""

    run_id: int
    project_id: int
    key: ItemKey
    account: str | None
    step: str
    request: Mapping[str, JournalValue]
    before: Mapping[str, JournalValue]


class JournalEntry(NamedTuple):
    id: int
    run_id: int
    key: ItemKey
    account: str | None
    step: str
    request: Mapping[str, JournalValue]
    before: Mapping[str, JournalValue]
    answer: Mapping[str, JournalValue] | None
    status: str
    sent_at: int
    answered_at: int | None


def keep_every_write(store: Store) -> None:
    """Let each transaction of this connection reach the disk before it counts: a write that was forgotten in a power
    cut would be sent again.
    """
    store.run("PRAGMA synchronous=FULL")


def begin_write(store: Store, new: NewWrite, now_ms: int) -> JournalEntry:
    """Write down what is about to be sent. In a transaction that ends before it is."""
    sql = """
        INSERT INTO write_journal (run_id, project_id, kind, number, account, step, request, before, status, sent_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'sent', ?)
    """
    texts = (json.dumps(dict(new.request)), json.dumps(dict(new.before)))
    place = (new.run_id, new.project_id, new.key.kind, new.key.number)
    entry_id = store.insert(sql, *place, new.account, new.step, *texts, now_ms)
    return JournalEntry(
        entry_id, new.run_id, new.key, new.account, new.step, new.request, new.before, None, "sent", now_ms, None
    )


def end_write(store: Store, entry_id: int, status: str, answer: Mapping[str, JournalValue], now_ms: int) -> None:
    """Write down what came of it. In a transaction."""
    sql = "UPDATE write_journal SET status = ?, answer = ?, answered_at = ? WHERE id = ?"
    store.run(sql, status, json.dumps(dict(answer)), now_ms, entry_id)


def list_writes(store: Store, run_id: int, key: ItemKey | None = None) -> list[JournalEntry]:
    """Return the entries of a run, or of one item in it, in the order in which they were sent."""
    sql = """
        SELECT id, run_id, kind, number, account, step, request, before, answer, status, sent_at, answered_at
        FROM write_journal
        WHERE run_id = ? AND kind = coalesce(?, kind) AND number = coalesce(?, number)
        ORDER BY id
    """
    kind, number = (key.kind, key.number) if key else (None, None)
    return [_as_entry(row) for row in store.rows(sql, run_id, kind, number)]


def load_closed_onto(store: Store, project_id: int) -> dict[int, int]:
    """Return item -> target of every closing of ours that may have happened and was not taken back."""
    sql = """
        SELECT i.id, t.id
        FROM write_journal j
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        JOIN items t ON t.project_id = j.project_id AND t.kind = j.kind
          AND t.number = json_extract(j.request, '$.target')
        WHERE j.project_id = ? AND j.step = 'close' AND j.status IN ('sent', 'done')
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal b
            JOIN dedupe_runs back ON back.id = b.run_id
            WHERE back.of_run = j.run_id AND b.kind = j.kind AND b.number = j.number AND b.step = 'reopen'
              AND b.status = 'done'
          )
        ORDER BY j.id
    """
    return dict(store.rows(sql, project_id))


def _as_entry(row: tuple[object, ...]) -> JournalEntry:
    entry_id, run_id, kind, number, account, step, request, before, answer, *rest = row
    known = json.loads(str(answer)) if answer is not None else None
    texts = (json.loads(str(request)), json.loads(str(before)), known)
    return JournalEntry._make((entry_id, run_id, ItemKey(kind, number), account, step, *texts, *rest))  # type: ignore[arg-type]
