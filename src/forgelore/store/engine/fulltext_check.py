"""Checks of full text: whether it finds what its texts say, proved in three ways. None of them is enough alone.

- FTS5 compares every word of every text with its index. It reads the index from the first page to the last.
- A search does not: it looks a word up. So words are looked up and must give as many documents as reading them gave:
  all words that are not rare, and of the rare ones some `_RARE` at most, others in each run.
- Words of some documents, chosen at random, are asked for as a search asks.
"""

import random
from typing import NamedTuple

from forgelore.errors import CorruptStore, StoreError
from forgelore.store.db import Store
from forgelore.store.engine.tables import CARD_TEXT, FULL_TEXT, SHADOWS, texts_of
from forgelore.store.engine.words import MIN_COMMON, make_stemmer
from forgelore.store.schema_check import expected_schema

_NOT_RARE = 20  # documents: such words fill pages of the index almost by themselves
_RARE = 25_000  # looked up at most: about two seconds
_WORDS, _CHARS = 5, 4_000  # asked for of a document, from its beginning


class WordComparison(NamedTuple):
    """Words that a lookup does not find, or not in all their documents; words that were counted wrongly once; and how
    many were looked up, of how many.
    """

    lost: list[str]
    miscounted: list[str]
    checked: int
    total: int


def find_word_damage(store: Store) -> list[str]:
    """Return why full text does not fit its texts, that of people or that of cards."""
    return [line for name in (FULL_TEXT, CARD_TEXT) for line in _find_damage(store, name)]


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
        return [complaint if is_plain else "some words are missing or too many"]
    return [f"{setting} = {value}, which nobody of ours sets" for setting, value in settings]


def compare_words(store: Store) -> WordComparison:
    """Look words up, and compare with what reading the index says of them."""
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
    lost = [
        term
        for term, documents in chosen
        if store.value("SELECT doc FROM documents_vocab WHERE term = ?", term) != documents
    ]
    return WordComparison(lost, miscounted, len(chosen), total)


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
        SELECT t.id, t.title || char(10) || substr(t.text, 1, ?), d.representation IS 'intent'
        FROM document_texts t
        LEFT JOIN documents d ON d.id = t.id
        WHERE t.id IN (SELECT id FROM document_texts ORDER BY random() LIMIT ?)
    """
    rows = store.rows(sql, _CHARS, size)
    for document_id, text, is_card in rows:
        words = list(dict.fromkeys(text[start:end] for start, end, _ in stem(text)))
        for word in random.sample(words, min(_WORDS, len(words))):
            if not _is_found(store, CARD_TEXT if is_card else FULL_TEXT, document_id, word):
                missed.append((document_id, word))
                break
    return missed, len(rows)


def _is_found(store: Store, name: str, document_id: int, word: str) -> bool:
    sql = f"SELECT 1 FROM {name} WHERE {name} MATCH ? AND rowid = ?"
    try:
        return store.row(sql, f'"{word}"', document_id) is not None
    except StoreError:
        return False
