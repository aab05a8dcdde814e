"""The lexical half of the evaluation: an item as a full-text query, as the product asks it, over an index like its."""

import apsw

from forgelore.compare.sameness import distinctive_terms
from forgelore.text.terms import build_terms

WEIGHTS = "3.0, 1.0, 0.5"  # of title, text and terms, as in store/sqlite/fulltext.py


class Index:
    """Items in the order of their creation; ids are their places."""

    def __init__(self, items, excluded):
        self._items = items
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, kind TEXT, created TEXT, ok INTEGER)")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(title, body, terms, tokenize='porter unicode61')")
        self._db.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")
        with self._db:
            for at, item in enumerate(items):
                title, body = _sound(item["title"]), _sound(item["body"])
                row = (at, item["kind"], item["created_at"], item["number"] not in excluded)
                self._db.execute("INSERT INTO items VALUES (?, ?, ?, ?)", row)
                texts = (at, title, body, build_terms(title, body))
                self._db.execute("INSERT INTO words (rowid, title, body, terms) VALUES (?, ?, ?, ?)", texts)
        self._counts = dict(self._db.execute("SELECT term, doc FROM vocabulary"))
        self._stem = self._db.fts5_tokenizer("porter", ["unicode61"])

    def search(self, at, *, limit):
        """Return place and score of earlier items of the same kind, best first."""
        item = self._items[at]
        title, body = _sound(item["title"]), _sound(item["body"])
        terms = distinctive_terms(title, body, document_count=self._document_count, total=len(self._items))
        if not terms:
            return []
        # The plus keeps SQLite from asking the index once per candidate.
        rows = self._db.execute(
            f"SELECT rowid, -bm25(words, {WEIGHTS}) AS score FROM words WHERE words MATCH ? AND +rowid IN"
            " (SELECT id FROM items WHERE kind = ? AND created < ? AND ok) AND +rowid <> ?"
            " ORDER BY score DESC, rowid LIMIT ?",
            (
                " OR ".join(f'"{term}"' for term, times in terms for _ in range(times)),
                item["kind"],
                item["created_at"],
                at,
                limit,
            ),
        )
        return [(row, round(score, 3)) for row, score in rows]

    def _document_count(self, words):
        return {word: count for word in words if (count := self._counts.get(self._stemmed(word), 0))}

    def _stemmed(self, word):
        found = self._stem(
            word.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return found[0] if found else word


def _sound(text):
    return (text or "").replace("\0", " ")
