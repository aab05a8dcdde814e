-- What people decided for a project, as a language model read it in conversations, each with words that stand there; and
-- files that commits renamed.

-- What a model was asked about. `content_hash` names the version of the text: when it differs, the item is asked about
-- anew.
CREATE TABLE decision_sources (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  prompt_version INTEGER NOT NULL,
  model TEXT NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  refused INTEGER NOT NULL,           -- answers whose words do not stand where the model said
  asked_at BIGINT NOT NULL
);

CREATE TABLE project_decisions (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES decision_sources (item_id) ON DELETE CASCADE,
  summary TEXT NOT NULL,              -- in the model's words
  quote TEXT NOT NULL,                -- in those of the person
  first_line INTEGER NOT NULL,        -- of the reading text
  last_line INTEGER NOT NULL,
  author TEXT,
  decided_at BIGINT
);
CREATE INDEX project_decisions_by_item ON project_decisions (item_id);

CREATE TABLE decision_paths (
  decision_id INTEGER NOT NULL REFERENCES project_decisions (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  PRIMARY KEY (decision_id, path)
) WITHOUT ROWID;

-- One decision replaces another: `target` is an item (#12), a commit or a file, or a decision of the same item.
CREATE TABLE decision_edges (
  id INTEGER PRIMARY KEY,
  decision_id INTEGER NOT NULL REFERENCES project_decisions (id) ON DELETE CASCADE,
  relation TEXT NOT NULL CHECK (relation IN ('supersedes', 'superseded_by')),
  target TEXT NOT NULL,               -- '' where target_id says which
  target_id INTEGER REFERENCES project_decisions (id) ON DELETE CASCADE
);
CREATE INDEX decision_edges_by_decision ON decision_edges (decision_id);
CREATE INDEX decision_edges_by_target ON decision_edges (target_id);

-- Files that moved as they are. Commits that are here already are asked about once more, by the next `index-code`.
ALTER TABLE commits ADD COLUMN has_renames INTEGER NOT NULL DEFAULT 0;
UPDATE code_trees SET history_commit = '';
CREATE TABLE commit_renames (
  project_id INTEGER NOT NULL,
  commit_id INTEGER NOT NULL REFERENCES commits (id) ON DELETE CASCADE,
  old_path TEXT NOT NULL,
  new_path TEXT NOT NULL,
  PRIMARY KEY (commit_id, old_path, new_path)
) WITHOUT ROWID;
CREATE INDEX commit_renames_by_new_path ON commit_renames (project_id, new_path);
CREATE INDEX commit_renames_by_old_path ON commit_renames (project_id, old_path);
