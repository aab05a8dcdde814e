"""A real full-text table with our schema and tokenizer, for the laws about words."""

import apsw

from forgelore.text.terms import TOKENIZER, char_offsets, list_terms

SCHEMA = f"""
CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT, text TEXT, terms TEXT);
CREATE VIRTUAL TABLE texts_fts USING fts5(
  title, text, terms, content='documents', content_rowid='id', tokenize='{" ".join(TOKENIZER)}', detail=full);
"""


class FullText:
    """`between` stands between the entries of the terms column: a word that nobody asks for keeps them apart."""

    def __init__(self, between=" "):
        self._between = between
        self.db = apsw.Connection(":memory:")
        self.db.execute(SCHEMA)
        self._tokenizer = self.db.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))

    def replace(self, *texts):
        """Hold these documents and nothing else, numbered from 1; a pair is (title, text)."""
        self.db.execute("INSERT INTO texts_fts(texts_fts) VALUES('delete-all'); DELETE FROM documents")
        for number, entry in enumerate(texts, 1):
            title, text = entry if isinstance(entry, tuple) else ("", entry)
            row = (number, title, text, self._between.join(list_terms(title, text)))
            self.db.execute("INSERT INTO documents VALUES(?, ?, ?, ?)", row)
            self.db.execute("INSERT INTO texts_fts(rowid, title, text, terms) VALUES(?, ?, ?, ?)", row)
        return self

    def find(self, expression):
        sql = "SELECT rowid FROM texts_fts WHERE texts_fts MATCH ? ORDER BY rowid"
        return [row[0] for row in self.db.execute(sql, (expression,))] if expression else []

    def tokens(self, text):
        data = text.encode()
        found = self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return char_offsets(data, found)

    def stems(self, text):
        return [stem for _, _, stem in self.tokens(text)]
