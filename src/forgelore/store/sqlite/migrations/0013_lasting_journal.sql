-- The journal of writes is history: it outlives the items, runs and projects that it speaks of, and says itself which
-- item each write was to, and whose token sent it.
DROP INDEX write_journal_by_run;
DROP INDEX write_journal_by_item;
ALTER TABLE write_journal RENAME TO write_journal_before;
CREATE TABLE write_journal (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,            -- of dedupe_runs; a number that stands here is not given to another run
  project_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  account TEXT,                       -- whose token sent it; NULL: nobody told
  step TEXT NOT NULL,                 -- label, comment, close, reopen, unlabel, uncomment, unmark, unlink
  request TEXT NOT NULL,              -- JSON: what was asked for; no token
  before TEXT NOT NULL,               -- JSON: the state that a rollback restores
  answer TEXT,                        -- JSON: what the forge said, or what a later look found
  status TEXT NOT NULL,               -- sent, done, failed
  sent_at BIGINT NOT NULL,
  answered_at BIGINT
);
INSERT INTO write_journal (
  id, run_id, project_id, kind, number, step, request, before, answer, status, sent_at, answered_at
)
SELECT j.id, j.run_id, r.project_id, i.kind, i.number, j.step, j.request, j.before, j.answer, j.status, j.sent_at,
  j.answered_at
FROM write_journal_before j
JOIN dedupe_runs r ON r.id = j.run_id
JOIN items i ON i.id = j.item_id;
DROP TABLE write_journal_before;
CREATE INDEX write_journal_by_run ON write_journal (run_id, kind, number);
CREATE INDEX write_journal_by_item ON write_journal (project_id, kind, number);
