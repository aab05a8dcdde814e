-- What tells this store from others, in the comments that it leaves on a forge: two operators may work at once.
CREATE TABLE store_ids (id TEXT PRIMARY KEY);
INSERT INTO store_ids (id) VALUES (lower(hex(randomblob(6))));
