-- Conversations, and the relations between items.

CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  key TEXT NOT NULL,                  -- "comments" for the plain stream, else the forge's id
  is_resolvable INTEGER NOT NULL DEFAULT 0,
  is_resolved INTEGER NOT NULL DEFAULT 0,
  path TEXT,
  line INTEGER,
  UNIQUE (item_id, key)
);

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  thread_id INTEGER NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
  key TEXT NOT NULL,                  -- the forge's id, unique in its item
  author TEXT,
  author_role TEXT,
  body TEXT,
  created_at BIGINT,
  updated_at BIGINT,
  type TEXT,                          -- review state, DiffNote, DiscussionNote
  path TEXT,
  line INTEGER,
  old_path TEXT,
  old_line INTEGER,
  is_system INTEGER NOT NULL DEFAULT 0,
  is_internal INTEGER NOT NULL DEFAULT 0, -- never shown to people who could not see it on the forge
  is_answer INTEGER NOT NULL DEFAULT 0,
  reply_to TEXT,
  url TEXT,
  row_hash BLOB NOT NULL,
  UNIQUE (item_id, key)
);
CREATE INDEX notes_by_thread ON notes (thread_id);
CREATE INDEX notes_by_project ON notes (project_id);

-- closes, mentions, duplicate_of, relates, moved_to: from the forge's own fields, its events, or people's text.
CREATE TABLE item_links (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  note_id INTEGER REFERENCES notes (id) ON DELETE CASCADE, -- the note that says so; NULL: the item itself
  relation TEXT NOT NULL CHECK (relation IN ('closes', 'mentions', 'duplicate_of', 'relates', 'moved_to')),
  source TEXT NOT NULL CHECK (source IN ('forge', 'detail', 'event', 'text')),
  target_project TEXT NOT NULL DEFAULT '', -- empty: this project; else owner/repo or host/path
  target_kind TEXT,                   -- NULL: the text gives only a number
  target_number BIGINT NOT NULL,
  is_withdrawn INTEGER NOT NULL DEFAULT 0, -- said once, taken back later
  created_at BIGINT
);
CREATE INDEX item_links_by_item ON item_links (item_id);
CREATE INDEX item_links_by_note ON item_links (note_id);
CREATE INDEX item_links_by_target ON item_links (project_id, target_number);
