"""Words as full text has them: a text's stems, and how many documents hold one, which tells a rare word from a common.

FTS5 counts by walking a word's whole list, milliseconds for a common one. So the common ones are counted once, when
the index has grown by a quarter, and the rare ones when they are asked for.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import apsw

from forgelore.core.search.snippets import char_offsets
from forgelore.core.search.terms import TOKENIZER
from forgelore.store.db import Store

COMMON_SHARE = 0.005  # a word in more than 1 of 200 documents
MIN_COMMON = 50  # below that, counting is cheap anyway
_GROWTH = 0.25


Stemmer = Callable[[str], list[tuple[int, int, str]]]


def make_stemmer(store: Store) -> Stemmer:
    """Return the index's own tokenizer: text -> (first character, character behind the last, stem) of each word."""
    tokenize = _tokenizer(store)

    def stem(text: str) -> list[tuple[int, int, str]]:
        data = text.encode()
        return char_offsets(data, tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None))

    return stem


def make_stems(store: Store) -> Callable[[str], list[str]]:
    """Return the index's own tokenizer: text -> stems, in order. Without places it takes a quarter of the time."""
    tokenize = _tokenizer(store)

    def stems(text: str) -> list[str]:
        data = text.encode(errors="replace")
        found = tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return list(found)

    return stems


def _tokenizer(store: Store) -> Any:
    """What a call gives depends on its flags, which apsw's types do not tell."""
    return store.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))


def count_documents(store: Store, project_id: int | None = None, *, is_public: bool = False) -> int:
    """Return how many full text holds, of one project or of all; cards are counted apart. `is_public`: without those of
    confidential items, of which there are no cards.
    """
    hidden = "AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = w.id AND d.is_confidential)"
    sql = f"""
        SELECT count(*)
        FROM documents_fts_docsize w
        WHERE (?1 IS NULL OR EXISTS (SELECT 1 FROM documents d WHERE d.id = w.id AND d.project_id = ?1))
          {hidden if is_public else ""}
    """
    return int(store.value(sql, project_id))


def count_cards(store: Store, project_id: int | None = None) -> int:
    """Return how many cards full text holds, of one project or of all."""
    sql = """
        SELECT count(*)
        FROM cards_fts_docsize w
        WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM documents d WHERE d.id = w.id AND d.project_id = ?1)
    """
    return int(store.value(sql, project_id))


def has_documents(store: Store) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM documents_fts_docsize)"))


def estimate_documents(store: Store) -> int:
    """Return about how many there are, cards aside, without counting them: 2 ms of a search at 100,000."""
    return int(store.value("SELECT max(id) FROM documents_fts_docsize") or 0)


def load_document_counts(store: Store, stems: Iterable[str]) -> dict[str, int]:
    """Return how many documents hold each stem; a stem that none holds is missing.

    Two questions for all: one by one they take three times as long.
    """
    wanted = list(dict.fromkeys(stems))
    common = """
        SELECT word, documents
        FROM common_words
        WHERE word IN (SELECT value FROM json_each(?))
    """
    found: dict[str, int] = dict(store.rows(common, json.dumps(wanted)))
    rare = """
        SELECT term, doc
        FROM documents_vocab
        WHERE term IN (SELECT value FROM json_each(?))
    """
    found.update(store.rows(rare, json.dumps([stem for stem in wanted if stem not in found])))
    return found


def refresh_common_words(store: Store, *, is_forced: bool = False) -> bool:
    """Count the common words anew if the index has grown or shrunk enough; returns whether it did."""
    now = count_documents(store)
    before = store.value("SELECT value FROM index_facts WHERE name = 'documents_counted'") or 0
    if not is_forced and isinstance(before, int) and abs(now - before) <= _GROWTH * max(before, 1):
        return False
    floor = max(MIN_COMMON, int(now * COMMON_SHARE))
    rows = store.rows("SELECT term, doc FROM documents_vocab WHERE doc >= ?", floor)  # before the writer's turn begins
    counted = """
        INSERT INTO index_facts (name, value)
        VALUES ('documents_counted', ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    with store.transaction():
        store.run("DELETE FROM common_words")
        store.run_many("INSERT INTO common_words (word, documents) VALUES (?, ?)", rows)
        store.run(counted, now)
    return True


def forget_common_words(store: Store) -> None:
    """Delete the counts: those of words that were deleted must not stay."""
    store.run("DELETE FROM common_words")
    store.run("DELETE FROM index_facts WHERE name = 'documents_counted'")
