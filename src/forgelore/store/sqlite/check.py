"""Whether full text and vectors are what their documents say, as far as SQLite alone can tell.

Full text is verified in three ways, since none of them is enough alone:

- FTS5 compares every word of every text with its index. It reads the index from the first page to the last.
- A search does not: it looks a word up. So words are looked up and must give as many documents as reading them gave:
  all words that are not rare, and at most `_RARE` of the rare ones, others in each run.
- Words of some documents, chosen at random, are searched for.

A packed vector restores to length 1 (`text/values`): one that does not was changed since. Whether it is the vector of
*its* text only the embedder can tell, which `index/check` asks for a sample.
"""

import json
import random
from collections import Counter

from forgelore.errors import CorruptStore, StoreError
from forgelore.records import HashedText
from forgelore.store.database import Store, by_engine
from forgelore.store.sqlite.connection import FULL_TEXT, FULL_TEXTS, SHADOWS, source_of, texts_of
from forgelore.store.sqlite.fulltext import MIN_COMMON, make_stemmer
from forgelore.store.sqlite.schema import expected_schema
from forgelore.store.sqlite.vector_rows import packed_size
from forgelore.text.values import PackedVector
from forgelore.words import Source

Fault = tuple[str, str, int]  # the finding's name, what people call it, id of the row to repair
_NOT_RARE = 20  # documents: such words fill pages of the index almost by themselves
_RARE = 25_000  # looked up at most: about two seconds
_WORDS, _CHARS = 5, 4_000  # asked for of a document at least, from its beginning
_LOOKUPS = 500  # of few documents more words are asked for, up to so many in all: about 20 ms


@by_engine
def find_word_damage(store: Store) -> list[str]:
    """Return why full text does not fit its texts, that of people or that of cards."""
    return [line for name in FULL_TEXTS.values() for line in _find_damage(store, name)]


def _find_damage(store: Store, name: str) -> list[str]:
    """Return why a full-text table does not fit its texts, by FTS5's own comparison of every word.

    That comparison is an INSERT, which would wait for a running sync and keep it waiting. So it is made on a copy of
    the index among the temporary tables, which nobody else sees: copying costs a twentieth of comparing.
    """
    sql, copy = expected_schema()[name].sql, f"compared_{name}"
    try:
        store.run(f"CREATE TEMP VIEW {copy}_texts AS {texts_of(name)}")
        store.run(sql.replace(name, f"temp.{copy}").replace("document_texts", f"{copy}_texts"))
        for shadow in SHADOWS:
            store.run(f"DELETE FROM temp.{copy}_{shadow}")
            store.run(f"INSERT INTO temp.{copy}_{shadow} SELECT * FROM main.{name}_{shadow}")
        store.run(f"INSERT INTO temp.{copy} ({copy}, rank) VALUES ('integrity-check', 1)")
        settings = store.rows(f"SELECT k, v FROM {name}_config WHERE k <> 'version'")
    except StoreError as error:
        complaint = str(error.__cause__).replace(copy, name)
        # FTS5 names the damage, or SQLite says that "the disk image is malformed", which frightens people for nothing.
        is_plain = "fts5" in complaint or not isinstance(error, CorruptStore)
        return [complaint if is_plain else "some words are missing or superfluous"]
    return [f"unexpected setting: {setting} = {value}" for setting, value in settings]


@by_engine
def compare_words(store: Store) -> tuple[list[Fault], int, int]:
    """Look words up, and compare with what reading the index says of them. Returns the words that a lookup does not
    find, or not in all their documents, and those that were counted wrongly; how many were looked up, of how many.
    """
    common: dict[str, int] = dict(store.rows("SELECT word, documents FROM common_words"))
    slack = _growth(store)
    chosen: list[tuple[str, int]] = []
    miscounted = [word for word, count in common.items() if not isinstance(count, int)]
    total = int(store.value("SELECT count(*) FROM documents_vocab"))
    step = 1 + total // _RARE
    first = random.randrange(step)  # noqa: S311 - a sample
    for at, (term, documents) in enumerate(store.each("SELECT term, doc FROM documents_vocab")):
        if documents >= _NOT_RARE or at % step == first:
            chosen.append((term, documents))
        known = common.pop(term, None)
        if isinstance(known, int) and abs(known - documents) > slack + max(MIN_COMMON, max(known, documents) // 2):
            miscounted.append(term)
    miscounted += [word for word, count in common.items() if isinstance(count, int) and count > slack + MIN_COMMON]
    faults = [
        ("words_lost", term, 0)
        for term, documents in chosen
        if store.value("SELECT doc FROM documents_vocab WHERE term = ?", term) != documents
    ]
    return [*faults, *(("words_miscounted", word, 0) for word in miscounted)], len(chosen), total


def _growth(store: Store) -> int:
    """Return how many documents came or went since common words were counted: so much a count may be behind."""
    now = int(store.value(f"SELECT count(*) FROM {FULL_TEXT}_docsize"))
    counted = store.value("SELECT value FROM index_facts WHERE name = 'documents_counted'")
    return abs(now - counted) if isinstance(counted, int) else 0


def find_unmatched(store: Store, size: int) -> tuple[list[tuple[int, str]], int]:
    """Ask for words of some documents; return (document, word) that a search misses, and how many documents were asked.

    Documents whose text is not there, or has no words, have nothing to ask for.
    """
    stem = make_stemmer(store)
    missed: list[tuple[int, str]] = []
    sql = """
        SELECT t.id, t.title || char(10) || substr(t.text, 1, ?), length(t.text), d.representation
        FROM document_texts t
        LEFT JOIN documents d ON d.id = t.id
        WHERE t.id IN (SELECT id FROM document_texts ORDER BY random() LIMIT ?)
    """
    rows = store.rows(sql, _CHARS, size)
    share = max(_WORDS, _LOOKUPS // max(len(rows), 1))
    for document_id, text, length, representation in rows:
        # A word that ends at the cut may be half of one.
        last = len(text) if length <= _CHARS else len(text) - 1
        words = list(dict.fromkeys(text[start:end] for start, end, _ in stem(text) if end <= last))
        for word in random.sample(words, min(share, len(words))):
            if not is_found(store, source_of(representation), document_id, word):
                missed.append((document_id, word))
                break
    return missed, len(rows)


@by_engine
def is_found(store: Store, source: Source, document_id: int, word: str) -> bool:
    """Whether a document is found by a word."""
    name = FULL_TEXTS[source]
    sql = f"SELECT 1 FROM {name} WHERE {name} MATCH ? AND rowid = ?"
    try:
        return store.row(sql, f'"{word}"', document_id) is not None
    except StoreError:
        return False


def has_no_job(kind: str, row: str) -> str:
    """Return the condition that a row of items or documents, by its alias, does not wait for a job of a kind."""
    return f"""NOT EXISTS (
        SELECT 1
        FROM jobs j
        WHERE j.project_id = {row}.project_id AND j.kind = '{kind}' AND j.key = CAST({row}.id AS TEXT)
    )"""


# Name of a finding -> the statement whose rows are (what people call it, id of the row to repair).
WORD_CHECKS = {
    "words_missing": """
        SELECT 'document ' || t.id, t.id
        FROM document_texts t
        WHERE t.id NOT IN (SELECT id FROM documents_fts_docsize)
          AND t.id NOT IN (SELECT id FROM cards_fts_docsize)
        """,
    "words_extra": """
        SELECT 'document ' || f.id, f.id
        FROM (
            SELECT id
            FROM documents_fts_docsize
            UNION ALL
            SELECT id
            FROM cards_fts_docsize
        ) f
        WHERE f.id NOT IN (SELECT id FROM document_texts)
        """,
}
VECTOR_CHECKS = {
    "vector_of_other_text": f"""
        SELECT 'document ' || d.id || ', chunk ' || c.position, c.id
        FROM chunks c
        JOIN documents d ON d.id = c.document_id
        WHERE (c.text_hash <> substr(d.content_hash, 1, 8) OR c.is_card <> (d.representation = 'intent'))
          AND {has_no_job("embed", "d")}
        """,
    "vector_incomplete": """
        SELECT 'document ' || document_id, min(id)
        FROM chunks
        GROUP BY document_id, embedder_id
        HAVING count(*) <> max(position) + 1
        """,
}
# document_without_vectors: the same for one embedder, whose id is bound.
UNEMBEDDED = f"""
    SELECT 'document ' || d.id, d.id
    FROM documents d
    WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id AND c.embedder_id = ?)
      AND {has_no_job("embed", "d")}
"""


_SAMPLE = """
    SELECT d.id, d.content_hash, t.title, t.text
    FROM documents d
    JOIN document_texts t ON t.id = d.id
    WHERE d.id IN (
        SELECT DISTINCT c.document_id
        FROM chunks c
        WHERE c.embedder_id = ? AND NOT EXISTS (
            SELECT 1
            FROM jobs j
            WHERE j.project_id = c.project_id AND j.kind = 'embed' AND j.key = CAST(c.document_id AS TEXT))
        ORDER BY random()
        LIMIT ?)
"""
_CHUNKS_OF_SAMPLE = """
    SELECT document_id, start_at, end_at, scale, vector
    FROM chunks
    WHERE embedder_id = ? AND document_id IN (SELECT value FROM json_each(?))
    ORDER BY document_id, position
"""


SampledDocument = tuple[HashedText, list[tuple[int, int, PackedVector]]]  # with where its chunks begin and end


@by_engine
def measure_vectors(store: Store) -> tuple[list[Fault], dict[int, int]]:
    """Look at every vector: return those of the wrong size or length, and embedder -> the size that its vectors really
    have, where its row says another. What most of the good ones agree on is their size.
    """
    malformed: list[Fault] = []
    dimensions: dict[int, int] = {}
    for embedder_id, dimension in store.rows("SELECT id, dimension FROM embedders"):
        odd: list[tuple[int, Fault]] = []
        sizes: Counter[int] = Counter()
        for scale, vector, chunk_id, document_id, position in store.each(
            "SELECT scale, vector, id, document_id, position FROM chunks WHERE embedder_id = ? ORDER BY id", embedder_id
        ):
            size = packed_size(scale, vector)
            sizes[size] += 1
            if size != dimension:
                odd.append((size, ("vector_malformed", f"document {document_id}, chunk {position}", chunk_id)))
        usual = next((size for size, _ in sizes.most_common() if size), dimension)
        if usual != dimension:
            dimensions[embedder_id] = usual
        malformed += [fault for size, fault in odd if size != usual]
    return malformed, dimensions


@by_engine
def sample_vectors(store: Store, embedder_id: int, size: int) -> list[SampledDocument]:
    """Return some documents that have vectors of this embedder and do not wait for new ones, chosen at random."""
    rows = store.rows(_SAMPLE, embedder_id, size)
    chunks: dict[int, list[tuple[int, int, PackedVector]]] = {}
    ids = json.dumps([row[0] for row in rows])
    for document_id, start, end, *packed in store.each(_CHUNKS_OF_SAMPLE, embedder_id, ids):
        chunks.setdefault(document_id, []).append((start, end, PackedVector(*packed)))
    return [(HashedText(*row), chunks[row[0]]) for row in rows]
