-- Who began a thread and when its first and its last note were written. Author and dates of a thread's document are those
-- of its item from now on, as kind, state and labels are: that is what filters ask for.

ALTER TABLE documents ADD COLUMN thread_author TEXT;
ALTER TABLE documents ADD COLUMN thread_created_at BIGINT;
ALTER TABLE documents ADD COLUMN thread_updated_at BIGINT;

UPDATE documents
SET thread_author = author, thread_created_at = created_at, thread_updated_at = updated_at,
  author = (SELECT i.author FROM items i WHERE i.id = item_id),
  created_at = (SELECT i.created_at FROM items i WHERE i.id = item_id),
  updated_at = (SELECT i.updated_at FROM items i WHERE i.id = item_id)
WHERE representation = 'thread';

-- Dates by an index: without one, a search reads those of all documents.
CREATE INDEX documents_by_creation ON documents (created_at);
CREATE INDEX documents_by_last_change ON documents (coalesce(updated_at, created_at));
