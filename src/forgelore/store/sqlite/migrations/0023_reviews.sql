-- What people answered in `dedupe review`. Rows are only added: an answer that somebody took back is followed by one
-- that says so. Of each person's rows on a pair the last one counts.
CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,   -- the newer item of the pair
  target_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE, -- the older one
  answer TEXT NOT NULL,               -- same, related, twin, not, unsure; undone: taken back
  said_by TEXT NOT NULL,
  said_at BIGINT NOT NULL,
  chance REAL                         -- that the pair is a duplicate, as it was estimated then; NULL: nobody did
);
CREATE INDEX reviews_by_project ON reviews (project_id);
CREATE INDEX reviews_by_item ON reviews (item_id);
CREATE INDEX reviews_by_target ON reviews (target_id);
