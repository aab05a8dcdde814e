-- The text of a change is what its author wrote, like that of an issue. What an event brought of it beside that, its
-- paths and the beginning of its diff, made it another text than the same change had in the history: such documents are
-- built anew, and the diffs go.
CREATE TABLE IF NOT EXISTS item_diffs (item_id INTEGER PRIMARY KEY, project_id INTEGER); -- there in every older store
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT project_id, 'document', item_id, 1, 0 FROM item_diffs WHERE true
ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;
PRAGMA secure_delete = ON; -- what the bot pushes must not hold their text in free pages
DROP TABLE item_diffs;
