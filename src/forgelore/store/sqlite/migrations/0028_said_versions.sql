-- Which texts a person had when they accepted a pair, or answered in a review: versions as in items.content_version.
-- NULL: an earlier program did not keep them.
ALTER TABLE overrides ADD COLUMN item_version INTEGER;
ALTER TABLE overrides ADD COLUMN target_version INTEGER;
ALTER TABLE reviews ADD COLUMN item_version INTEGER;
ALTER TABLE reviews ADD COLUMN target_version INTEGER;
