"""Closings: items as plans see them, the lines of plans and applies, days of grace, and the journal of writes.

The journal has every write to a forge, written down before it is sent and completed by its answer:

sent        it was about to be sent; without an answer nobody knows, and the forge has to be asked
done        it happened; `answer` is what the forge said, or what a later look found
failed      it did not happen

It is history: an entry names project, kind and number itself, and stays when the item, the run or the project is
forgotten.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from forgelore.records import EdgeJudge, GracePeriod, PlannedClosing
from forgelore.store.database import Store
from forgelore.store.filters import visible
from forgelore.store.sqlite.connection import json_field, json_list, one_of, pack_list
from forgelore.text.items import MARKER
from forgelore.words import ItemKey


class PlanItem(NamedTuple):
    """Columns of an item that decide about its closing. `is_marked`: the forge calls it somebody's duplicate.
    `newest_comment`: the forge's id of it; None where no comment is stored. `people`: who commented, its author aside.
    """

    id: int
    kind: str
    number: int
    title: str
    body: str | None
    url: str | None
    state: str | None
    author: str | None
    assignees: tuple[str, ...]
    created_at: int | None
    updated_at: int | None
    content_hash: str
    comment_count: int | None
    review_comment_count: int | None
    newest_comment: int | None
    is_marked: bool
    is_confidential: bool
    head_sha: str | None
    people: int
    labels: tuple[str, ...]
    milestone: str | None
    is_locked: bool


def load_plan_items(store: Store, item_ids: Iterable[int]) -> dict[int, PlanItem]:
    """Return id -> item, of those that are live. What people only wrote ("duplicate of #5") marks nothing here."""
    sql = f"""
        SELECT i.id, i.kind, i.number, i.title, i.body, i.url, i.state, i.author, i.assignees, i.created_at,
          i.updated_at, i.content_hash, i.comment_count, i.review_comment_count,
          (SELECT max(CAST(ltrim(n.key, 'c') AS INTEGER)) FROM notes n WHERE n.item_id = i.id AND NOT n.is_system),
          coalesce(i.state_reason, '') = 'duplicate' OR EXISTS (
            SELECT 1
            FROM item_links l
            WHERE l.item_id = i.id AND l.relation = 'duplicate_of' AND l.source <> 'text' AND NOT l.is_withdrawn
          ),
          i.is_confidential, i.head_sha,
          (
            SELECT count(DISTINCT lower(n.author))
            FROM notes n
            WHERE n.item_id = i.id AND NOT n.is_system AND lower(n.author) <> lower(coalesce(i.author, ''))
          ),
          (SELECT {json_list("name")} FROM item_labels WHERE item_id = i.id), i.milestone, i.is_locked
        FROM items i
        WHERE i.id {one_of()} AND i.deleted_at IS NULL
    """
    found = {}
    for row in store.rows(sql, pack_list(sorted(set(item_ids)))):
        item = PlanItem._make(row)
        names = tuple(json.loads(str(item.assignees)))
        labels = tuple(json.loads(str(item.labels)))
        is_marked, is_confidential = bool(item.is_marked), bool(item.is_confidential)
        found[item.id] = item._replace(
            assignees=names, is_marked=is_marked, is_confidential=is_confidential, labels=labels,
            is_locked=bool(item.is_locked),
        )  # fmt: skip
    return found


def list_announced(store: Store, project_id: int, label: str, begin: str) -> list[ItemKey]:
    """Return the open issues and changes that have a label, or a comment that begins with a text (the bot's with its
    marker before it) and is not marked as ended; oldest first.
    """
    sql = """
        SELECT i.kind, i.number
        FROM items i
        WHERE i.project_id = ? AND i.state = 'open' AND i.deleted_at IS NULL AND i.kind IN ('issue', 'change')
          AND (
            EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = i.id AND l.name = ?)
            OR EXISTS (
              SELECT 1
              FROM notes n
              WHERE n.item_id = i.id AND NOT n.is_system AND instr(substr(n.body, 1, ?), ?) IN (1, ?, ?)
                AND instr(n.body, '"is_ended":true') = 0
            )
          )
        ORDER BY i.number
    """
    behind = len(MARKER) + 2  # and one more where lines end in two characters
    return [ItemKey(*row) for row in store.rows(sql, project_id, label, behind + len(begin), begin, behind, behind + 1)]


def load_roles(store: Store, project_id: int) -> dict[str, str]:
    """Return login in lower case -> role, as the forge listed a project's people; empty where it refused."""
    rows = store.rows("SELECT lower(login), role FROM members WHERE project_id = ?", project_id)
    return dict(rows)


def load_associations(store: Store, project_id: int, logins: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return login in lower case -> what the forge said beside their items and comments (GitHub's association)."""
    sql = f"""
        SELECT lower(i.author), i.author_role
        FROM items i
        WHERE i.project_id = ?1 AND i.author_role NOTNULL AND lower(i.author) {one_of(2)}
        UNION
        SELECT lower(n.author), n.author_role
        FROM notes n
        JOIN items i ON i.id = n.item_id
        WHERE i.project_id = ?1 AND n.author_role NOTNULL AND lower(n.author) {one_of(2)}
    """
    names = pack_list(sorted({login.lower() for login in logins}))
    found: dict[str, frozenset[str]] = {}
    for login, role in store.rows(sql, project_id, names):
        found[login] = found.get(login, frozenset()) | {role}
    return found


def save_closings(store: Store, run_id: int, lines: Iterable[PlannedClosing]) -> None:
    """Keep lines of a run; one of the same item is replaced. In a transaction."""
    fields = PlannedClosing._fields
    sql = f"""
        INSERT INTO planned_closings (run_id, {", ".join(fields)})
        VALUES (?, {", ".join("?" * len(fields))})
        ON CONFLICT (run_id, item_id) DO UPDATE
        SET {", ".join(f"{name} = excluded.{name}" for name in fields[1:])}
    """
    store.run_many(sql, [(run_id, *line) for line in lines])


def list_closings(store: Store, run_id: int) -> list[PlannedClosing]:
    """Return the lines of a run, by the numbers of their items."""
    sql = f"""
        SELECT {", ".join(f"p.{name}" for name in PlannedClosing._fields)}
        FROM planned_closings p
        JOIN items i ON i.id = p.item_id
        WHERE p.run_id = ?
        ORDER BY i.kind, i.number
    """
    return [PlannedClosing._make(row) for row in store.rows(sql, run_id)]


def list_reopened(store: Store, project_id: int) -> set[int]:
    """Return the open items that somebody reopened, as the forge's lists say, or as an earlier apply found out."""
    sql = """
        SELECT i.id
        FROM items i
        WHERE i.project_id = ?1 AND i.state = 'open' AND i.state_reason = 'reopened'
        UNION
        SELECT p.item_id
        FROM planned_closings p
        JOIN dedupe_runs r ON r.id = p.run_id
        WHERE r.project_id = ?1 AND r.step = 'apply' AND p.reason = 'reopened_since_plan'
    """
    return {item_id for (item_id,) in store.rows(sql, project_id)}


def list_linked(store: Store, project_id: int) -> set[tuple[int, int]]:
    """Return (item, related item) of the comments that `dedupe link` posted, also of those that were taken back."""
    sql = """
        SELECT j.request
        FROM write_journal j
        JOIN dedupe_runs r ON r.id = j.run_id
        WHERE j.project_id = ? AND r.step = 'link' AND j.step = 'comment' AND j.status = 'done'
    """
    requests = [json.loads(text) for (text,) in store.rows(sql, project_id)]
    return {(one["item"], target) for one in requests for target in one["targets"]}


def find_unfinished_run(store: Store, project_id: int, step: str) -> int | None:
    """Return the newest run of a step that was stopped, killed or has a write without an answer; None without one."""
    sql = "SELECT max(id) FROM dedupe_runs WHERE project_id = ? AND step = ? AND status <> 'done'"
    found: int | None = store.value(sql, project_id, step)
    return found


def find_run_of(store: Store, run_id: int, step: str) -> int | None:
    """Return the run that carries out a plan, or takes back an apply; None when there is none yet."""
    sql = "SELECT max(id) FROM dedupe_runs WHERE of_run = ? AND step = ?"
    found: int | None = store.value(sql, run_id, step)
    return found


def list_judges(store: Store, item_ids: Iterable[int]) -> list[EdgeJudge]:
    """Return who made the current accepted decisions about these items."""
    sql = f"""
        SELECT d.judge, d.model, i.kind, min(coalesce({json_field("r.parameters", "min_edge")}, 0.0)),
          min(coalesce({json_field("r.parameters", "min_gap")}, 0.0))
        FROM decisions d
        JOIN items i ON i.id = d.item_id
        LEFT JOIN dedupe_runs r ON r.id = d.run_id
        WHERE d.item_id {one_of()} AND d.is_current AND d.outcome = 'accepted'
          AND d.policy = 'batch'
        GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3
    """
    return [EdgeJudge._make(row) for row in store.rows(sql, pack_list(sorted(item_ids)))]


def list_graces(store: Store, project_id: int) -> list[GracePeriod]:
    """Return the grace periods of a project that were neither taken back nor ended by a closing, oldest first."""
    sql = f"""
        SELECT i.id, j.run_id, coalesce(p.action, 'wait'), coalesce(p.reason, ''), r.ended_at
        FROM write_journal j
        JOIN dedupe_runs r ON r.id = j.run_id
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        LEFT JOIN planned_closings p ON p.run_id = j.run_id AND p.item_id = i.id
        WHERE j.project_id = ? AND j.step IN ('label', 'comment') AND j.status IN ('sent', 'done')
          AND {json_field("r.parameters", "close_after")} > 0
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal c
            WHERE c.run_id = j.run_id AND c.kind = j.kind AND c.number = j.number AND c.step = 'close'
              AND c.status IN ('sent', 'done')
          )
          AND NOT EXISTS (
            SELECT 1
            FROM write_journal b
            JOIN dedupe_runs back ON back.id = b.run_id
            WHERE back.of_run = j.run_id AND b.kind = j.kind AND b.number = j.number AND b.status = 'done'
          )
        GROUP BY i.id, j.run_id, p.action, p.reason, r.ended_at
        ORDER BY j.run_id, i.id
    """
    return [GracePeriod._make(row) for row in store.rows(sql, project_id)]


class AnnouncedClosing(NamedTuple):
    """An item that will be closed onto another, by a plan, once its grace period is over. Times are milliseconds."""

    kind: str
    number: int
    title: str
    url: str | None
    target: int
    plan: int
    announced_at: int
    closes_at: int


def list_announced_closings(store: Store, project_id: int) -> list[AnnouncedClosing]:
    """Return the closings in their grace period that the viewer may see, the next one first."""
    waiting = {(one.item_id, one.run_id) for one in list_graces(store, project_id) if one.action == "wait"}
    sql = f"""
        SELECT i.id, i.kind, i.number, i.title, i.url, t.number, r.of_run, min(j.sent_at),
          min(j.sent_at) + 3600000 * {json_field("r.parameters", "close_after")}, j.run_id
        FROM write_journal j
        JOIN dedupe_runs r ON r.id = j.run_id
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        JOIN planned_closings p ON p.run_id = r.of_run AND p.item_id = i.id
        JOIN items t ON t.id = p.target_id
        WHERE j.project_id = ? AND j.step IN ('label', 'comment') AND i.state = 'open' AND i.deleted_at IS NULL
          AND {visible(store, "i")} AND {visible(store, "t")}
        GROUP BY i.id, j.run_id
        ORDER BY 9, i.id
    """
    rows = store.rows(sql, project_id)
    return [AnnouncedClosing._make(row[1:-1]) for row in rows if (row[0], row[-1]) in waiting]


JournalValue = str | int | float | bool | None | list[str] | list[int]


class JournalEntry(NamedTuple):
    """A write to a forge: what is asked of which item, with whose token, what a rollback restores, and what came of it.
    `id` 0: it is not written down yet.
    """

    run_id: int
    project_id: int
    key: ItemKey
    account: str | None
    step: str
    request: Mapping[str, JournalValue]
    before: Mapping[str, JournalValue]
    answer: Mapping[str, JournalValue] | None = None
    status: str = "sent"
    sent_at: int = 0
    answered_at: int | None = None
    id: int = 0


def load_store_id(store: Store) -> str:
    """Return what tells this store from others."""
    return str(store.value("SELECT min(id) FROM store_ids"))


def keep_every_write(store: Store) -> None:
    """Let each transaction of this connection reach the disk before it counts: a write that was forgotten in a power
    cut would be sent again.
    """
    store.commit_durably()


def begin_write(store: Store, write: JournalEntry, now_ms: int) -> JournalEntry:
    """Write down what is about to be sent. In a transaction that ends before it is."""
    sql = """
        INSERT INTO write_journal (run_id, project_id, kind, number, account, step, request, before, status, sent_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
    texts = (json.dumps(dict(write.request)), json.dumps(dict(write.before)))
    place = (write.run_id, write.project_id, write.key.kind, write.key.number, write.account, write.step)
    return write._replace(id=store.insert(sql, *place, *texts, write.status, now_ms), sent_at=now_ms)


def end_write(store: Store, entry_id: int, status: str, answer: Mapping[str, JournalValue], now_ms: int) -> None:
    """Write down what came of it. In a transaction."""
    sql = "UPDATE write_journal SET status = ?, answer = ?, answered_at = ? WHERE id = ?"
    store.run(sql, status, json.dumps(dict(answer)), now_ms, entry_id)


def list_writes(store: Store, run_id: int, key: ItemKey | None = None) -> list[JournalEntry]:
    """Return the entries of a run, or of one item in it, in the order in which they were sent."""
    sql = """
        SELECT run_id, project_id, kind, number, account, step, request, before, answer, status, sent_at, answered_at,
            id
        FROM write_journal
        WHERE run_id = ? AND kind = coalesce(?, kind) AND number = coalesce(?, number)
        ORDER BY id
    """
    kind, number = (key.kind, key.number) if key else (None, None)
    return [_as_entry(row) for row in store.rows(sql, run_id, kind, number)]


def load_closed_onto(store: Store, project_id: int) -> dict[int, int]:
    """Return item -> target of every closing of ours that may have happened and was not taken back."""
    return {item_id: target_id for item_id, target_id, _ in _list_closed(store, project_id)}


def load_closed_pair(store: Store, entry_id: int) -> tuple[int, int] | None:
    """Return the item of a closing and the one that it was closed onto; None where either is gone."""
    sql = f"""
        SELECT i.id, t.id
        FROM write_journal j
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        JOIN items t ON t.project_id = j.project_id AND t.kind = j.kind
          AND t.number = {json_field("j.request", "target")}
        WHERE j.id = ?
    """
    return store.row(sql, entry_id)


def list_unseen_closings(store: Store, project_id: int) -> set[int]:
    """Return the items that we closed, and that no sync has looked at since."""
    return {item_id for item_id, _, is_unseen in _list_closed(store, project_id) if is_unseen}


def _list_closed(store: Store, project_id: int) -> list[tuple[int, int, bool]]:
    sql = f"""
        SELECT i.id, t.id, i.state = 'open' AND i.updated_at <= {json_field("j.answer", "closed_at")}
        FROM write_journal j
        JOIN items i ON i.project_id = j.project_id AND i.kind = j.kind AND i.number = j.number
        JOIN items t ON t.project_id = j.project_id AND t.kind = j.kind
          AND t.number = {json_field("j.request", "target")}
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
    return store.rows(sql, project_id)


def _as_entry(row: tuple[object, ...]) -> JournalEntry:
    run_id, project_id, kind, number, account, step, *texts, status, sent_at, answered_at, entry_id = row
    request, before, answer = (json.loads(str(text)) if text is not None else None for text in texts)
    key = ItemKey(kind, number)  # type: ignore[arg-type]
    return JournalEntry._make(
        (run_id, project_id, key, account, step, request, before, answer, status, sent_at, answered_at, entry_id)
    )
