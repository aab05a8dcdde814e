-- Files of code and commits of a project's clone. All of it can be made again from the clone.

-- What is indexed of a project. `rules` names everything beside the files that shapes the index: with other rules every
-- file is looked at again.
CREATE TABLE code_trees (
  project_id INTEGER PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  tree_commit TEXT NOT NULL,          -- whose files these are; '' while a first run is under way
  history_commit TEXT NOT NULL DEFAULT '', -- up to which commits are here; '' when they are not all
  rules TEXT NOT NULL,
  indexed_at BIGINT NOT NULL
);

CREATE TABLE code_files (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  blob TEXT NOT NULL,                 -- git's name of the content
  language TEXT NOT NULL,
  size INTEGER NOT NULL,              -- bytes
  text TEXT NOT NULL,
  text_hash BLOB NOT NULL,            -- SHA-256 of the text
  UNIQUE (project_id, path)
);

-- Files that are no documents, so that nobody reads them again.
CREATE TABLE code_left_out (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  blob TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (project_id, path)
) WITHOUT ROWID;

-- Lines of a file, both counted from 1 and both included.
CREATE TABLE code_chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  file_id INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  symbol TEXT NOT NULL,               -- what it begins with or is a part of: Box.open
  names TEXT NOT NULL,                -- all that is defined in it, one a line
  UNIQUE (file_id, position)
);

CREATE TABLE commits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  sha TEXT NOT NULL,
  author TEXT,
  login TEXT,                         -- where the address is one that a forge gives out
  authored_at BIGINT,
  committed_at BIGINT,
  message TEXT NOT NULL,
  is_merge INTEGER NOT NULL,
  UNIQUE (project_id, sha)
);
CREATE INDEX commits_by_time ON commits (project_id, authored_at);

CREATE TABLE commit_paths (
  project_id INTEGER NOT NULL,
  commit_id INTEGER NOT NULL REFERENCES commits (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  PRIMARY KEY (commit_id, path)
) WITHOUT ROWID;
CREATE INDEX commit_paths_by_path ON commit_paths (path, commit_id);

-- The words of chunks and of commits, apart from those of conversations: what is rare there stays rare. Without content:
-- the texts are above. A commit's `names` are its subject, its `path` all that it touched.
CREATE VIRTUAL TABLE code_fts USING fts5 (
  path, names, text, terms, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE code_vocab USING fts5vocab ('code_fts', 'row');
CREATE VIRTUAL TABLE commits_fts USING fts5 (
  path, names, text, terms, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE commits_vocab USING fts5vocab ('commits_fts', 'row');
