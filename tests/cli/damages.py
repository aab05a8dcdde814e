"""Kinds of damage to a store, each with what a check must say of it.

    healed     the check finds it, a repair makes it good, and every answer is what it was
    told       the check finds it, a repair says that it cannot, and doing what it says makes it good
    refused    no command opens the file any more, and each says what to do
    unseen     no check can see it, for the reason given; nothing fails because of it

SQL runs without foreign keys, as another program would run it. What is done to full text and vectors is `engine_tables`.
"""

import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

import apsw

import engine_tables

PAGE = 8192
ITEM = "(SELECT id FROM items WHERE kind = 'issue' AND number = 1 AND project_id = 1)"
IMPORTED = "(SELECT id FROM items WHERE number = 1 AND project_id = 2)"
DOCUMENT = f"(SELECT id FROM documents WHERE item_id = {ITEM} AND representation = 'item')"
OTHER = "(SELECT max(id) FROM documents WHERE representation = 'item')"


class Damage(NamedTuple):
    name: str
    act: str | Callable[[str], None]  # SQL, or what is done to the file
    finds: str = ""  # one of the findings
    outcome: str = "healed"
    why: str = ""  # it is unseen; or what a person does: "sync", "import", "anew", "embed"


def pages(start: int | None, step: int) -> Callable[[str], None]:
    """Garble every so many pages, from one on; None: behind those that every file has, however empty."""

    def act(path: str) -> None:
        connection = apsw.Connection(path)
        first = start or connection.execute("SELECT max(rootpage) FROM sqlite_schema").get
        connection.close()
        with open(path, "r+b") as file:
            size = file.seek(0, 2)
            for at in range(first * PAGE, size - PAGE, step * PAGE):
                file.seek(at)
                file.write(b"\xff" * 300)

    return act


def garbled_text(table: str, column: str, where: str = "1") -> str:
    return f"UPDATE {table} SET {column} = CAST(x'66ff6f' || CAST({column} AS BLOB) AS TEXT) WHERE {where}"


def write(data: bytes, at: int = 0) -> Callable[[str], None]:
    def act(path: str) -> None:
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(data)

    return act


def truncated(path: str) -> None:
    with open(path, "r+b") as file:
        file.truncate(file.seek(0, 2) // 2 // PAGE * PAGE)


def without_its_log(path: str) -> None:
    """Work is written to the log, and the log is lost before it reaches the file."""
    shutil.copy(path, path + ".kept")
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("UPDATE items SET title = 'never seen'")
    shutil.copy(path, path + ".kept")
    connection.close()
    shutil.move(path + ".kept", path)


def index_entry_lost(path: str) -> None:
    """An index that lacks a row of its table: made by telling SQLite another definition for a moment."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA writable_schema=ON")
    rows = "SELECT sql FROM sqlite_schema WHERE name = 'items_by_number'"
    sql = connection.execute(rows).get
    connection.execute("UPDATE sqlite_schema SET sql = sql || ' WHERE number <> 1' WHERE name = 'items_by_number'")
    connection.execute("PRAGMA writable_schema=RESET")
    connection.execute("REINDEX items_by_number")
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'items_by_number'", (sql,))
    connection.execute("PRAGMA writable_schema=RESET")
    connection.close()


DAMAGES = [
    # the full-text index and its shadows
    *(Damage(*one) for one in engine_tables.word_damages(DOCUMENT)),
    Damage("a card of other words", f"UPDATE intent_cards SET text = 'x' WHERE item_id = {ITEM}", "card_differs"),
    Damage("words: of another document", f"UPDATE document_texts SET (title, text, terms) = (SELECT title, text, terms FROM document_texts WHERE id = {OTHER}) WHERE id = {DOCUMENT}", "words_damaged"),
    *(Damage(name, act, outcome="unseen", why=why) for name, act, why in engine_tables.UNSEEN),
    # tables, indexes, triggers
    *(
        Damage(f"table dropped: {name}", f"DROP TABLE {name}", "table_missing")
        for name in (
            *engine_tables.DROPPED, "documents", "document_texts", "document_labels", "document_paths", "embedders",
            "item_links", "locks", "sync_runs", "calibrations", "nearest_strengths", "jobs",
        )
    ),
    Damage("table dropped: item_labels", "DROP TABLE item_labels", "table_missing", "healed", "import"),
    Damage("table dropped: item_files", "DROP TABLE item_files", "table_missing", "healed", "import"),
    Damage("table dropped: raw_payloads", "DROP TABLE raw_payloads", "table_missing", "healed", "sync"),
    Damage("table dropped: sync_cursors", "DROP TABLE sync_cursors", "table_missing", "healed", "sync"),
    *(
        Damage(f"table dropped: {name}", f"DROP TABLE {name}", "source_missing", "told", "anew")
        for name in ("projects", "items", "threads", "notes")
    ),
    Damage("column dropped", "ALTER TABLE document_texts RENAME COLUMN terms TO words", "table_missing"),
    Damage("index dropped", "DROP INDEX documents_by_filter", "index_missing"),
    Damage("index of a source table dropped", "DROP INDEX items_by_number", "index_missing"),
    Damage("index lacks a row", index_entry_lost, "index_damaged"),
    Damage("trigger added", "CREATE TRIGGER t AFTER UPDATE ON items BEGIN DELETE FROM notes; END", "trigger_extra"),
    Damage("id counter lowered", "UPDATE sqlite_sequence SET seq = 0 WHERE name = 'documents'", "id_counter_wrong"),
    Damage("id counter at its end", f"UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = '{engine_tables.VECTORS}'", "id_counter_wrong"),
    Damage("id counter deleted", "DELETE FROM sqlite_sequence", "id_counter_wrong"),
    # documents
    Damage("document deleted", f"DELETE FROM documents WHERE id = {DOCUMENT}", "item_without_document"),
    Damage("all documents deleted", "DELETE FROM documents", "item_without_document"),
    Damage("document too many", f"INSERT INTO documents (project_id, item_id, representation, thread_key, kind, content_hash, labels_hash, paths_hash) VALUES (1, {ITEM}, 'thread', 'ghost', 'issue', x'00', x'00', x'00')", "document_outdated"),
    Damage("document of a deleted item", "INSERT INTO documents (project_id, item_id, representation, thread_key, kind, content_hash, labels_hash, paths_hash) VALUES (1, 9999, 'item', '', 'issue', x'00', x'00', x'00')", "broken_references"),
    Damage("document's text altered", f"UPDATE document_texts SET text = text || ' and a lie' WHERE id = {DOCUMENT}", "text_differs"),
    Damage("document's title altered", f"UPDATE document_texts SET title = 'A lie' WHERE id = {DOCUMENT}", "text_differs"),
    Damage("document's hash altered", f"UPDATE documents SET content_hash = zeroblob(32) WHERE id = {DOCUMENT}", "text_differs"),
    Damage("document's split words altered", f"UPDATE document_texts SET terms = 'nothing' WHERE id = {DOCUMENT}", "terms_differ"),
    Damage("all split words emptied, full text rebuilt", f"UPDATE document_texts SET terms = ''; {engine_tables.REFILL_WORDS}", "terms_differ"),
    Damage("document's text deleted", f"DELETE FROM document_texts WHERE id = {DOCUMENT}", "text_missing"),
    Damage("text without a document", "INSERT INTO document_texts (id, title, text, terms) VALUES (9999, 'ghost', 'ghost', '')", "text_without_document"),
    Damage("document's state altered", f"UPDATE documents SET state = 'merged' WHERE id = {DOCUMENT}", "document_outdated"),
    Damage("document's author altered", f"UPDATE documents SET author = 'mallory' WHERE id = {DOCUMENT}", "document_outdated"),
    Damage("document's time altered", f"UPDATE documents SET created_at = 5 WHERE id = {DOCUMENT}", "document_outdated"),
    Damage("document's labels deleted", "DELETE FROM document_labels", "document_outdated"),
    Damage("document's label added", f"INSERT INTO document_labels (project_id, document_id, name) VALUES (1, {DOCUMENT}, 'lie')", "document_outdated"),
    Damage("document's paths deleted", "DELETE FROM document_paths", "document_outdated"),
    Damage("document in another project", f"UPDATE documents SET project_id = 2 WHERE id = {DOCUMENT}", "row_misplaced"),
    Damage("document of another item", f"UPDATE documents SET item_id = (SELECT max(id) FROM items), thread_key = 'x' WHERE id = {DOCUMENT}", "item_without_document"),
    # vectors
    *(Damage(*one) for one in engine_tables.vector_damages(DOCUMENT, OTHER)),
    Damage("embedders deleted", "DELETE FROM embedders", "broken_references"),
    Damage("embedder's dimension altered", "UPDATE embedders SET dimension = 63", "embedder_altered"),
    # what the forge said
    Damage("item's text altered", f"UPDATE items SET body = 'a lie' WHERE id = {ITEM}", "row_differs"),
    Damage("item's text and hash altered", f"UPDATE items SET body = 'a lie', content_hash = 'b' WHERE id = {ITEM}", "row_differs"),
    Damage("item's title altered", f"UPDATE items SET title = 'a lie' WHERE id = {ITEM}", "row_differs"),
    Damage("item's hash altered", f"UPDATE items SET content_hash = 'b' WHERE id = {ITEM}", "row_differs"),
    Damage("item's state altered", f"UPDATE items SET state = 'closed', closed_at = 9 WHERE id = {ITEM}", "row_differs"),
    Damage("item's state is no word of ours", f"PRAGMA ignore_check_constraints = ON; UPDATE items SET state = 'odd' WHERE id = {ITEM}", "row_malformed"),
    Damage("items' labels deleted", "DELETE FROM item_labels WHERE project_id = 1", "row_differs"),
    Damage("item's label added", f"INSERT INTO item_labels VALUES (1, {ITEM}, 'lie')", "row_differs"),
    Damage("items' files deleted", "DELETE FROM item_files WHERE project_id = 1", "row_differs"),
    Damage("links deleted", "DELETE FROM item_links", "row_differs"),
    Damage("a link added", f"INSERT INTO item_links (project_id, item_id, relation, source, target_number) VALUES (1, {ITEM}, 'duplicate_of', 'text', 2)", "row_differs"),
    Damage("links altered", "UPDATE item_links SET target_number = target_number + 1", "row_differs"),
    Damage("links of another project", "UPDATE item_links SET project_id = 2 WHERE project_id = 1", "row_misplaced"),
    Damage("notes altered", "UPDATE notes SET body = 'a lie' WHERE project_id = 1", "row_differs"),
    Damage("note moved to another item", f"UPDATE notes SET item_id = {ITEM} WHERE id = (SELECT max(id) FROM notes WHERE project_id = 1)", "note_misplaced"),
    Damage("notes deleted", "DELETE FROM notes WHERE project_id = 1 AND id % 2", "row_gone", "told", "sync"),
    Damage("item deleted", f"DELETE FROM items WHERE id = {ITEM}", "broken_references", "told", "sync"),
    Damage("thread deleted", "DELETE FROM threads WHERE id = 1", "broken_references", "told", "sync"),
    Damage("thread of an item that is gone", "INSERT INTO threads (id, project_id, item_id, key) VALUES (9999, 1, 9999, 'x')", "broken_references"),
    Damage("payload deleted", f"DELETE FROM raw_payloads WHERE hash = (SELECT row_hash FROM items WHERE id = {ITEM})", "payload_missing", "told", "sync"),
    Damage("payload garbled", f"UPDATE raw_payloads SET body = x'0102' WHERE hash = (SELECT row_hash FROM items WHERE id = {ITEM})", "payload_missing", "told", "sync"),
    Damage("payload's codec altered", f"UPDATE raw_payloads SET codec = 'zlib-9' WHERE hash = (SELECT row_hash FROM items WHERE id = {ITEM})", "payload_missing", "told", "sync"),
    Damage("payloads of notes deleted", "DELETE FROM raw_payloads WHERE resource = 'note'", "payload_missing", "told", "sync"),
    Damage("payload lost and text altered", f"DELETE FROM raw_payloads WHERE hash = (SELECT row_hash FROM items WHERE id = {ITEM}); UPDATE items SET body = 'a lie' WHERE id = {ITEM}", "content_differs", "told", "sync"),
    Damage("project's row altered", "UPDATE projects SET is_private = 1, description = 'a lie' WHERE id = 1", "project_differs"),
    Damage("item marked as gone", f"UPDATE items SET deleted_at = 5 WHERE id = {ITEM}", "document_of_deleted_item", "healed", "sync"),
    Damage("project deleted", "DELETE FROM projects WHERE id = 1", "source_missing", "told", "anew"),
    Damage("labels' descriptions deleted", "DELETE FROM labels", outcome="unseen", why="no payload tells them, and no answer needs them"),
    Damage("cursor moved on", "UPDATE sync_cursors SET updated_at = updated_at + 86400000", outcome="unseen", why="where a sync stood is known from nothing else; it compares totals by itself"),
    # an imported project, of which no payload is kept
    Damage("imported text altered", f"UPDATE items SET body = 'a lie' WHERE id = {IMPORTED}", "content_differs", "told", "import"),
    Damage("imported item's hash altered", f"UPDATE items SET content_hash = 'b' WHERE id = {IMPORTED}", "content_differs"),
    Damage("imported item's labels deleted", f"DELETE FROM item_labels WHERE item_id = {IMPORTED}", "document_outdated", "healed", "import"),
    Damage("imported notes altered", "UPDATE notes SET body = 'a lie' WHERE project_id = 2", "document_outdated", "healed", "import"),
    Damage("imported links deleted", "DELETE FROM item_links WHERE project_id = 2", "row_differs"),
    # what waits, and what was learned
    Damage("waiting work lost", f"DELETE FROM documents WHERE id = {DOCUMENT}; DELETE FROM jobs", "item_without_document"),
    Damage("work on nothing", "INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'embed', '9999', 0)", "job_of_nothing"),
    Damage("work counted wrongly", "INSERT INTO jobs (project_id, kind, key, queued_at, attempt_count) VALUES (1, 'threads', 'issue:1', 0, -3)", "job_miscounted"),
    Damage("calibration garbled", "UPDATE calibrations SET report = '{'", "learned_malformed"),
    Damage("calibration without sense", "UPDATE calibrations SET most = 7.5", "learned_malformed"),
    Damage("calibration altered", "UPDATE calibrations SET slope = slope / 2", outcome="unseen", why="fitting it again takes minutes; calibrate does"),
    # bytes
    Damage("bytes of an item's text garbled", garbled_text("items", "body", f"id = {ITEM}"), "text_unreadable"),
    Damage("bytes of notes garbled", garbled_text("notes", "body", "project_id = 1"), "text_unreadable"),
    Damage("bytes of documents garbled", garbled_text("document_texts", "text"), "text_unreadable"),
    Damage("bytes of an imported text garbled", garbled_text("items", "body", f"id = {IMPORTED}"), "text_unreadable", "told", "import"),
    Damage("pages garbled", pages(None, 3), "damaged_file", "told", "anew"),
    Damage("first pages garbled", pages(1, 1), outcome="refused"),
    Damage("file cut in half", truncated, outcome="refused"),
    Damage("log lost", without_its_log, outcome="unseen", why="what is left is whole, and older; the next sync brings the rest"),
    Damage("first bytes garbled", write(b"\0" * 64), outcome="refused"),
    Damage("mark of the program altered", write(b"\0\0\0\1", 68), outcome="refused"),
    Damage("file emptied", lambda path: os.truncate(path, 0), outcome="refused"),
    Damage("another kind of file", write(b"hello" * 5000), outcome="refused"),
    Damage("file of code with another text", "INSERT INTO code_files (project_id, path, blob, language, size, text, text_hash) VALUES (1, 'a.py', 'b', '', 1, 'x', x'00')", "code_differs"),
    Damage("schema version dropped", "DROP TABLE schema_version", outcome="refused"),
    Damage("schema version lowered", "DELETE FROM schema_version WHERE version > 3", outcome="refused"),
    Damage("schema version of the future", "INSERT INTO schema_version VALUES (99, 'future', '', 0)", outcome="refused"),
]  # fmt: skip
