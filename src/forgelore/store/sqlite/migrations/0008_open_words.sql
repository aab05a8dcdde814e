-- Which forges and which kinds of items there are is the program's to say (profiles, words), and there will be more:
-- files and commits are items of kinds to come. So their two CHECKs go.
--
-- Taking a CHECK away changes no row. SQLite's documentation has a short way for such changes, without copying tables
-- of a gigabyte and without switching foreign keys off: the text of the schema is edited, in the same transaction
-- (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").

PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (forge IN (''github'', ''gitlab'', ''local''))', '')
WHERE type = 'table' AND name = 'projects';
UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (kind IN (''issue'', ''change'', ''discussion'', ''release''))', '')
WHERE type = 'table' AND name = 'items';
PRAGMA writable_schema=RESET;

-- An ordinary change of the schema tells every other open connection to read it again; the edit above does not.
CREATE TABLE schema_was_edited (at BIGINT);
DROP TABLE schema_was_edited;
