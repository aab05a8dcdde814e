"""The tables of the engine, as tests damage them and read them back: the one file of tests that names them.

Another engine brings its own, with the same names. What can be asked of the engine's functions is asked there instead.
SQL runs without foreign keys, as another program would run it; `document` and `other` are expressions for ids.
"""

import random
from collections.abc import Callable
from unittest import mock

import apsw

from forgelore.store.documents import list_embedders
from forgelore.store.sqlite import vector_memory
from forgelore.store.sqlite.schema import open_store

VECTORS = "chunks"  # the table whose rows are vectors, and whose ids are never used twice
DROPPED = (
    "documents_fts", "documents_fts_data", "documents_fts_idx", "documents_fts_docsize", "documents_fts_config",
    "documents_vocab", "common_words", "index_facts", "chunks", "second_vectors",
)  # fmt: skip

# Without row ids: a run that was disturbed must give the same.
WORD_COUNTS = "SELECT term, doc, cnt FROM documents_vocab"
VECTORS_OF_ITEMS = (
    "SELECT i.number, d.thread_key, c.position, c.start_at, c.end_at, c.text_hash, c.scale, c.vector FROM chunks c"
    " JOIN documents d ON d.id = c.document_id JOIN items i ON i.id = d.item_id"
)

REFILL_WORDS = "INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')"
ZERO_VECTORS = "UPDATE chunks SET vector = zeroblob(length(vector))"
DOUBLE_VECTORS = "UPDATE chunks SET scale = 2.0 * scale"
SAME_VECTOR_FOR_ALL = "UPDATE chunks SET (scale, vector) = (SELECT scale, vector FROM chunks ORDER BY id DESC LIMIT 1)"
DOUBLE_SECONDS = "UPDATE second_vectors SET scale = 2.0 * scale WHERE document_id = 1"
SWAP_SECONDS = """
    UPDATE second_vectors
    SET (scale, vector) = (SELECT scale, vector FROM second_vectors ORDER BY document_id DESC LIMIT 1)
    WHERE document_id = 1
"""
GHOST_WORDS = "INSERT INTO documents_fts (rowid, title, text, terms) VALUES (9999, 'ghost', 'ghost', '')"

INSERT_VECTOR = """
    INSERT INTO chunks (id, project_id, document_id, embedder_id, position, start_at, end_at, text_hash, scale, vector)
    VALUES (?, 1, ?, ?, 0, 0, 1, x'', 0.01, ?)
"""
FORGET_VECTORS = "DELETE FROM chunks WHERE document_id = ?"
COUNT_MATCHED_ITEMS = """
    SELECT count(DISTINCT d.item_id)
    FROM documents_fts f
    JOIN documents d ON d.id = f.rowid
    WHERE documents_fts MATCH ?
"""

# The record of an FTS5 index that has no segments, so that no word is found and nothing looks damaged.
NO_SEGMENTS = "UPDATE documents_fts_data SET block = x'00000000000000' WHERE id = 10"

# What keeps a store from being searched: SQL, and what `doctor` says of it.
UNSEARCHABLE = {
    "full text emptied": (NO_SEGMENTS, "of its own documents"),
    "full text without settings": ("DELETE FROM documents_fts_config", "fts5"),
    "full text dropped": ("DROP TABLE documents_fts", "tables are missing: documents_fts"),
    "vectors' table dropped": ("DROP TABLE chunks", "tables are missing: chunks"),
}


def lose_words(document: object) -> str:
    """That a document has words is forgotten; the words are still there."""
    return f"DELETE FROM documents_fts_docsize WHERE id = {document}"


def drop_words(document: str) -> str:
    """The words of a document go, as if it had left."""
    return (
        "INSERT INTO documents_fts (documents_fts, rowid, title, text, terms)"
        f" SELECT 'delete', * FROM document_texts WHERE id = {document}"
    )


def vector_drift(document: str) -> dict[str, str]:
    """Finding -> SQL that is the reason for it, in one document that has one chunk."""
    return {
        "vector_of_other_text": f"UPDATE chunks SET text_hash = x'0011223344556677' WHERE document_id = {document}",
        "vector_malformed": f"UPDATE chunks SET vector = x'00' WHERE document_id = {document}",
        "vector_incomplete": f"UPDATE chunks SET position = 3 WHERE document_id = {document}",
        "document_without_vectors": f"DELETE FROM chunks WHERE document_id = {document}",
    }


def further_drift(document: str) -> list[tuple[str, str]]:
    """(finding, SQL): other reasons for the same."""
    return [
        ("vector_malformed", f"UPDATE chunks SET scale = 9e999 WHERE document_id = {document}"),
        ("vector_malformed", f"UPDATE chunks SET scale = 0.0 WHERE document_id = {document}"),
        ("vector_malformed", f"UPDATE chunks SET scale = -1.0 WHERE document_id = {document}"),
        ("vector_malformed", f"UPDATE chunks SET scale = scale * 2 WHERE document_id = {document}"),
        ("broken_references", "UPDATE chunks SET embedder_id = 999 WHERE document_id = 1"),
        ("words_damaged", "UPDATE documents_fts_data SET block = zeroblob(64) WHERE id > 10"),
    ]


def word_damages(document: str) -> list[tuple[str, str, str]]:
    """(name, SQL, finding) of the full-text index and its shadows."""
    return [
        ("words: lookup table emptied", "DELETE FROM documents_fts_idx", "words_lost"),
        ("words: lookup table halved", "DELETE FROM documents_fts_idx WHERE pgno > 3", "words_lost"),
        ("words: lookup terms garbled", "UPDATE documents_fts_idx SET term = x'7a7a7a' || pgno", "words_damaged"),
        ("words: data emptied", "DELETE FROM documents_fts_data", "words_damaged"),
        ("words: segments deleted", "DELETE FROM documents_fts_data WHERE id > 10", "words_damaged"),
        ("words: one page deleted", "DELETE FROM documents_fts_data WHERE id = (SELECT max(id) FROM documents_fts_data)", "words_damaged"),
        ("words: pages garbled", "UPDATE documents_fts_data SET block = randomblob(64) WHERE id > 10", "words_damaged"),
        ("words: structure garbled", "UPDATE documents_fts_data SET block = x'00' WHERE id = 10", "words_damaged"),
        ("words: structure deleted", "DELETE FROM documents_fts_data WHERE id = 10", "words_damaged"),
        ("words: averages deleted", "DELETE FROM documents_fts_data WHERE id = 1", "words_damaged"),
        ("words: averages garbled", "UPDATE documents_fts_data SET block = x'01020304' WHERE id = 1", "words_damaged"),
        ("words: sizes emptied", "DELETE FROM documents_fts_docsize", "words_missing"),
        ("words: one size deleted", lose_words(document), "words_missing"),
        ("words: sizes garbled", "UPDATE documents_fts_docsize SET sz = x'010101'", "words_damaged"),
        ("words: settings emptied", "DELETE FROM documents_fts_config", "words_damaged"),
        ("words: version altered", "UPDATE documents_fts_config SET v = 99", "words_damaged"),
        ("words: a setting added", "INSERT INTO documents_fts_config VALUES ('rank', 'nothing()')", "words_damaged"),
        ("words: of a ghost", GHOST_WORDS, "words_extra"),
        ("words: counts of common words altered", "INSERT INTO common_words (word, documents) VALUES ('crash', 100000)", "words_miscounted"),
        ("words: counts garbled", "INSERT INTO common_words (word, documents) VALUES ('crash', 'many')", "words_miscounted"),
    ]  # fmt: skip


# (name, SQL, why no check can see it)
UNSEEN = [
    (
        "words: count of a common word a little off",
        "INSERT INTO common_words (word, documents) VALUES ('crash', 40)",
        "counts are made when the index has grown by a quarter, and may be behind by as much",
    )
]


def vector_damages(document: str, other: str) -> list[tuple[str, str | Callable[[str], None], str]]:
    """(name, SQL or what is done to the file, finding) of vectors."""
    return [
        ("vectors randomised", _rewrite(_randomised), "vector_differs"),
        ("vectors swapped", _rewrite(_swapped), "vector_differs"),
        ("one vector of another document", f"UPDATE chunks SET (scale, vector) = (SELECT scale, vector FROM chunks WHERE document_id = {other}) WHERE document_id = {document}", "vector_differs"),
        ("vectors rescaled", "UPDATE chunks SET scale = scale * 3", "vector_malformed"),
        ("vectors zeroed", ZERO_VECTORS, "vector_malformed"),
        ("vector's scale infinite", f"UPDATE chunks SET scale = 9e999 WHERE document_id = {document}", "vector_malformed"),
        ("vector's scale is not a number", f"UPDATE chunks SET scale = 'nan' WHERE document_id = {document}", "vector_malformed"),
        ("one vector cut", f"UPDATE chunks SET vector = substr(vector, 1, 5) WHERE document_id = {document}", "vector_malformed"),
        ("all vectors cut", "UPDATE chunks SET vector = substr(vector, 1, 20)", "vector_malformed"),
        ("vectors deleted", "DELETE FROM chunks", "document_without_vectors"),
        ("part of a document's vectors deleted", "DELETE FROM chunks WHERE position = 0 AND document_id IN (SELECT document_id FROM chunks WHERE position = 1)", "vector_incomplete"),
        ("vector of an older text", f"UPDATE chunks SET text_hash = x'0011223344556677' WHERE document_id = {document}", "vector_of_other_text"),
        ("vector's place in the text altered", f"UPDATE chunks SET start_at = 3, end_at = 9 WHERE document_id = {document}", "vector_differs"),
        ("second vector damaged", f"INSERT INTO second_vectors SELECT id, project_id, 'minilm:x:1', substr(content_hash, 1, 8), 9.0, x'0102' FROM documents WHERE id = {document}", "second_vector_wrong"),
        ("file of vectors altered", _alter_file, "vector_file_differs"),
        ("vectors of a document that is gone", "UPDATE chunks SET document_id = 9999 WHERE id = 1", "broken_references"),
        ("vectors of an embedder that is gone", "UPDATE chunks SET embedder_id = 9 WHERE id < 5", "broken_references"),
        ("vectors given to another embedder", "INSERT INTO embedders VALUES (9, 'other', 'other', 'other', 64, 0); UPDATE chunks SET embedder_id = 9 WHERE id < 5", "document_without_vectors"),
    ]  # fmt: skip


def _alter_file(path: str) -> None:
    """Write the file of vectors that a larger store would have, and change some of its bytes."""
    store = open_store(path)
    with mock.patch.object(vector_memory, "MIN_ROWS", 1):
        (embedder,) = list_embedders(store)
        assert vector_memory.refresh_file(store, embedder)
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    with open(path + "-vectors", "rb+") as file:
        file.seek(4100)
        file.write(b"\x01\x02\x03")


def _rewrite(change: Callable[[list], list]) -> Callable[[str], None]:
    """Rewrite (id, scale, vector) of all chunks."""

    def act(path: str) -> None:
        connection = apsw.Connection(path)
        rows = list(connection.execute("SELECT id, scale, vector FROM chunks ORDER BY id"))
        with connection:
            connection.executemany(
                "UPDATE chunks SET scale = ?2, vector = ?3 WHERE id = ?1", change([list(row) for row in rows])
            )
        connection.close()

    return act


def _randomised(rows):
    generator = random.Random(5)
    for row in rows:
        numbers = [generator.randrange(-127, 128) for _ in row[2]]
        row[1] = sum(number * number for number in numbers) ** -0.5
        row[2] = bytes(number % 256 for number in numbers)
    return rows


def _swapped(rows):
    """Each document gets the vector of the next: every one is a good vector, of another text."""
    return [[row[0], *other[1:]] for row, other in zip(rows, rows[1:] + rows[:1], strict=True)]


def card_damages(card: str) -> list[tuple[str, str]]:
    """(finding, SQL) of the words and vectors of cards; `card` is an expression for a card's document."""
    words_of_card = f"SELECT id, title, text, terms FROM document_texts WHERE id = {card}"
    return [
        ("words_missing", f"DELETE FROM cards_fts_docsize WHERE id = {card}"),
        ("words_extra", "INSERT INTO cards_fts (rowid, title, text, terms) VALUES (9999, 'ghost', 'ghost', '')"),
        ("words_damaged", f"INSERT INTO documents_fts (rowid, title, text, terms) {words_of_card}"),
        ("words_damaged", "DELETE FROM cards_fts_data WHERE id > 10"),
        ("words_damaged", "INSERT INTO cards_fts_config VALUES ('rank', 'nothing()')"),
        ("table_missing", "DROP TABLE cards_fts"),
        ("vector_of_other_text", f"UPDATE chunks SET is_card = 0 WHERE document_id = {card}"),
        ("vector_of_other_text", "UPDATE chunks SET is_card = 1 WHERE id = 1"),
        ("document_without_vectors", f"DELETE FROM chunks WHERE document_id = {card}"),
        ("vector_differs", f"UPDATE chunks SET start_at = 3, end_at = 9 WHERE document_id = {card}"),
    ]


# What can happen to files and commits of clones.
CODE_DAMAGES = (
    "UPDATE code_files SET text = text || 'x' WHERE path = 'README.md'",
    "UPDATE code_chunks SET end_line = end_line + 1",
    "DELETE FROM code_chunks WHERE position = 0",
    "DELETE FROM code_files WHERE path = 'README.md'",
    "DELETE FROM commits",
    "DELETE FROM code_fts WHERE rowid = 1",
    "DELETE FROM code_fts_data WHERE id > 100",
    "DELETE FROM commits_fts_docsize",
    "DROP TABLE commits_fts",
    "DROP TABLE code_fts_idx",
    "DROP TABLE code_chunks",
    "DROP TABLE code_vocab",
    "DROP INDEX commit_paths_by_path",
)
