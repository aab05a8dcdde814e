-- What is searched: documents, their full-text index, and the vectors of their chunks. All of it can be rebuilt.

-- Narrow on purpose: filters scan this table, texts lie beside it. A thread's document is named by the thread's key,
-- which survives when its rows are written anew.
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  item_id INTEGER NOT NULL REFERENCES items (id),
  representation TEXT NOT NULL CHECK (representation IN ('item', 'thread', 'intent')),
  thread_key TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,                 -- of the item, also for its threads
  state TEXT,
  author TEXT,                        -- of the item, or of the thread's first note
  created_at BIGINT,
  updated_at BIGINT,
  url TEXT,
  is_confidential INTEGER NOT NULL DEFAULT 0,
  is_truncated INTEGER NOT NULL DEFAULT 0,
  truncated_reason TEXT CHECK (
    truncated_reason IN ('token_limit_middle_drop', 'single_note_oversized', 'first_last_oversized')
  ),
  content_hash BLOB NOT NULL,         -- SHA-256 of title and text: what full text and vectors depend on
  labels_hash BLOB NOT NULL,          -- SHA-256 of the sorted names; equal: document_labels is not touched
  paths_hash BLOB NOT NULL,
  UNIQUE (item_id, representation, thread_key)
);
-- Holds every column that filters ask for, so that resolving one never reads the table.
CREATE INDEX documents_by_filter ON documents (
  project_id, kind, representation, state, created_at, updated_at, author, is_confidential
);
CREATE INDEX documents_by_author ON documents (author COLLATE NOCASE);

CREATE TABLE document_texts (
  id INTEGER PRIMARY KEY REFERENCES documents (id),
  title TEXT NOT NULL,                -- a thread has its item's
  text TEXT NOT NULL,
  terms TEXT NOT NULL                 -- what the tokenizer loses: parts of identifiers, C++, pairs of CJK characters
);

CREATE TABLE document_labels (
  project_id INTEGER NOT NULL,
  document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY (document_id, name)
) WITHOUT ROWID;
CREATE INDEX document_labels_by_name ON document_labels (name COLLATE NOCASE, document_id);

CREATE TABLE document_paths (
  project_id INTEGER NOT NULL,
  document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  PRIMARY KEY (document_id, path)
) WITHOUT ROWID;
CREATE INDEX document_paths_by_path ON document_paths (path, document_id);

-- Written by store/fulltext alone, with the 'delete' command and the old text: triggers take three times as long.
CREATE VIRTUAL TABLE documents_fts USING fts5 (
  title, text, terms, content = 'document_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE documents_vocab USING fts5vocab ('documents_fts', 'row');

-- How many documents hold a word, for words that are not rare: counting those at query time would cost milliseconds.
CREATE TABLE common_words (
  word TEXT PRIMARY KEY,
  documents INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE index_facts (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

-- A fingerprint names everything that shapes a vector. Vectors of different fingerprints never meet.
CREATE TABLE embedders (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  model TEXT NOT NULL,
  fingerprint TEXT NOT NULL UNIQUE,
  dimension INTEGER NOT NULL,
  added_at BIGINT NOT NULL
);

-- A span of a document and its vector: `dimension` signed bytes, times `scale`. Ids are never used twice, so that a
-- reader that holds the vectors in memory sees what is new by id.
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
  embedder_id INTEGER NOT NULL REFERENCES embedders (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  start_at INTEGER NOT NULL,          -- characters of the document's text
  end_at INTEGER NOT NULL,
  text_hash BLOB NOT NULL,            -- the first 8 bytes of the content_hash it was made from
  scale REAL NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (document_id, embedder_id, position)
);

-- Early builds made files without these two.
CREATE INDEX IF NOT EXISTS items_by_number ON items (project_id, number, kind);
CREATE INDEX IF NOT EXISTS notes_by_project ON notes (project_id);

-- Many jobs are queued at one moment: with the key, the next ones are read off the index instead of sorted each time.
DROP INDEX jobs_by_turn;
CREATE INDEX jobs_by_turn ON jobs (project_id, kind, attempt_count, queued_at, key);

-- Everything that is there already becomes searchable.
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT project_id, 'document', id, abs(random() % 281474976710656), 0 FROM items WHERE deleted_at IS NULL;
