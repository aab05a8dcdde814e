-- Items and what hangs on them.

CREATE TABLE items (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('issue', 'change', 'discussion', 'release')),
  number BIGINT NOT NULL,             -- what people see; a release has the forge's id or a number made from its tag
  title TEXT NOT NULL,
  body TEXT,
  state TEXT CHECK (state IN ('open', 'closed', 'merged')),
  state_reason TEXT,                  -- completed, not_planned, duplicate, reopened, moved, resolved, outdated
  author TEXT,
  author_role TEXT,
  assignees TEXT NOT NULL DEFAULT '[]',
  created_at BIGINT,
  updated_at BIGINT,
  closed_at BIGINT,
  merged_at BIGINT,
  url TEXT,
  forge_id BIGINT,
  node_id TEXT,
  tag TEXT,
  category TEXT,
  milestone TEXT,
  source_branch TEXT,
  target_branch TEXT,
  head_sha TEXT,
  is_draft INTEGER NOT NULL DEFAULT 0,
  is_locked INTEGER NOT NULL DEFAULT 0,
  is_confidential INTEGER NOT NULL DEFAULT 0,
  comment_count INTEGER,
  review_comment_count INTEGER,
  content_hash TEXT NOT NULL,         -- SHA-256 of kind, title and body
  content_version INTEGER NOT NULL DEFAULT 1, -- grows when content_hash changes
  row_hash BLOB NOT NULL,             -- of the payload this row was made from
  detail_hash BLOB,                   -- of the payload that branches, files and forge links came from
  files_sha TEXT,                     -- the head whose files are stored
  threads_fetched_at BIGINT,          -- on the forge's clock
  threads_etag TEXT,
  deleted_at BIGINT,                  -- gone from the forge, seen twice
  UNIQUE (project_id, kind, number)
);
CREATE INDEX items_by_number ON items (project_id, number, kind);
CREATE INDEX items_by_update ON items (project_id, kind, updated_at);

CREATE TABLE labels (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  color TEXT,
  description TEXT,
  PRIMARY KEY (project_id, name)
);

CREATE TABLE item_labels (
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY (item_id, name)
) WITHOUT ROWID;
CREATE INDEX item_labels_by_name ON item_labels (project_id, name);

CREATE TABLE item_files (
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  new_path TEXT NOT NULL,
  old_path TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('added', 'deleted', 'renamed', 'modified')),
  PRIMARY KEY (item_id, new_path, old_path)
) WITHOUT ROWID;
CREATE INDEX item_files_by_new_path ON item_files (project_id, new_path);
CREATE INDEX item_files_by_old_path ON item_files (project_id, old_path);

-- People with a role: the forge's member list, or what the items say of their authors.
CREATE TABLE members (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  login TEXT NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (project_id, login)
);
