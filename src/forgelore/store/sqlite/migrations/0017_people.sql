-- People: who is asked for a review, who gave one and how it ended, who is mentioned; who resolved a thread, and when.
-- All of it is read from payloads that are stored already.

CREATE TABLE item_people (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  note_id INTEGER REFERENCES notes (id) ON DELETE CASCADE, -- the note that says so; NULL: the item itself
  login TEXT NOT NULL,                -- as it is spelled there; a team's is owner/name
  role TEXT NOT NULL CHECK (role IN ('requested', 'reviewed', 'mentioned')),
  verdict TEXT CHECK (verdict IN ('approved', 'changes_requested', 'commented', 'dismissed')),
  source TEXT NOT NULL CHECK (source IN ('forge', 'detail', 'review', 'event', 'text')),
  created_at BIGINT                   -- of a request: NULL where the forge shows it only while it is open
);
CREATE INDEX item_people_by_item ON item_people (item_id);
CREATE INDEX item_people_by_note ON item_people (note_id);
CREATE INDEX item_people_by_login ON item_people (login COLLATE NOCASE, role);
CREATE INDEX items_by_author ON items (author COLLATE NOCASE);
CREATE INDEX notes_by_author ON notes (author COLLATE NOCASE);

ALTER TABLE threads ADD COLUMN resolved_by TEXT;
ALTER TABLE threads ADD COLUMN resolved_at BIGINT;
ALTER TABLE notes ADD COLUMN position_type TEXT; -- of a note on a change: text, image, file
ALTER TABLE notes ADD COLUMN is_resolvable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notes ADD COLUMN is_resolved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notes ADD COLUMN resolved_by TEXT;
ALTER TABLE notes ADD COLUMN resolved_at BIGINT;

-- Who a token belongs to, by the host that said so.
CREATE TABLE token_owners (
  host TEXT PRIMARY KEY,
  login TEXT NOT NULL,
  seen_at BIGINT NOT NULL
) WITHOUT ROWID;

-- The next sync or replay reads what may tell of people again: changes, and whatever has an @ or a thread to resolve. Not
-- in the bot's index, which has no payloads and no replays.
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT i.project_id, 'replay', i.id, 1, 0 FROM items i JOIN projects p ON p.id = i.project_id
WHERE (p.forge = 'local' OR EXISTS (
  SELECT 1 FROM raw_payloads r WHERE r.project_id = i.project_id AND r.hash IN (i.row_hash, i.detail_hash)))
AND (i.kind = 'change' OR instr(i.body, '@')
  OR EXISTS (SELECT 1 FROM notes n WHERE n.item_id = i.id AND instr(n.body, '@'))
  OR EXISTS (SELECT 1 FROM threads t WHERE t.item_id = i.id AND t.is_resolvable))
ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;

-- Who is asked for a review on GitHub was never asked for: 25 open changes a request.
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT i.project_id, 'detail', i.kind || ':' || i.number, 1, 0 FROM items i JOIN projects p ON p.id = i.project_id
JOIN raw_payloads r ON r.project_id = i.project_id AND r.hash = i.detail_hash
WHERE p.forge = 'github' AND i.kind = 'change' AND i.state = 'open' AND i.deleted_at IS NULL
ON CONFLICT (project_id, kind, key) DO NOTHING;
