"""Rows that contradict each other, what SQLite says of the file, and the writes that make both good again.

Nothing is written by a check, which runs inside `Store.snapshot` while a sync goes on. What the findings mean is
`index/findings`; when each write is needed is `index/repair`, which also holds the transactions.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator

from forgelore.errors import CorruptStore, StoreError
from forgelore.profiles import LOCAL, PROFILES
from forgelore.store.code import CODE_TABLES, forget_all_code
from forgelore.store.database import Store, by_engine
from forgelore.store.replay import forget_rows
from forgelore.store.sqlite.check import UNEMBEDDED, VECTOR_CHECKS, WORD_CHECKS, Fault, has_no_job
from forgelore.store.sqlite.connection import (
    CODE_REMADE,
    COUNTED,
    OF_DOCUMENTS,
    REMADE,
    is_own_complaint,
    one_of,
    pack_list,
)
from forgelore.store.sqlite.schema import DERIVED, SOURCES, expected_schema, find_gaps, load_schema
from forgelore.words import KINDS

_MESSAGES = 20
# As pragma.c words them: "row 3 missing from index a", "CHECK constraint failed in t", "NULL value in t.c".
_OF_INDEX = re.compile(r"(?:missing|differ) from index |(?:entries|entry) in index |of index ")
_OF_ROW = re.compile(r"CHECK constraint failed in | value in ")


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


_UNION = "\nUNION ALL\n"
_ITEM = "i.kind || ' ' || i.number"
_JOB = "j.kind || ' job ' || j.key, j.rowid"

# A row of the first kind says which project it belongs to, and so does the row it hangs on.
PLACED = (
    ("documents", "item_id", "items"),
    ("threads", "item_id", "items"),
    ("notes", "item_id", "items"),
    ("item_links", "item_id", "items"),
    ("item_people", "item_id", "items"),
    ("item_labels", "item_id", "items"),
    ("item_files", "item_id", "items"),
    ("intent_cards", "item_id", "items"),
    ("document_labels", "document_id", "documents"),
    ("document_paths", "document_id", "documents"),
    *((table, column, "documents") for table, column in OF_DOCUMENTS),
)
COUNTED_TABLES = ("documents", *COUNTED)  # never use an id twice
LEARNED = (
    ("calibrations", "json_valid(report) AND abs(slope) < 9e999 AND abs(intercept) < 9e999 AND most BETWEEN 0 AND 1"),
    ("nearest_strengths", "typeof(strength) = 'real' AND abs(strength) < 9e999"),
    ("boilerplate_lines", "typeof(line_hash) = 'integer' AND typeof(items) = 'integer' AND items > 0"),
    ("label_trust", "typeof(share) = 'real' AND share BETWEEN 0 AND 1 AND precision BETWEEN 0 AND 1"),
)
_PAYLOADS = (("item", "items", "row_hash"), ("detail", "items", "detail_hash"), ("note", "notes", "row_hash"))

CHECKS = {
    **WORD_CHECKS,
    "text_missing": """
        SELECT 'document ' || d.id, d.id
        FROM documents d
        WHERE d.id NOT IN (SELECT id FROM document_texts)
        """,
    "text_without_document": """
        SELECT 'document ' || t.id, t.id
        FROM document_texts t
        WHERE t.id NOT IN (SELECT id FROM documents)
        """,
    "document_of_deleted_item": f"""
        SELECT {_ITEM}, i.id
        FROM items i
        WHERE i.deleted_at IS NOT NULL AND i.id IN (SELECT item_id FROM documents) AND {has_no_job("document", "i")}
        """,
    "item_without_document": f"""
        SELECT {_ITEM}, i.id
        FROM items i
        WHERE i.deleted_at IS NULL
          AND i.id NOT IN (SELECT item_id FROM documents WHERE representation = 'item')
          AND {has_no_job("document", "i")}
        """,
    **VECTOR_CHECKS,
    "job_of_nothing": f"""
        SELECT {_JOB}
        FROM jobs j
        WHERE (
            j.kind IN ('document', 'replay') AND NOT EXISTS (
              SELECT 1
              FROM items i
              WHERE CAST(i.id AS TEXT) = j.key AND i.id = CAST(j.key AS INTEGER) AND i.project_id = j.project_id
            )
          )
          OR (
            j.kind = 'embed' AND NOT EXISTS (
              SELECT 1
              FROM documents d
              WHERE CAST(d.id AS TEXT) = j.key AND d.id = CAST(j.key AS INTEGER) AND d.project_id = j.project_id
            )
          )
        """,
    "job_miscounted": f"""
        SELECT {_JOB}
        FROM jobs j
        WHERE j.attempt_count < 0 OR (j.attempt_count = 0 AND j.last_attempt_at IS NOT NULL)
        """,
    "row_misplaced": _UNION.join(
        f"""
            SELECT '{table}, of {owner} ' || o.id, o.id
            FROM {table} t
            JOIN {owner} o ON o.id = t.{column}
            WHERE t.project_id <> o.project_id
            """
        for table, column, owner in PLACED
    ),
    "note_misplaced": """
        SELECT 'note ' || n.key || ' of item ' || n.item_id, n.id
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE t.item_id <> n.item_id
        """,
    "id_counter_wrong": _UNION.join(
        f"""
            SELECT '{table}', 0
            WHERE (SELECT max(id) FROM {table}) IS NOT NULL AND NOT EXISTS (
              SELECT 1
              FROM sqlite_sequence
              WHERE name = '{table}' AND typeof(seq) = 'integer'
                AND seq >= (SELECT max(id) FROM {table}) AND seq < 1 << 60
            )
            """
        for table in COUNTED_TABLES
    ),
    "learned_malformed": _UNION.join(f"SELECT '{table}', 0 FROM {table} WHERE NOT ({good})" for table, good in LEARNED),
    "row_malformed": f"""
        SELECT 'item ' || id, id
        FROM items
        WHERE kind NOT IN ({_quoted(KINDS)})
        UNION ALL
        SELECT 'project ' || id, id
        FROM projects
        WHERE forge NOT IN ({_quoted([LOCAL.name, *PROFILES])})
        """,
    "row_gone": _UNION.join(
        f"""
            SELECT '{resource} payload ' || id, id
            FROM raw_payloads
            WHERE resource = '{resource}'
              AND hash NOT IN (SELECT {column} FROM {table} WHERE {column} IS NOT NULL)
            """
        for resource, table, column in _PAYLOADS
    ),
}


@by_engine
def find_wrong(store: Store, embedder_id: int | None) -> Iterator[Fault]:
    """Yield the rows that contradict others, by every check that is one statement."""
    for name, sql in CHECKS.items():
        yield from ((name, shown, row_id) for shown, row_id in store.each(sql))
    if embedder_id is not None:
        yield from (
            ("document_without_vectors", shown, row_id) for shown, row_id in store.each(UNEMBEDDED, embedder_id)
        )


@by_engine
def find_rows(store: Store, name: str) -> list[int]:
    """Return the rows that one check finds now."""
    return [row_id for _, row_id in store.each(CHECKS[name])]


@by_engine
def find_damage(store: Store) -> Iterator[Fault]:
    """Yield what SQLite says of the file itself, its indexes and the rules of its columns.

    Its complaints about the full-text index are left to the engine's own checks: that one can be made anew.
    """
    for line in _integrity(store):
        if line == "ok" or is_own_complaint(line):
            continue
        name = "index_damaged" if _OF_INDEX.search(line) else "row_malformed" if _OF_ROW.search(line) else ""
        yield name or "damaged_file", line, 0


def _integrity(store: Store) -> list[str]:
    try:
        return [str(row[0]) for row in store.rows(f"PRAGMA main.integrity_check({_MESSAGES})")]
    except CorruptStore as error:
        return [error.message]
    except StoreError:
        # A full-text index that cannot be opened keeps SQLite from looking at anything: one by one, then.
        tables = [entry.name for entry in load_schema(store).values() if entry.columns]
    try:
        return [str(row[0]) for name in tables for row in store.rows(f"PRAGMA main.integrity_check({name})")]
    except StoreError as error:
        return [error.message]


@by_engine
def find_broken_references(store: Store) -> Iterator[Fault]:
    """Yield rows that hang on rows which do not exist."""
    for table, parent, row_id in store.each('SELECT "table", parent, rowid FROM pragma_foreign_key_check'):
        # Nothing but its own row tells a project's name: items without it belong to nobody.
        name = "source_missing" if (table, parent) == ("items", "projects") else "broken_references"
        yield name, f"{table} {row_id or ''}".strip() + f" without {parent}", row_id or 0


# Long texts, where garbled bytes are likely to be. Elsewhere they are a damaged file.
_TEXTS = (
    ("items", "title"),
    ("items", "body"),
    ("notes", "body"),
    ("document_texts", "title"),
    ("document_texts", "text"),
    ("document_texts", "terms"),
)


@by_engine
def find_unreadable(store: Store) -> Iterator[tuple[str, str, int]]:
    """Yield (table, column, row) of texts whose bytes are no text."""
    for table, column in _TEXTS:
        for row_id, kind, data in store.each(f"SELECT id, typeof({column}), CAST({column} AS BLOB) FROM {table}"):
            if kind not in ("text", "null") or (data and not _is_text(data)):
                yield table, column, row_id


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@by_engine
def blank_unreadable(store: Store) -> None:
    """Empty the texts that are none: a document gets its text anew, an item or note from its payload. In a
    transaction.
    """
    for table, column, row_id in list(find_unreadable(store)):
        if table == "document_texts":
            store.run("DELETE FROM document_texts WHERE id = ?", row_id)
        else:
            store.run(f"UPDATE {table} SET {column} = '' WHERE id = ?", row_id)


_OF_ITEMS = (
    "threads",
    "notes",
    "item_labels",
    "item_files",
    "item_links",
    "item_people",
    "intent_cards",
    "nearest_strengths",
    "triage_reports",
)
_OF_DOCUMENTS = (
    ("document_texts", "id"),
    ("document_labels", "document_id"),
    ("document_paths", "document_id"),
    *OF_DOCUMENTS,
    ("documents", "id"),
)


@by_engine
def drop_orphans(store: Store) -> int:
    """Delete what hangs on items or documents that are gone; returns how many rows of items went. In a transaction.

    A note whose thread alone is gone stays: when the conversation is read again, it gets a thread. An import reads an
    item again only when its hash says nothing.
    """
    homeless = store.rows("SELECT DISTINCT item_id FROM notes WHERE thread_id NOT IN (SELECT id FROM threads)")
    forget_rows(store, [item_id for (item_id,) in homeless])
    gone = sum(store.run(f"DELETE FROM {table} WHERE item_id NOT IN (SELECT id FROM items)") for table in _OF_ITEMS)
    for table in ("item_links", "item_people"):
        store.run(f"DELETE FROM {table} WHERE note_id IS NOT NULL AND note_id NOT IN (SELECT id FROM notes)")
    for table, column in _OF_DOCUMENTS:
        store.run(f"""
            DELETE FROM {table}
            WHERE {column} NOT IN (
              SELECT d.id
              FROM documents d
              JOIN items i ON i.id = d.item_id
              JOIN projects p ON p.id = d.project_id
            )
        """)
    store.run("DELETE FROM jobs WHERE project_id NOT IN (SELECT id FROM projects)")
    return gone


@by_engine
def load_owned(store: Store, project_id: int, item_ids: Iterable[int]) -> list[int]:
    """Return those of these items that belong to a project, in the order of their ids."""
    sql = f"""
        SELECT id
        FROM items
        WHERE project_id = ? AND id {one_of()}
        ORDER BY id
    """
    return [item_id for (item_id,) in store.rows(sql, project_id, pack_list(item_ids))]


@by_engine
def rebuild_indexes(store: Store) -> None:
    store.run("REINDEX")


@by_engine
def place_rows(store: Store) -> None:
    """Move rows to the project of their owner, and notes to the item of their thread."""
    store.run("""
        UPDATE OR IGNORE notes
        SET item_id = (SELECT item_id FROM threads t WHERE t.id = thread_id)
        WHERE item_id <> (SELECT item_id FROM threads t WHERE t.id = thread_id)
    """)
    for table, column, owner in PLACED:
        store.run(f"""
            UPDATE {table}
            SET project_id = (SELECT project_id FROM {owner} o WHERE o.id = {column})
            WHERE project_id <> (SELECT project_id FROM {owner} o WHERE o.id = {column})
        """)


@by_engine
def forget_document_lists(store: Store, item_ids: Iterable[int]) -> None:
    """Let the documents of these items get their labels and paths anew when they are indexed."""
    sql = f"""
        UPDATE documents
        SET labels_hash = x'', paths_hash = x''
        WHERE item_id {one_of()}
    """
    store.run(sql, pack_list(item_ids))


@by_engine
def set_id_counters(store: Store) -> None:
    """Set the counters of ids: new ones go on behind the highest."""
    for table in COUNTED_TABLES:
        store.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
        store.run(f"INSERT INTO sqlite_sequence (name, seq) SELECT ?, max(id) FROM {table}", table)


@by_engine
def drop_nonsense(store: Store) -> bool:
    """Delete jobs of nothing and learned numbers that make no sense, and reset impossible counts of attempts; returns
    whether learned numbers went. Jobs are looked for again: the queue moves on while a sync runs.
    """
    store.run(f"DELETE FROM jobs WHERE rowid {one_of()}", pack_list(find_rows(store, "job_of_nothing")))
    sql = f"""
        UPDATE jobs
        SET attempt_count = 0, last_attempt_at = NULL, last_error = NULL, next_attempt_at = NULL
        WHERE rowid {one_of()}
    """
    store.run(sql, pack_list(find_rows(store, "job_miscounted")))
    learned = sum(store.run(f"DELETE FROM {table} WHERE NOT ({good})") for table, good in LEARNED)
    return learned > 0


@by_engine
def fill_gaps(store: Store) -> list[str]:
    """Make what is missing, empty; what cannot be made again stays missing. Returns the tables whose rows only a full
    sync or an import can bring back. Full text, of which nothing is filled here, is made again afterwards.
    """
    gaps, expected = find_gaps(store), expected_schema()
    tables = [name for kind, name in gaps if kind == "table" and name not in SOURCES]
    emptied = [name for name in tables if name not in DERIVED]
    with _without_references(store), store.transaction():
        for kind, name in gaps:
            if kind == "trigger":
                store.run(f"DROP TRIGGER IF EXISTS {_quoted_name(name)}")
        for name in tables:
            if name not in (*REMADE, *CODE_REMADE):
                store.run(f"DROP TABLE IF EXISTS {name}")
                store.run(expected[name].sql)
        present = load_schema(store)
        for kind, name in find_gaps(store):
            if kind == "index" and expected[name].table in present:
                store.run(f"DROP INDEX IF EXISTS {name}")
                store.run(expected[name].sql)
        if not {*CODE_REMADE, *CODE_TABLES}.isdisjoint(tables):
            forget_all_code(store)
        _forget_rows_of(store, emptied)
    return emptied


def _forget_rows_of(store: Store, emptied: list[str]) -> None:
    """Let the next full sync or import write the items again whose payloads or parts are gone."""
    if "raw_payloads" in emptied:
        store.run("UPDATE items SET row_hash = x'', detail_hash = NULL")
        store.run("UPDATE notes SET row_hash = x''")
    elif {"item_labels", "item_files"} & set(emptied):
        store.run("""
            UPDATE items
            SET row_hash = x''
            WHERE project_id NOT IN (SELECT project_id FROM raw_payloads)
        """)


@contextlib.contextmanager
def _without_references(store: Store) -> Iterator[None]:
    """Dropping a table deletes its rows first, and with them what hangs on them: not here."""
    store.run("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        store.run("PRAGMA foreign_keys=ON")


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
