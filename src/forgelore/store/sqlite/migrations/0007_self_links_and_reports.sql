-- What earlier versions read wrongly. No table changes.

-- An item linked to itself: GitHub marks the original of a duplicate as well, and it was stored as its own duplicate.
-- The links go now; the items are read again from their payloads where there are any (the next sync or replay does it).
CREATE TEMP TABLE self_links AS
SELECT l.id, l.item_id, l.project_id FROM item_links l
JOIN items i ON i.id = l.item_id JOIN projects p ON p.id = l.project_id
WHERE l.target_project = '' AND l.target_number = i.number
AND CASE
  WHEN p.forge = 'github' AND 'release' NOT IN (i.kind, coalesce(l.target_kind, '')) THEN 1 -- numbered together
  WHEN p.forge = 'gitlab' THEN coalesce(l.target_kind, 'issue') = i.kind
  ELSE coalesce(l.target_kind, i.kind) = i.kind
END;
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT DISTINCT i.project_id, 'replay', i.id, 1, 0 FROM items i
JOIN raw_payloads r ON r.project_id = i.project_id AND r.hash = i.row_hash
WHERE i.id IN (SELECT item_id FROM self_links)
ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;
DELETE FROM item_links WHERE id IN (SELECT id FROM self_links);
DROP TABLE self_links;

-- Changes were never asked whether they repeat another. GitHub marks one when somebody comments "Duplicate of #12", so
-- only those of which somebody said so are looked at again.
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT i.project_id, 'detail', i.kind || ':' || i.number, 1, 0 FROM items i JOIN projects p ON p.id = i.project_id
WHERE p.forge = 'github' AND i.kind = 'change' AND i.detail_hash IS NOT NULL AND i.deleted_at IS NULL
AND EXISTS (SELECT 1 FROM item_links l WHERE l.item_id = i.id AND l.relation = 'duplicate_of' AND l.source = 'text')
ON CONFLICT (project_id, kind, key) DO NOTHING;

-- Comments of the bot were part of documents, and what they suggest counted as said by somebody.
CREATE TEMP TABLE reports AS
SELECT id, item_id, project_id FROM notes
WHERE trim(substr(body, 1, instr(body || char(10), char(10)) - 1), char(32, 9, 13)) = '<!-- forgelore:triage:v1 -->';
DELETE FROM item_links WHERE note_id IN (SELECT id FROM reports);
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT DISTINCT project_id, 'document', item_id, 1, 0 FROM reports WHERE true
ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;
DROP TABLE reports;
