-- Projects, the forge's raw answers, and the bookkeeping of sync.
-- Times are integer milliseconds since 1970, UTC. Booleans are 0 or 1.

CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  forge TEXT NOT NULL CHECK (forge IN ('github', 'gitlab', 'local')),
  host TEXT NOT NULL,                 -- github.com, gitlab.example.com:8443, or "local" for imported trackers
  path TEXT NOT NULL,                 -- as the forge spells it
  path_key TEXT NOT NULL,             -- lower case: both forges ignore case in names
  forge_id BIGINT,                    -- the forge's own number; survives renames
  url TEXT,
  default_branch TEXT,
  description TEXT,
  is_private INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  has_issues INTEGER NOT NULL DEFAULT 1,
  has_changes INTEGER NOT NULL DEFAULT 1,
  has_discussions INTEGER NOT NULL DEFAULT 0,
  row_hash BLOB,
  added_at BIGINT NOT NULL,
  UNIQUE (host, path_key)
);

-- Former names, so that an old ref still finds its project.
CREATE TABLE project_aliases (
  host TEXT NOT NULL,
  path_key TEXT NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  PRIMARY KEY (host, path_key)
);

-- What the forge said, once per content, compressed; the row it became points here by hash.
CREATE TABLE raw_payloads (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  hash BLOB NOT NULL,
  resource TEXT NOT NULL,             -- project, item, detail, note
  codec TEXT NOT NULL,                -- zlib-1: zlib with the preset dictionary of that number
  size INTEGER NOT NULL,              -- bytes before compression
  body BLOB NOT NULL,
  UNIQUE (project_id, hash)
);

CREATE TABLE sync_runs (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  command TEXT NOT NULL,              -- sync, sync --full, ingest issue, import
  started_at BIGINT NOT NULL,
  finished_at BIGINT,
  status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'interrupted')),
  error_code TEXT,
  error TEXT,
  requests INTEGER NOT NULL DEFAULT 0,
  rows_written INTEGER NOT NULL DEFAULT 0,
  summary TEXT                        -- JSON: counts per resource, warnings
);
CREATE INDEX sync_runs_by_project ON sync_runs (project_id, started_at);

-- Moves in the same transaction as the rows of its page.
CREATE TABLE sync_cursors (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  resource TEXT NOT NULL,
  updated_at BIGINT,                  -- the last row that was saved ...
  tie_id BIGINT,                      -- ... and its id, among rows of the same time
  token TEXT,                         -- the forge's own position inside an unfinished walk
  etag TEXT,
  swept_at BIGINT,                    -- when the whole list was last compared
  is_complete INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, resource)
);

-- One sync per project at a time. `owner` is unique per run; `heartbeat_at` grows while it lives.
CREATE TABLE locks (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER NOT NULL,
  acquired_at BIGINT NOT NULL,
  heartbeat_at BIGINT NOT NULL
);

-- One queue for everything that is done later. Fresh work before failing work.
CREATE TABLE jobs (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,                 -- threads, detail, look
  key TEXT NOT NULL,                  -- issue:12
  version INTEGER NOT NULL DEFAULT 1, -- grows each time the job is queued again
  queued_at BIGINT NOT NULL,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  last_attempt_at BIGINT,
  last_error TEXT,
  next_attempt_at BIGINT,             -- NULL: ready now
  PRIMARY KEY (project_id, kind, key)
);
CREATE INDEX jobs_by_turn ON jobs (project_id, kind, attempt_count, queued_at);
