-- What triage keeps: the beginning of a change's diff, what was reported where, and how far suggested labels are right.

CREATE TABLE item_diffs (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  excerpt TEXT NOT NULL               -- its first 4,000 characters, part of the change's document
);

-- One row per item that was looked at, the last look that came to its end.
CREATE TABLE triage_reports (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  looked_at BIGINT NOT NULL,          -- on the forge's clock
  content_hash TEXT NOT NULL,         -- of the item as it was then; another one now: look again
  outcome TEXT NOT NULL CHECK (outcome IN ('duplicate', 'regression', 'similar', 'silent')),
  first_number BIGINT,                -- of the closest match
  similarity REAL,
  comment_url TEXT,                   -- NULL: we left none, or took it back
  shown TEXT NOT NULL DEFAULT ''      -- items that the comment names: ",12,34,"
);
CREATE INDEX triage_reports_by_project ON triage_reports (project_id, looked_at);

-- When the bot first worked on a project: what is older was there before it, and is left in peace.
CREATE TABLE triage_projects (
  project_id INTEGER PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  first_run_at BIGINT NOT NULL        -- on the forge's clock
);

-- How many labelled items there were when labels were last learned.
CREATE TABLE label_runs (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  items INTEGER NOT NULL,
  PRIMARY KEY (project_id, kind)
);

-- A label that neighbours have is suggested only where that was right often enough on the project's own items.
CREATE TABLE label_trust (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  share REAL NOT NULL,                -- of the neighbours' votes that is needed
  precision REAL NOT NULL,            -- measured at that share
  sample INTEGER NOT NULL,            -- suggestions it was measured on
  PRIMARY KEY (project_id, kind, name)
);
