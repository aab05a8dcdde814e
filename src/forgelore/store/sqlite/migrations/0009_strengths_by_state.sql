-- Similarity is a position among matches of the same state: a closed one is compared with closed ones.
--
-- Strengths that are stored already were made by an earlier ranking and are never compared with those of today's. They
-- stay until the project is calibrated anew: that there are some says that it was (compare/calibrate).

ALTER TABLE nearest_strengths ADD COLUMN is_open INTEGER;  -- the best match was open then; NULL: nobody knows
