-- Vectors of a second embedder beside those of the first: one more cosine for pairs that are compared anyway. One row
-- per item, of the document of its own text; nothing is searched by them.

CREATE TABLE second_vectors (
  document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,          -- of the embedder
  text_hash BLOB NOT NULL,            -- the first 8 bytes of the content_hash it was made from
  scale REAL NOT NULL,
  vector BLOB NOT NULL                -- empty: the text has nothing to embed
);
