"""Questions about the state of the index: how much is there, and which rows contradict each other.

Each check is one statement whose rows are what is wrong, named for people. Nothing here is written: a check runs inside
`Store.snapshot`, while a sync goes on. What the answers mean for the whole, and the repair, is `flows/health`.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from forgelore.core.documents import content_hash
from forgelore.errors import CorruptStore
from forgelore.store.db import Store

QUEUES = ("item", "threads", "detail", "look", "document", "embed")
_ERRORS = 5
_SHADOWS = ("data", "idx", "docsize", "config")


class Check(NamedTuple):
    """`sql` returns (what people call it, id of the row to repair) of everything that is wrong."""

    name: str
    sql: str
    meaning: str


_NO_DOCUMENT_JOB = (
    " NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = i.project_id AND j.kind = 'document'"
    " AND j.key = CAST(i.id AS TEXT))"
)
_ITEM = "i.kind || ' ' || i.number"
_DOCUMENT = "'document ' || d.id"
_JOB = "j.kind || ' job ' || j.key, j.rowid"

CHECKS = (
    Check(
        "words_missing",
        "SELECT 'document ' || t.id, t.id FROM document_texts t"
        " WHERE t.id NOT IN (SELECT id FROM documents_fts_docsize)",
        "texts that full text does not know: a search for their words does not find them",
    ),
    Check(
        "words_extra",
        "SELECT 'document ' || f.id, f.id FROM documents_fts_docsize f"
        " WHERE f.id NOT IN (SELECT id FROM document_texts)",
        "full text knows documents that are gone: a search may find nothing where it promises something",
    ),
    Check(
        "text_missing",
        f"SELECT {_DOCUMENT}, d.id FROM documents d WHERE d.id NOT IN (SELECT id FROM document_texts)",
        "documents without a text",
    ),
    Check(
        "text_without_document",
        "SELECT 'document ' || t.id, t.id FROM document_texts t WHERE t.id NOT IN (SELECT id FROM documents)",
        "texts whose document is gone",
    ),
    Check(
        "document_of_deleted_item",
        f"SELECT {_ITEM}, i.id FROM items i WHERE i.deleted_at IS NOT NULL"
        f" AND i.id IN (SELECT item_id FROM documents) AND{_NO_DOCUMENT_JOB}",
        "items that are gone from the forge and can still be found",
    ),
    Check(
        "item_without_document",
        f"SELECT {_ITEM}, i.id FROM items i WHERE i.deleted_at IS NULL AND i.id NOT IN"
        f" (SELECT item_id FROM documents WHERE representation = 'item') AND{_NO_DOCUMENT_JOB}",
        "items that cannot be found, and that nothing waits to index",
    ),
    Check(
        "vector_of_other_text",
        "SELECT 'document ' || d.id || ', chunk ' || c.position, c.id FROM chunks c JOIN documents d"
        " ON d.id = c.document_id WHERE c.text_hash <> substr(d.content_hash, 1, 8)",
        "vectors that were made from an older text",
    ),
    Check(
        "vector_malformed",
        "SELECT 'document ' || c.document_id || ', chunk ' || c.position, c.id FROM chunks c JOIN embedders e"
        " ON e.id = c.embedder_id WHERE length(c.vector) <> e.dimension OR typeof(c.scale) <> 'real'"
        " OR NOT (c.scale > 0 AND c.scale < 9e999)",
        "vectors of the wrong length or scale: their similarities mean nothing",
    ),
    Check(
        "vector_incomplete",
        "SELECT 'document ' || document_id, min(id) FROM chunks GROUP BY document_id, embedder_id"
        " HAVING count(*) <> max(position) + 1",
        "documents of which only some parts have vectors",
    ),
    Check(
        "job_of_nothing",
        f"SELECT {_JOB} FROM jobs j WHERE (j.kind = 'document' AND NOT EXISTS (SELECT 1 FROM items i"
        " WHERE CAST(i.id AS TEXT) = j.key AND i.id = CAST(j.key AS INTEGER) AND i.project_id = j.project_id))"
        " OR (j.kind = 'embed' AND NOT EXISTS (SELECT 1 FROM documents d"
        " WHERE CAST(d.id AS TEXT) = j.key AND d.id = CAST(j.key AS INTEGER) AND d.project_id = j.project_id))",
        "waiting work on something that does not exist",
    ),
    Check(
        "job_miscounted",
        f"SELECT {_JOB} FROM jobs j"
        " WHERE j.attempt_count < 0 OR (j.attempt_count = 0 AND j.last_attempt_at IS NOT NULL)",
        "waiting work whose attempts were counted wrongly: it may come too late or too often",
    ),
)  # fmt: skip

_UNEMBEDDED = Check(
    "document_without_vectors",
    f"SELECT {_DOCUMENT}, d.id FROM documents d WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id"
    " AND c.embedder_id = ?) AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = d.project_id"
    " AND j.kind = 'embed' AND j.key = CAST(d.id AS TEXT))",
    "documents that cannot be found by meaning, and that nothing waits to embed",
)
MEANINGS = {check.name: check.meaning for check in (*CHECKS, _UNEMBEDDED)} | {
    "damaged_file": "pages of the file are damaged; it cannot be repaired, only rebuilt",
    "broken_references": "rows that hang on rows which do not exist",
    "words_damaged": "full text and the texts tell different words",
    "text_differs": "texts that are not what their hash says: somebody or something changed them",
    "document_outdated": "documents that are not what their item and its notes say now, and that do not wait for it",
}  # fmt: skip


def find_wrong(store: Store, embedder_id: int | None) -> Iterator[tuple[str, str, int]]:
    """Yield (check, what people call it, id of the row to repair) of everything that contradicts itself."""
    for check in CHECKS:
        for shown, row_id in store.each(check.sql):
            yield check.name, shown, row_id
    if embedder_id is not None:
        for shown, row_id in store.each(_UNEMBEDDED.sql, embedder_id):
            yield _UNEMBEDDED.name, shown, row_id
    for document_id, digest, title, text in store.each(
        "SELECT d.id, d.content_hash, t.title, t.text FROM documents d JOIN document_texts t ON t.id = d.id"
    ):
        if content_hash(title, text) != digest:
            yield "text_differs", f"document {document_id}", document_id


def find_rows(store: Store, name: str) -> list[int]:
    """Return the rows that one check finds now."""
    return [row_id for check in CHECKS if check.name == name for _, row_id in store.each(check.sql)]


def find_damage(store: Store) -> list[str]:
    """Return what SQLite says of the file itself; empty when it is sound.

    Its complaints about the full-text index are left to `find_word_damage`: that one can be rebuilt.
    """
    try:
        told = [str(row[0]) for row in store.rows("PRAGMA main.quick_check(20)")]
    except CorruptStore as error:
        return [error.message]
    return [line for line in told if line != "ok" and "fts5" not in line.lower()]


def find_word_damage(store: Store) -> list[str]:
    """Return why the full-text index does not fit its texts, by FTS5's own comparison of every word.

    That comparison is an INSERT, which would wait for a running sync and keep it waiting. So it is made on a copy of
    the index among the temporary tables, which nobody else sees: copying costs a twentieth of comparing.
    """
    sql: str = store.value("SELECT sql FROM main.sqlite_schema WHERE name = 'documents_fts'")
    store.run("CREATE TEMP VIEW compared_texts AS SELECT id, title, text, terms FROM main.document_texts")
    store.run(sql.replace("documents_fts", "temp.compared").replace("document_texts", "compared_texts"))
    for name in _SHADOWS:
        store.run(f"DELETE FROM temp.compared_{name}")
        store.run(f"INSERT INTO temp.compared_{name} SELECT * FROM main.documents_fts_{name}")
    try:
        store.run("INSERT INTO temp.compared (compared, rank) VALUES ('integrity-check', 1)")
    except CorruptStore as error:
        told = str(error.__cause__).replace("compared", "documents_fts")
        # FTS5 names the damage, or SQLite says that "the disk image is malformed", which frightens people for nothing.
        return [told if told.startswith("fts5") else "some words are missing or too many"]
    return []


def find_broken_references(store: Store) -> list[tuple[str, str, int | None]]:
    """Return (table, what it should hang on, row) of rows that hang on nothing."""
    rows = store.rows('SELECT "table", parent, rowid FROM pragma_foreign_key_check')
    return [(table, parent, row_id) for table, parent, row_id in rows]


def find_current_embedder(store: Store, fingerprint: str | None = None) -> tuple[int, str, str, int] | None:
    """Return (id, name, model, dimension) of the embedder with that fingerprint, or of the last one that was used."""
    row = store.row(
        "SELECT id, name, model, dimension FROM embedders WHERE ?1 IS NULL OR fingerprint = ?1"
        " ORDER BY id DESC LIMIT 1",
        fingerprint,
    )
    return (row[0], row[1], row[2], row[3]) if row else None


def count_kinds(store: Store) -> dict[str, dict[str, int]]:
    """Return kind -> representation -> documents."""
    found: dict[str, dict[str, int]] = {}
    for kind, representation, count in store.rows(
        "SELECT kind, representation, count(*) FROM documents GROUP BY 1, 2 ORDER BY 1, 2"
    ):
        found.setdefault(kind, {})[representation] = count
    return found


def count_truncated(store: Store) -> dict[str, int]:
    """Return why documents were cut -> how many."""
    sql = "SELECT truncated_reason, count(*) FROM documents WHERE is_truncated GROUP BY 1 ORDER BY 1"
    return dict(store.rows(sql))


def count_vectors(store: Store, embedder_id: int) -> tuple[int, int]:
    """Return (documents, chunks) that have vectors of an embedder; both from an index, no vector is read."""
    row = store.row("SELECT count(DISTINCT document_id), count(*) FROM chunks WHERE embedder_id = ?", embedder_id)
    return (row[0], row[1]) if row else (0, 0)


def load_queues(store: Store) -> dict[str, dict[str, Any]]:
    """Return kind -> waiting, failing and the worst errors; kinds that nothing waits for are there with zeros."""
    found: dict[str, dict[str, Any]] = {kind: {"waiting": 0, "failing": 0, "errors": []} for kind in QUEUES}
    for kind, waiting, failing in store.rows(
        "SELECT kind, count(*), sum(attempt_count > 0) FROM jobs GROUP BY kind ORDER BY kind"
    ):
        found[kind] = {"waiting": waiting, "failing": failing, "errors": []}
        if failing:
            found[kind]["errors"] = [
                {"key": key, "attempts": attempts, "error": error, "next_attempt_at": when}
                for key, attempts, error, when in store.rows(
                    "SELECT key, attempt_count, last_error, next_attempt_at FROM jobs"
                    " WHERE kind = ? AND attempt_count > 0 ORDER BY attempt_count DESC, key LIMIT ?", kind, _ERRORS,
                )
            ]  # fmt: skip
    return found


def measure_file(store: Store) -> int:
    """Return the bytes of the database and its log."""
    return sum(os.path.getsize(store.path + end) for end in ("", "-wal") if os.path.exists(store.path + end))
