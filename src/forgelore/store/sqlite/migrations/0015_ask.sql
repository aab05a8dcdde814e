-- Transcripts of `ask`: what was asked, what the model said and what it was given, so that a run can be looked into and
-- played again without a model. A session belongs to no project: it may have looked into all of them.
CREATE TABLE ask_sessions (
  id INTEGER PRIMARY KEY,
  question TEXT NOT NULL,
  model TEXT NOT NULL,
  parameters TEXT NOT NULL,           -- JSON: budget, steps, seconds, strict, project, filters
  ended_by TEXT NOT NULL DEFAULT '',  -- answer, budget, steps, time, error; '' while it runs, or when it was killed
  answer TEXT NOT NULL DEFAULT '',
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);

CREATE TABLE ask_steps (
  session_id INTEGER NOT NULL REFERENCES ask_sessions (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,            -- from 1
  reply TEXT NOT NULL,                -- JSON: text and calls, as the model wrote them
  results TEXT NOT NULL,              -- JSON: for each call what it was given, or why nothing
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  PRIMARY KEY (session_id, number)
) WITHOUT ROWID;
