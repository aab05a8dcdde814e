-- Times of GitLab's notes are kept to the second, and what a stored answer of GitHub lacks (who resolved a thread, who is
-- asked for a review) is asked for once it was read again. Not in the bot's index, which has no payloads and no replays.
INSERT INTO jobs (project_id, kind, key, version, queued_at)
SELECT i.project_id, 'replay', i.id, 1, 0 FROM items i JOIN projects p ON p.id = i.project_id
WHERE EXISTS (SELECT 1 FROM raw_payloads r WHERE r.project_id = i.project_id AND r.hash IN (i.row_hash, i.detail_hash))
AND ((p.forge = 'gitlab' AND EXISTS (SELECT 1 FROM notes n WHERE n.item_id = i.id))
  OR (p.forge = 'github' AND i.kind = 'change' AND i.detail_hash IS NOT NULL))
ON CONFLICT (project_id, kind, key) DO UPDATE SET version = version + 1;
