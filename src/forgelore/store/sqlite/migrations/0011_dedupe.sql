-- Finding, judging, clustering and closing duplicates in bulk. Each layer is kept, so that each can be looked into later:
-- cards -> candidate sets -> decisions -> clusters -> runs of closings with a journal; audits measure the decisions.

-- What an item wants, in short: by a language model, or taken from its own words. Part of the index as a document.
CREATE TABLE intent_cards (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  source_hash TEXT NOT NULL,          -- of everything the card was made from; another one now: made anew
  schema_version INTEGER NOT NULL,
  prompt_version TEXT NOT NULL,       -- '' for cards that no model wrote
  model TEXT NOT NULL,                -- 'builtin', or the model's name
  status TEXT NOT NULL,               -- ok, failed
  error TEXT NOT NULL DEFAULT '',
  card TEXT NOT NULL,                 -- JSON; '' when it failed
  text TEXT NOT NULL,                 -- what is embedded and searched
  made_at BIGINT NOT NULL
);
CREATE INDEX intent_cards_by_project ON intent_cards (project_id, status);

-- A frozen list of what an item could repeat. Of one source at most one is fresh.
CREATE TABLE candidate_sets (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  content_version INTEGER NOT NULL,   -- of the source when it was made
  representation TEXT NOT NULL,       -- intent, raw
  model TEXT NOT NULL,                -- what ranked: model, version and embedder
  k INTEGER NOT NULL,
  min_score REAL NOT NULL,
  states TEXT NOT NULL,               -- of targets: open, closed, all
  is_fresh INTEGER NOT NULL DEFAULT 1,
  made_at BIGINT NOT NULL
);
CREATE INDEX candidate_sets_by_item ON candidate_sets (item_id, is_fresh);
CREATE INDEX candidate_sets_by_project ON candidate_sets (project_id, is_fresh);

CREATE TABLE candidate_set_members (
  set_id INTEGER NOT NULL REFERENCES candidate_sets (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,              -- from 1; closed ones that are only shown come last
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  content_version INTEGER NOT NULL,   -- of the candidate
  state TEXT NOT NULL,                -- of the candidate, then
  is_offered INTEGER NOT NULL,        -- 0: shown beside the others, never offered to a judge
  cosine REAL,
  strength REAL NOT NULL,
  similarity REAL NOT NULL,
  chance REAL,
  sameness TEXT NOT NULL,             -- same_text, nearly_same_text, similar
  marks TEXT NOT NULL DEFAULT '[]',   -- JSON: rare marks that both texts have
  features TEXT NOT NULL DEFAULT '{}', -- JSON: the numbers of the pair, 0 and unknown ones left out
  PRIMARY KEY (set_id, rank)
) WITHOUT ROWID;
CREATE INDEX candidate_set_members_by_item ON candidate_set_members (item_id);

-- What a judge said of a set, and what the gates made of it.
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  set_id INTEGER REFERENCES candidate_sets (id) ON DELETE SET NULL,
  run_id INTEGER REFERENCES dedupe_runs (id) ON DELETE SET NULL,
  policy TEXT NOT NULL,               -- batch, online
  judge TEXT NOT NULL,                -- builtin, llm, human
  model TEXT NOT NULL DEFAULT '',
  prompt_hash TEXT NOT NULL DEFAULT '',
  says_duplicate INTEGER,             -- what the judge said; NULL: it was not asked, or said nothing valid
  target_id INTEGER REFERENCES items (id) ON DELETE CASCADE,
  confidence REAL,
  verdict TEXT NOT NULL DEFAULT '',   -- JSON, as it was understood
  outcome TEXT NOT NULL,              -- accepted, rejected, skipped; online: duplicate, maybe_duplicate, not_duplicate
  reason TEXT NOT NULL DEFAULT '',    -- which gate objected
  is_current INTEGER NOT NULL DEFAULT 1, -- 0: superseded by a later one
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  answer_tokens INTEGER NOT NULL DEFAULT 0,
  decided_at BIGINT NOT NULL
);
CREATE INDEX decisions_by_item ON decisions (item_id, is_current);
CREATE INDEX decisions_by_target ON decisions (target_id) WHERE target_id NOTNULL;
CREATE INDEX decisions_by_set ON decisions (set_id);
-- One accepted edge per source.
CREATE UNIQUE INDEX decisions_accepted ON decisions (item_id) WHERE is_current AND outcome = 'accepted' AND policy = 'batch';

-- What people said of pairs and clusters: it outlives every rerun.
CREATE TABLE overrides (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  action TEXT NOT NULL,               -- accept, reject, split, canonical
  target_id INTEGER NOT NULL DEFAULT 0, -- of accept and reject; 0 for the others
  said_by TEXT NOT NULL,
  said_at BIGINT NOT NULL,
  UNIQUE (item_id, action, target_id)
);
CREATE INDEX overrides_by_project ON overrides (project_id);

CREATE TABLE clusters (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  canonical_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  chosen_by TEXT NOT NULL,            -- which preference told the canonical apart
  made_at BIGINT NOT NULL
);
CREATE INDEX clusters_by_project ON clusters (project_id, kind);
CREATE INDEX clusters_by_canonical ON clusters (canonical_id);
CREATE TABLE cluster_members (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  cluster_id INTEGER NOT NULL REFERENCES clusters (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX cluster_members_by_cluster ON cluster_members (cluster_id);

-- Every command of the chain that wrote something, with its parameters, counters and cost.
CREATE TABLE dedupe_runs (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  step TEXT NOT NULL,                 -- intent, candidates, judge, canonicalize, plan, apply, rollback, audit
  of_run INTEGER REFERENCES dedupe_runs (id) ON DELETE CASCADE, -- the plan that is applied, the apply that is rolled back
  status TEXT NOT NULL,               -- running, done, stopped, waiting (days of grace run)
  parameters TEXT NOT NULL,           -- JSON
  counters TEXT NOT NULL DEFAULT '{}',
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  answer_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX dedupe_runs_by_project ON dedupe_runs (project_id, step, id);
CREATE INDEX dedupe_runs_by_plan ON dedupe_runs (of_run);

-- One line of a plan: close this item onto that one, or why not; below an apply, what became of it.
CREATE TABLE planned_closings (
  run_id INTEGER NOT NULL REFERENCES dedupe_runs (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  target_id INTEGER REFERENCES items (id) ON DELETE CASCADE,
  cluster_id INTEGER,
  action TEXT NOT NULL,               -- close, skip; of an apply: closed, skip, wait
  reason TEXT NOT NULL DEFAULT '',    -- of a skip
  confidence REAL,
  seen TEXT NOT NULL,                 -- JSON: what the item and its target looked like, to notice what changed since
  PRIMARY KEY (run_id, item_id)
) WITHOUT ROWID;
CREATE INDEX planned_closings_by_item ON planned_closings (item_id);
CREATE INDEX planned_closings_by_target ON planned_closings (target_id);

-- Every write to a forge: written down before it is sent, completed by its answer. `answer` NULL: nobody knows.
CREATE TABLE write_journal (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES dedupe_runs (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  step TEXT NOT NULL,                 -- label, comment, close, reopen, unlabel, uncomment, unlink
  request TEXT NOT NULL,              -- JSON: what was asked for; no token
  before TEXT NOT NULL,               -- JSON: the state that a rollback restores
  answer TEXT,                        -- JSON: what the forge said, or what a later look found
  status TEXT NOT NULL,               -- sent, done, failed, not_needed
  sent_at BIGINT NOT NULL,
  answered_at BIGINT
);
CREATE INDEX write_journal_by_run ON write_journal (run_id, item_id);
CREATE INDEX write_journal_by_item ON write_journal (item_id);

-- Two lanes over one sample, or one lane against what is known.
CREATE TABLE audit_cases (
  run_id INTEGER NOT NULL REFERENCES dedupe_runs (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  set_id INTEGER REFERENCES candidate_sets (id) ON DELETE SET NULL,
  class TEXT NOT NULL,                -- tp, fp, fn, tn, conflict, incomplete
  cheap TEXT NOT NULL,                -- JSON: outcome, reason, target, confidence, rank, similarity, gap
  strong TEXT NOT NULL,               -- JSON: the same of the other lane, of history or of a person
  PRIMARY KEY (run_id, item_id)
) WITHOUT ROWID;
CREATE INDEX audit_cases_by_item ON audit_cases (item_id);
CREATE INDEX audit_cases_by_set ON audit_cases (set_id);

-- What a person said of a pair that was shown blind.
CREATE TABLE human_labels (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  target_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  label TEXT NOT NULL,                -- duplicate, related, different, unsure
  said_by TEXT NOT NULL,
  said_at BIGINT NOT NULL,
  PRIMARY KEY (item_id, target_id, said_by)
) WITHOUT ROWID;
CREATE INDEX human_labels_by_project ON human_labels (project_id);
CREATE INDEX human_labels_by_target ON human_labels (target_id);
