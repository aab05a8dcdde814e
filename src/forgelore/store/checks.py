"""Checks of the file: rows that contradict each other, and what SQLite says of it.

Each check is one statement whose rows are what is wrong, named for people. Nothing here is written: a check runs inside
`Store.snapshot`, while a sync goes on. What the names mean is `flows/index/findings`, the repair `flows/index/repair`.
"""

import re
from collections.abc import Iterable, Iterator

from forgelore.errors import CorruptStore, StoreError
from forgelore.profiles import LOCAL, PROFILES
from forgelore.store.db import Store
from forgelore.store.engine.row_checks import UNEMBEDDED, VECTOR_CHECKS, WORD_CHECKS
from forgelore.store.engine.tables import COUNTED, OF_DOCUMENTS, is_own_complaint
from forgelore.store.schema_check import load_schema
from forgelore.store.sql_check import UNION, SqlCheck, has_no_job
from forgelore.words import KINDS

Fault = tuple[str, str, int]  # the finding's name, what people call it, id of the row to repair

_MESSAGES = 20
# As pragma.c words them: "row 3 missing from index a", "CHECK constraint failed in t", "NULL value in t.c".
_OF_INDEX = re.compile(r"(?:missing|differ) from index |(?:entries|entry) in index |of index ")
_OF_ROW = re.compile(r"CHECK constraint failed in | value in ")


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


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

CHECKS = (
    *WORD_CHECKS,
    SqlCheck(
        "text_missing",
        """
        SELECT 'document ' || d.id, d.id
        FROM documents d
        WHERE d.id NOT IN (SELECT id FROM document_texts)
        """,
    ),
    SqlCheck(
        "text_without_document",
        """
        SELECT 'document ' || t.id, t.id
        FROM document_texts t
        WHERE t.id NOT IN (SELECT id FROM documents)
        """,
    ),
    SqlCheck(
        "document_of_deleted_item",
        f"""
        SELECT {_ITEM}, i.id
        FROM items i
        WHERE i.deleted_at IS NOT NULL AND i.id IN (SELECT item_id FROM documents) AND {has_no_job("document", "i")}
        """,
    ),
    SqlCheck(
        "item_without_document",
        f"""
        SELECT {_ITEM}, i.id
        FROM items i
        WHERE i.deleted_at IS NULL
          AND i.id NOT IN (SELECT item_id FROM documents WHERE representation = 'item')
          AND {has_no_job("document", "i")}
        """,
    ),
    *VECTOR_CHECKS,
    SqlCheck(
        "job_of_nothing",
        f"""
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
    ),
    SqlCheck(
        "job_miscounted",
        f"""
        SELECT {_JOB}
        FROM jobs j
        WHERE j.attempt_count < 0 OR (j.attempt_count = 0 AND j.last_attempt_at IS NOT NULL)
        """,
    ),
    SqlCheck(
        "row_misplaced",
        UNION.join(
            f"""
            SELECT '{table}, of {owner} ' || o.id, o.id
            FROM {table} t
            JOIN {owner} o ON o.id = t.{column}
            WHERE t.project_id <> o.project_id
            """
            for table, column, owner in PLACED
        ),
    ),
    SqlCheck(
        "note_misplaced",
        """
        SELECT 'note ' || n.key || ' of item ' || n.item_id, n.id
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
        WHERE t.item_id <> n.item_id
        """,
    ),
    SqlCheck(
        "id_counter_wrong",
        UNION.join(
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
    ),
    SqlCheck(
        "learned_malformed",
        UNION.join(f"SELECT '{table}', 0 FROM {table} WHERE NOT ({good})" for table, good in LEARNED),
    ),
    SqlCheck(
        "row_malformed",
        f"""
        SELECT 'item ' || id, id
        FROM items
        WHERE kind NOT IN ({_quoted(KINDS)})
        UNION ALL
        SELECT 'project ' || id, id
        FROM projects
        WHERE forge NOT IN ({_quoted([LOCAL.name, *PROFILES])})
        """,
    ),
    SqlCheck(
        "row_gone",
        UNION.join(
            f"""
            SELECT '{resource} payload ' || id, id
            FROM raw_payloads
            WHERE resource = '{resource}'
              AND hash NOT IN (SELECT {column} FROM {table} WHERE {column} IS NOT NULL)
            """
            for resource, table, column in _PAYLOADS
        ),
    ),
)


def find_wrong(store: Store, embedder_id: int | None) -> Iterator[Fault]:
    """Yield the rows that contradict others, by every check that is one statement."""
    for check in CHECKS:
        for shown, row_id in store.each(check.sql):
            yield check.name, shown, row_id
    if embedder_id is not None:
        for shown, row_id in store.each(UNEMBEDDED.sql, embedder_id):
            yield UNEMBEDDED.name, shown, row_id


def find_rows(store: Store, name: str) -> list[int]:
    """Return the rows that one check finds now."""
    return [row_id for check in CHECKS if check.name == name for _, row_id in store.each(check.sql)]


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


def blank_unreadable(store: Store) -> None:
    """Empty the texts that are none: a document gets its text anew, an item or note from its payload. In a
    transaction.
    """
    for table, column, row_id in list(find_unreadable(store)):
        if table == "document_texts":
            store.run("DELETE FROM document_texts WHERE id = ?", row_id)
        else:
            store.run(f"UPDATE {table} SET {column} = '' WHERE id = ?", row_id)
