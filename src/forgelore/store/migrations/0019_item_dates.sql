-- Dates of items: filters ask for them whatever was found of an item, a thread below it too.

CREATE INDEX items_by_creation ON items (created_at);
CREATE INDEX items_by_last_change ON items (coalesce(updated_at, created_at));
