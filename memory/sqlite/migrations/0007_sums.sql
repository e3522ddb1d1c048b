-- A checksum in each row with text or a value; and an index by which a group of documents
-- is found in all refs. Go code computes the sums, and the script after this one drops what
-- is left.

DROP INDEX documents_group;
CREATE INDEX documents_group ON documents (tenant, kind, grp, ref, key) WHERE grp <> '';

DROP INDEX bodies_spent;
ALTER TABLE texts RENAME TO old_texts;
ALTER TABLE bodies RENAME TO old_bodies;

-- What an entry says. The head is a checksum, the run, tags, subjects and sources; NULL if
-- the entry is erased. A row is added at the end and never grows: see the README.
CREATE TABLE texts (
	entry   INTEGER PRIMARY KEY,
	head    BLOB,
	content TEXT NOT NULL
) STRICT;

-- A value, here and in documents, begins with its checksum. A row is added at the end and
-- never grows. A value that is NULL belongs to no document any more.
CREATE TABLE bodies (
	body     INTEGER PRIMARY KEY,
	subjects BLOB,
	value    BLOB
) STRICT;

CREATE INDEX bodies_spent ON bodies (body) WHERE value IS NULL;
