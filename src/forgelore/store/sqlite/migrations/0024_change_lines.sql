-- Which lines the diff of a change removes and adds: hashes of path and line, 8 bytes each, lowest first. Diffs
-- themselves are not kept. Of open changes, and of those that were closed within a year of the newest item.
CREATE TABLE change_lines (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  head_sha TEXT,                    -- the commit whose diff was read; NULL where the forge did not name it
  removed BLOB NOT NULL,
  added BLOB NOT NULL
);
CREATE INDEX change_lines_by_project ON change_lines (project_id);
