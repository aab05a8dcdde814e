-- Commits by name, with their change and their people. Commits that are here already are read once more by the next
-- `index-code`, which also finds files that were renamed and edited at once, or split. Nothing else is lost or repeated.
ALTER TABLE commits ADD COLUMN mail TEXT;                       -- the author's address: never shown to agents
ALTER TABLE commits ADD COLUMN parents TEXT NOT NULL DEFAULT ''; -- their names, with blanks between
CREATE INDEX commits_by_sha ON commits (sha);
UPDATE commits SET has_renames = 0;
ALTER TABLE code_trees ADD COLUMN folder TEXT NOT NULL DEFAULT ''; -- the clone on this machine, for diffs
UPDATE code_trees SET history_commit = '';

-- The change that brought a commit: the commit names it, or the merge does that brought the commit.
CREATE TABLE commit_changes (
  commit_id INTEGER PRIMARY KEY REFERENCES commits (id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL,
  number INTEGER NOT NULL
);
CREATE INDEX commit_changes_by_number ON commit_changes (project_id, number);

-- Authors as git knows them, and the account that is theirs. `proper_name`: as .mailmap of the clone has it. `source`:
-- what tells the login; NULL where nothing does.
CREATE TABLE git_people (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  mail TEXT NOT NULL,
  proper_name TEXT NOT NULL,
  login TEXT,
  source TEXT CHECK (source IN ('address', 'changes')),
  PRIMARY KEY (project_id, name, mail)
) WITHOUT ROWID;
CREATE INDEX git_people_by_login ON git_people (login COLLATE NOCASE);
