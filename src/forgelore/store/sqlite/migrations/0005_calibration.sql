-- What a project's own history says about likeness: how near its items usually are to earlier ones, which lines all of
-- them share, and how often a near one was a duplicate.

-- The strength of an item's best earlier match; the newest few hundred of a kind are the project's distribution.
CREATE TABLE nearest_strengths (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  model TEXT NOT NULL,                -- what made the number: model, version and embedder; others are never mixed
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,         -- of the item
  strength REAL NOT NULL,
  PRIMARY KEY (project_id, kind, model, item_id)
) WITHOUT ROWID;
CREATE INDEX nearest_strengths_by_item ON nearest_strengths (item_id);

-- Lines of templates: they weigh nothing.
CREATE TABLE boilerplate_lines (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  line_hash BIGINT NOT NULL,          -- of its words
  items INTEGER NOT NULL,             -- how many have it
  PRIMARY KEY (project_id, kind, line_hash)
) WITHOUT ROWID;
CREATE TABLE boilerplate_runs (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  items INTEGER NOT NULL,             -- how many were read
  learned_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind)
) WITHOUT ROWID;

-- Fitted on the project's own duplicates by `calibrate`.
CREATE TABLE calibrations (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  model TEXT NOT NULL,
  slope REAL NOT NULL,                -- chance = 1 / (1 + exp(-(slope * strength + intercept)))
  intercept REAL NOT NULL,
  most REAL NOT NULL,                 -- ... and no more than this, the best that was measured
  pairs INTEGER NOT NULL,             -- known duplicates it rests on
  others INTEGER NOT NULL,            -- items without a known duplicate it was compared with
  report TEXT NOT NULL,               -- JSON: precision, recall and counts at each threshold, by cross-validation
  calibrated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind, model)
) WITHOUT ROWID;
