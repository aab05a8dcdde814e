-- What came of what the bot said, and what it was told not to say again.

ALTER TABLE triage_reports ADD COLUMN version TEXT NOT NULL DEFAULT '';    -- of the program that looked
ALTER TABLE triage_reports ADD COLUMN came_of TEXT;                        -- NULL: nobody has decided yet
ALTER TABLE triage_reports ADD COLUMN checked_at BIGINT;                   -- when that was last asked of the forge
ALTER TABLE triage_reports ADD COLUMN rejected TEXT NOT NULL DEFAULT '';   -- items that are not named again: ",12,34,"

-- How many known duplicates there were when the bot last calibrated itself.
ALTER TABLE triage_projects ADD COLUMN calibrated_pairs INTEGER NOT NULL DEFAULT 0;
