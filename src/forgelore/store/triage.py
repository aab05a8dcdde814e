"""Triage reports, labels that may be suggested, and how the bot's index forgets for good."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from forgelore.model import ItemKey, Kind
from forgelore.records import OutcomeTally
from forgelore.store.database import Store
from forgelore.store.documents import remove_documents
from forgelore.store.items import load_ids
from forgelore.store.sqlite.connection import one_of, pack_list
from forgelore.store.sqlite.fulltext import compact_words, forget_common_words, overwrite_words, refresh_common_words
from forgelore.store.sqlite.schema import overwrite_deleted, vacuum


class StoredReport(NamedTuple):
    """The report of the last look at an item. `shown`: numbers of the items that its comment names."""

    looked_at: int
    content_hash: str
    outcome: str
    first_number: int | None = None
    similarity: float | None = None
    comment_url: str | None = None
    shown: tuple[int, ...] = ()
    version: str = ""  # of the program that looked


def load_report(store: Store, item_id: int) -> StoredReport | None:
    row = store.row(f"SELECT {', '.join(StoredReport._fields)} FROM triage_reports WHERE item_id = ?", item_id)
    if row is None:
        return None
    *rest, shown, version = row
    return StoredReport._make((*rest, _parse_numbers(shown), version))


def _parse_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, text.split(","))))


def _write_numbers(numbers: Collection[int]) -> str:
    """(12, 34) -> ",12,34,": a number is found by LIKE '%,12,%'."""
    return f",{','.join(map(str, numbers))}," if numbers else ""


def save_report(store: Store, project_id: int, item_id: int, report: StoredReport) -> None:
    names = StoredReport._fields
    marks = ", ".join("?" * (2 + len(names)))
    sql = f"""
        INSERT INTO triage_reports (item_id, project_id, {", ".join(names)})
        VALUES ({marks})
        ON CONFLICT (item_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in names)}
    """
    *rest, shown, version = report
    store.run(sql, item_id, project_id, *rest, _write_numbers(shown), version)


class PendingReport(NamedTuple):
    """A report of which nobody knows yet what came of it, with its item as it is now."""

    item_id: int
    kind: Kind
    number: int
    state: str | None
    author: str | None
    outcome: str
    is_commented: bool
    shown: tuple[int, ...]

    @property
    def key(self) -> ItemKey:
        return ItemKey(self.kind, self.number)


def load_pending_reports(
    store: Store, project_id: int, *, checked_before: int, looked_after: int, limit: int, suggests: bool = False
) -> list[PendingReport]:
    """Return reports whose items have ended, then open ones with a comment that is young, or with a warning where those
    are suggestions (`suggests`), those asked longest ago first. Of an item that was opened again nobody knows any more.
    """
    reopened = """
        UPDATE triage_reports
        SET came_of = NULL
        WHERE project_id = ? AND came_of NOTNULL AND rejected = ''
          AND item_id IN (SELECT id FROM items WHERE state = 'open')
    """
    store.run(reopened, project_id)
    sql = """
        SELECT r.item_id, i.kind, i.number, i.state, i.author, r.outcome, r.comment_url NOTNULL, r.shown
        FROM triage_reports r
        JOIN items i ON i.id = r.item_id
        WHERE r.project_id = ? AND r.came_of IS NULL AND i.deleted_at IS NULL
          AND (i.state <> 'open'
            OR ((r.comment_url NOTNULL OR (? AND r.outcome = 'duplicate'))
              AND coalesce(r.checked_at, 0) < ? AND r.looked_at >= ?))
        ORDER BY i.state = 'open', coalesce(r.checked_at, 0), r.looked_at DESC
        LIMIT ?
    """
    rows = store.rows(sql, project_id, suggests, checked_before, looked_after, limit)
    return [PendingReport._make((*row[:6], bool(row[6]), _parse_numbers(row[7]))) for row in rows]


def save_outcome(
    store: Store, item_id: int, came_of: str | None, *, now_ms: int, rejected: Collection[int] = ()
) -> None:
    """Save what came of a report; None where nobody has decided. `rejected` is not named there again."""
    sql = """
        UPDATE triage_reports
        SET came_of = ?, checked_at = ?, rejected = ?
        WHERE item_id = ?
    """
    numbers = _write_numbers(dict.fromkeys([*load_rejected(store, item_id), *rejected]))
    store.run(sql, came_of, now_ms, numbers, item_id)


EVERYTHING = 0  # no item has this number: where it is rejected, nothing is named at all


def reject(store: Store, project_id: int, item_id: int, numbers: Collection[int]) -> None:
    """Never name these items below an item again; no report needs to have been made of it."""
    known = load_rejected(store, item_id)
    sql = """
        INSERT INTO triage_reports (item_id, project_id, looked_at, content_hash, outcome, rejected)
        VALUES (?, ?, 0, '', 'silent', ?)
        ON CONFLICT (item_id) DO UPDATE SET rejected = excluded.rejected
    """
    store.run(sql, item_id, project_id, _write_numbers(dict.fromkeys([*known, *numbers])))


def forget_rejected(store: Store, item_id: int) -> None:
    store.run("UPDATE triage_reports SET rejected = '' WHERE item_id = ?", item_id)


def load_rejected(store: Store, item_id: int) -> tuple[int, ...]:
    """Return the numbers of what people did not want to see named below an item."""
    return _parse_numbers(store.value("SELECT rejected FROM triage_reports WHERE item_id = ?", item_id) or "")


_TALLY = """
    count(*), count(comment_url), count(*) FILTER (WHERE came_of = 'success'),
    count(*) FILTER (WHERE came_of = 'assist'), count(*) FILTER (WHERE came_of = 'noise'),
    count(*) FILTER (WHERE came_of = 'missed'), count(*) FILTER (WHERE came_of IS NULL AND comment_url NOTNULL)
"""


def tally_outcomes(store: Store, project_id: int) -> tuple[OutcomeTally, ...]:
    """Return the outcomes of each version, the newest first."""
    sql = f"""
        SELECT version, {_TALLY}
        FROM triage_reports
        WHERE project_id = ?
        GROUP BY version
        ORDER BY max(looked_at) DESC
    """
    return tuple(OutcomeTally._make(row) for row in store.rows(sql, project_id))


def tally_filed(store: Store, project_id: int, since_ms: int, until_ms: int) -> OutcomeTally | None:
    """Return the outcomes of what was filed in a period, of all versions; None where the bot looked at none of it, as
    in a database that is not the bot's own.
    """
    sql = f"""
        SELECT '', {_TALLY}
        FROM triage_reports
        WHERE project_id = ? AND looked_at > 0
          AND item_id IN (SELECT id FROM items WHERE project_id = ? AND created_at >= ? AND created_at < ?)
    """
    found = OutcomeTally._make(store.rows(sql, project_id, project_id, since_ms, until_ms)[0])
    return found if found.looked else None


def load_calibrated_pairs(store: Store, project_id: int) -> int:
    """Return how many known duplicates there were when the bot last calibrated itself."""
    return store.value("SELECT calibrated_pairs FROM triage_projects WHERE project_id = ?", project_id) or 0


def save_calibrated_pairs(store: Store, project_id: int, pairs: int) -> None:
    store.run("UPDATE triage_projects SET calibrated_pairs = ? WHERE project_id = ?", pairs, project_id)


def load_first_run(store: Store, project_id: int) -> int | None:
    """Return when the bot first worked on this project; None when it never did."""
    first: int | None = store.value("SELECT first_run_at FROM triage_projects WHERE project_id = ?", project_id)
    return first


def save_first_run(store: Store, project_id: int, now_ms: int) -> None:
    sql = """
        INSERT INTO triage_projects (project_id, first_run_at)
        VALUES (?, ?)
        ON CONFLICT DO NOTHING
    """
    store.run(sql, project_id, now_ms)


def load_unseen(store: Store, project_id: int, since_ms: int, limit: int) -> list[ItemKey]:
    """Return open items that no run has looked at as they are now, oldest first: events that never reached us, and
    comments that could not be posted. Items from before `since_ms` only when they have been looked at before; closed
    ones only when their comment names an item that was forgotten.
    """
    sql = """
        SELECT i.kind, i.number
        FROM items i
        LEFT JOIN triage_reports r ON r.item_id = i.id
        WHERE i.project_id = ? AND i.kind IN ('issue', 'change') AND i.deleted_at IS NULL
          AND (i.state = 'open' OR (r.content_hash = '' AND r.comment_url NOTNULL))
          AND NOT i.is_confidential AND coalesce(r.content_hash <> i.content_hash, i.created_at >= ?)
        ORDER BY i.created_at, i.number
        LIMIT ?
    """
    return [ItemKey(kind, number) for kind, number in store.rows(sql, project_id, since_ms, limit)]


class FoundMatch(NamedTuple):
    """An open item whose match stands in no comment, and that match."""

    kind: Kind
    number: int
    title: str
    url: str
    outcome: str
    to_number: int
    to_title: str
    to_url: str
    to_state: str | None
    looked_at: int

    @property
    def is_close(self) -> bool:
        return self.outcome in ("duplicate", "regression")


def list_uncommented(store: Store, project_id: int, since_ms: int) -> list[FoundMatch]:
    """Return what was found since then and stands in no comment, but for what people rejected: close matches first."""
    sql = """
        SELECT i.kind, i.number, i.title, coalesce(i.url, ''), r.outcome,
            t.number, t.title, coalesce(t.url, ''), t.state, r.looked_at
        FROM triage_reports r
        JOIN items i ON i.id = r.item_id
        JOIN items t ON t.project_id = i.project_id AND t.kind = i.kind AND t.number = r.first_number
        WHERE r.project_id = ? AND r.looked_at >= ? AND r.comment_url IS NULL AND i.state = 'open'
          AND i.deleted_at IS NULL AND t.deleted_at IS NULL AND NOT i.is_confidential AND NOT t.is_confidential
          AND r.rejected NOT LIKE '%,' || t.number || ',%' AND r.rejected NOT LIKE '%,0,%'
        ORDER BY r.outcome = 'similar', i.kind, i.number
    """
    return [FoundMatch._make(row) for row in store.rows(sql, project_id, since_ms)]


def forget_items(store: Store, project_id: int, keys: Iterable[ItemKey]) -> int:
    """Delete items with everything that hangs on them; returns how many were there.

    A tombstone would keep the text of what somebody deleted or made confidential, in a place that others can read.
    Reports that name such an item are looked at again.
    """
    found = load_ids(store, project_id, keys)
    for key, item_id in found.items():
        documents = [row[0] for row in store.rows("SELECT id FROM documents WHERE item_id = ?", item_id)]
        remove_documents(store, project_id, documents)
        waiting = "DELETE FROM jobs WHERE project_id = ? AND (kind, key) IN (VALUES ('document', ?), ('files', ?))"
        store.run(waiting, project_id, str(item_id), f"{key.kind}:{key.number}")
        store.run("DELETE FROM items WHERE id = ?", item_id)
        looked_at_again = "UPDATE triage_reports SET content_hash = '' WHERE project_id = ? AND shown LIKE ?"
        store.run(looked_at_again, project_id, f"%,{key.number},%")
    return len(found)


def forget_kinds(store: Store, project_id: int, kinds: Collection[Kind]) -> int:
    """Delete items of these kinds and confidential ones, with what was learned of the kinds; returns how many."""
    names = pack_list(sorted(kinds))
    sql = f"""
        SELECT kind, number
        FROM items
        WHERE project_id = ? AND (is_confidential OR kind {one_of()})
    """
    found = forget_items(store, project_id, [ItemKey(*row) for row in store.rows(sql, project_id, names)])
    for table in ("label_trust", "label_runs", "boilerplate_lines", "boilerplate_runs", "calibrations"):
        sql = f"DELETE FROM {table} WHERE project_id = ? AND kind {one_of()}"
        store.run(sql, project_id, names)
    return found


def forget_hidden_facts(store: Store) -> None:
    """Delete what only the bot was told: payloads (a project's holds counts, rights and the names of groups), and
    relations from the forge's fields to items that are not here, reviewers. What people wrote in a text stays, for it
    is there.
    Intent cards go as well: an index is for triage, which asks none.
    """
    cards = "SELECT project_id, id FROM documents WHERE representation = 'intent'"
    for project_id, document_id in store.rows(cards):
        remove_documents(store, project_id, [document_id])
    store.run("DELETE FROM intent_cards")
    store.run("DELETE FROM raw_payloads")
    store.run("DELETE FROM item_people WHERE source <> 'text'")
    store.run("""
        DELETE FROM item_links
        WHERE source <> 'text' AND (target_project <> '' OR NOT EXISTS (
            SELECT 1
            FROM items t
            WHERE t.project_id = item_links.project_id AND t.number = item_links.target_number
              AND t.kind = coalesce(item_links.target_kind, t.kind)))
    """)


def forget_project(store: Store, project_id: int) -> None:
    """Delete everything that is known of a project."""
    keys = [ItemKey(*row) for row in store.rows("SELECT kind, number FROM items WHERE project_id = ?", project_id)]
    forget_items(store, project_id, keys)
    store.run("DELETE FROM projects WHERE id = ?", project_id)


def rewrite_file(store: Store) -> None:
    """Write the file anew without anything that was deleted: words that were counted, and pages that are free."""
    compact_words(store)
    forget_common_words(store)
    refresh_common_words(store)
    vacuum(store)


def forget_for_good(store: Store) -> None:
    """Overwrite what is deleted from now on, in the file and in full text: others can read the bot's index."""
    overwrite_deleted(store)
    overwrite_words(store)


class Trust(NamedTuple):
    """Trust in a label: the share of votes from which on it is suggested, and how often that was right, of how many."""

    share: float
    precision: float
    sample: int


def load_labels(store: Store, item_id: int) -> set[str]:
    """Return the labels an item has."""
    return {name for (name,) in store.rows("SELECT name FROM item_labels WHERE item_id = ?", item_id)}


def list_labelled(store: Store, project_id: int, kind: str, *, soon_ms: int, limit: int) -> list[int]:
    """Return the ids of the newest open items of a kind that have labels and that everybody may read, of which nothing
    has changed but soon after they were filed: what programs put on old or closed items is no label of a new one.
    """
    sql = """
        SELECT i.id
        FROM items i
        WHERE i.project_id = ? AND i.kind = ? AND i.deleted_at IS NULL AND NOT i.is_confidential
          AND i.state = 'open' AND i.updated_at <= i.created_at + ?
          AND EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = i.id)
        ORDER BY i.created_at DESC
        LIMIT ?
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, kind, soon_ms, limit)]


def load_label_trust(store: Store, project_id: int, kind: str) -> dict[str, Trust]:
    """Return the labels that may be suggested."""
    sql = """
        SELECT name, share, precision, sample
        FROM label_trust
        WHERE project_id = ? AND kind = ?
    """
    return {name: Trust(*rest) for name, *rest in store.rows(sql, project_id, kind)}


def save_label_trust(store: Store, project_id: int, kind: str, trusted: Mapping[str, Trust]) -> None:
    """Replace what is known of the labels of a kind. In a transaction."""
    store.run("DELETE FROM label_trust WHERE project_id = ? AND kind = ?", project_id, kind)
    sql = """
        INSERT INTO label_trust (project_id, kind, name, share, precision, sample)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    store.run_many(sql, [(project_id, kind, name, *trust) for name, trust in sorted(trusted.items())])


def load_labels_learned(store: Store, project_id: int, kind: str) -> tuple[int, int]:
    """Return how many items with labels there were when those were last learned, and how many there are now."""
    before = store.value("SELECT items FROM label_runs WHERE project_id = ? AND kind = ?", project_id, kind)
    sql = """
        SELECT count(DISTINCT l.item_id)
        FROM item_labels l
        JOIN items i ON i.id = l.item_id
        WHERE i.project_id = ? AND i.kind = ?
    """
    return before or 0, store.value(sql, project_id, kind)


def save_labels_learned(store: Store, project_id: int, kind: str, items: int) -> None:
    sql = """
        INSERT INTO label_runs (project_id, kind, items)
        VALUES (?, ?, ?)
        ON CONFLICT (project_id, kind) DO UPDATE SET items = excluded.items
    """
    store.run(sql, project_id, kind, items)


class FiledItem(NamedTuple):
    """An item by who filed it and when, and how it stands now."""

    id: int
    kind: Kind
    number: int
    title: str
    body: str
    author: str | None
    state: str | None
    state_reason: str | None
    created_at: int
    closed_at: int | None
    url: str | None
    author_role: str | None


def list_filed(store: Store, project_id: int, since_ms: int, until_ms: int) -> list[FiledItem]:
    """Return the issues and changes that were filed in a period and that everybody may read, oldest first."""
    sql = """
        SELECT id, kind, number, title, coalesce(body, ''), author, state, state_reason, created_at,
            coalesce(merged_at, closed_at), url, author_role
        FROM items
        WHERE project_id = ? AND kind IN ('issue', 'change') AND deleted_at IS NULL AND NOT is_confidential
          AND created_at >= ? AND created_at < ?
        ORDER BY created_at, number
    """
    return [FiledItem._make(row) for row in store.rows(sql, project_id, since_ms, until_ms)]


def load_newest_filed(store: Store, project_id: int) -> int | None:
    """Return when the newest issue or change was filed."""
    sql = "SELECT max(created_at) FROM items WHERE project_id = ? AND kind IN ('issue', 'change')"
    newest: int | None = store.value(sql, project_id)
    return newest
