-- How far the holder of a lock is, for other processes: written with its heartbeat, so in no statement of its own.
ALTER TABLE locks ADD COLUMN stage TEXT;                     -- what is being read or built, as people call it
ALTER TABLE locks ADD COLUMN done INTEGER NOT NULL DEFAULT 0;  -- rows of this stage
ALTER TABLE locks ADD COLUMN expected INTEGER;               -- of so many; NULL: nobody knows
