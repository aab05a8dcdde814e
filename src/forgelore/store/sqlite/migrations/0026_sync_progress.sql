-- A sync that could not read everything is "incomplete": which words a run's status may have is the program's to say.
-- Taking a CHECK away changes no row; the way is the one of 0008.
PRAGMA writable_schema=ON;
UPDATE sqlite_schema
SET sql = replace(sql, ' CHECK (status IN (''running'', ''succeeded'', ''failed'', ''interrupted''))', '')
WHERE type = 'table' AND name = 'sync_runs';
PRAGMA writable_schema=RESET;
CREATE TABLE schema_was_edited (at BIGINT);
DROP TABLE schema_was_edited;

-- What kept failing when a sync last asked: the next one tries it once, before it waits for it.
CREATE TABLE down_endpoints (
  host TEXT NOT NULL,
  endpoint TEXT NOT NULL,             -- a path with its numbers taken out, or GraphQL
  reason TEXT NOT NULL,
  failed_at BIGINT NOT NULL,
  PRIMARY KEY (host, endpoint)
) WITHOUT ROWID;

-- More of how far the holder of a lock is (0021).
ALTER TABLE locks ADD COLUMN stage_began_at BIGINT;          -- when this stage began
ALTER TABLE locks ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE locks ADD COLUMN quotas TEXT NOT NULL DEFAULT '[]'; -- JSON: name, left, limit, reset
ALTER TABLE locks ADD COLUMN waiting_until BIGINT;           -- NULL: it does not wait
ALTER TABLE locks ADD COLUMN waiting_for TEXT;               -- what it waits for, as people read it
