"""How many documents hold a word: what tells a rare word from a common one.

FTS5 counts by walking a word's whole list, milliseconds for a common one. So the common ones are counted once, when
the index has grown by a quarter, and the rare ones when they are asked for.
"""

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
    tokenize = store.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))

    def stem(text: str) -> list[tuple[int, int, str]]:
        data = text.encode()
        tokens: Any = tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return char_offsets(data, tokens)

    return stem


def count_documents(store: Store) -> int:
    return int(store.value("SELECT count(*) FROM documents_fts_docsize"))


def has_documents(store: Store) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM documents_fts_docsize)"))


def estimate_documents(store: Store) -> int:
    """Return about how many there are, without counting them: 2 ms of a search at 100,000."""
    return int(store.value("SELECT max(id) FROM documents") or 0)


def load_document_counts(store: Store, stems: Iterable[str]) -> dict[str, int]:
    """Return how many documents hold each stem; a stem that none holds is missing."""
    found: dict[str, int] = {}
    for stem in dict.fromkeys(stems):
        common = store.value("SELECT documents FROM common_words WHERE word = ?", stem)
        count = common or store.value("SELECT doc FROM documents_vocab WHERE term = ?", stem)
        if count:
            found[stem] = count
    return found


def refresh_common_words(store: Store, *, is_forced: bool = False) -> bool:
    """Count the common words anew if the index has grown or shrunk enough; returns whether it did."""
    now = count_documents(store)
    before = store.value("SELECT value FROM index_facts WHERE name = 'documents_counted'") or 0
    if not is_forced and isinstance(before, int) and abs(now - before) <= _GROWTH * max(before, 1):
        return False
    floor = max(MIN_COMMON, int(now * COMMON_SHARE))
    rows = store.rows("SELECT term, doc FROM documents_vocab WHERE doc >= ?", floor)  # before the writer's turn begins
    with store.transaction():
        store.run("DELETE FROM common_words")
        store.run_many("INSERT INTO common_words (word, documents) VALUES (?, ?)", rows)
        store.run(
            "INSERT INTO index_facts (name, value) VALUES ('documents_counted', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value", now,
        )  # fmt: skip
    return True
