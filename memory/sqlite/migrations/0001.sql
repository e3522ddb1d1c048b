-- All text is compared byte by byte, all instants are milliseconds since 1970, and
-- 9223372036854775807 is never.

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The version of a tenant counts its mutations. Versions below the horizon were purged.
-- entries and bytes are what its entries come to that are neither retired nor erased: their
-- number, and the bytes of their content. Triggers count, so that no statement can forget to.
CREATE TABLE tenants (
	tenant  TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	horizon INTEGER NOT NULL DEFAULT 0,
	entries INTEGER NOT NULL DEFAULT 0,
	bytes   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The random mark of each version that can be read, and the ids that it touched.
CREATE TABLE versions (
	tenant  TEXT NOT NULL,
	version INTEGER NOT NULL,
	mark    BLOB NOT NULL,
	changes BLOB,
	PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;

-- An entry is seen at the versions from born to before died, and at those of its spans in
-- former. One that was erased is seen at none: it has died at 0.
CREATE TABLE entries (
	entry     INTEGER PRIMARY KEY,
	tenant    TEXT NOT NULL,
	ref       TEXT NOT NULL,
	id        TEXT NOT NULL,
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	born      INTEGER NOT NULL,
	died      INTEGER NOT NULL DEFAULT 9223372036854775807,
	state     INTEGER NOT NULL DEFAULT 0,
	erased    INTEGER NOT NULL DEFAULT 0,
	successor TEXT NOT NULL DEFAULT '',
	size      INTEGER NOT NULL DEFAULT 0, -- of the content, in bytes
	UNIQUE (tenant, ref, id)
) STRICT;

CREATE INDEX entries_live ON entries (tenant, ref, created DESC, id DESC, born, expires)
	WHERE died = 9223372036854775807;
CREATE INDEX entries_past ON entries (tenant, ref, died)
	WHERE died < 9223372036854775807;
CREATE INDEX entries_successor ON entries (tenant, ref, successor)
	WHERE successor <> '';

CREATE TRIGGER entries_come AFTER INSERT ON entries WHEN NEW.died = 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries + 1, bytes = bytes + NEW.size WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER entries_return AFTER UPDATE OF died ON entries
		WHEN NEW.died = 9223372036854775807 AND OLD.died < 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries + 1, bytes = bytes + NEW.size WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER entries_end AFTER UPDATE OF died ON entries
		WHEN OLD.died = 9223372036854775807 AND NEW.died < 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries - 1, bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;
CREATE TRIGGER entries_go AFTER DELETE ON entries WHEN OLD.died = 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries - 1, bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;

-- What an entry says. The head is a checksum, the run, tags, subjects and sources; NULL if
-- the entry is erased. A row is added at the end and never grows: see the README.
CREATE TABLE texts (
	entry   INTEGER PRIMARY KEY,
	head    BLOB,
	content TEXT NOT NULL
) STRICT;

-- When restored entries were live before.
CREATE TABLE former (
	entry INTEGER NOT NULL,
	born  INTEGER NOT NULL,
	died  INTEGER NOT NULL,
	PRIMARY KEY (entry, born)
) STRICT, WITHOUT ROWID;

-- Versions at which something of a ref was live that is erased now. The spans of a ref are
-- apart from each other.
CREATE TABLE scars (
	tenant TEXT NOT NULL,
	ref    TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (tenant, ref, since)
) STRICT, WITHOUT ROWID;

-- Entries by a digest of the tenant and a subject label.
CREATE TABLE labels (
	label BLOB NOT NULL,
	entry INTEGER NOT NULL,
	PRIMARY KEY (label, entry)
) STRICT, WITHOUT ROWID;

-- The key of a row is the revision, so that it is never used again. Machinery has its value
-- here, other documents have a body. A value, here and in bodies, begins with its checksum.
CREATE TABLE documents (
	rev    INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant TEXT NOT NULL,
	ref    TEXT NOT NULL,
	kind   TEXT NOT NULL,
	key    TEXT NOT NULL,
	class  INTEGER NOT NULL,
	grp    TEXT NOT NULL DEFAULT '',
	due    INTEGER,
	value  BLOB,
	body   INTEGER,
	origin BLOB, -- the ids that it was made from
	UNIQUE (tenant, ref, kind, key)
) STRICT;

CREATE INDEX documents_due ON documents (kind, due) WHERE due IS NOT NULL;
CREATE INDEX documents_group ON documents (tenant, kind, grp, ref, key) WHERE grp <> '';

-- A row is added at the end and never grows, as in texts. A value that is NULL belongs to no
-- document any more.
CREATE TABLE bodies (
	body     INTEGER PRIMARY KEY,
	subjects BLOB,
	value    BLOB
) STRICT;

CREATE INDEX bodies_spent ON bodies (body) WHERE value IS NULL;

CREATE TABLE document_of (
	rev   INTEGER NOT NULL,
	entry INTEGER NOT NULL,
	PRIMARY KEY (rev, entry)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_of_entry ON document_of (entry);

CREATE TABLE document_labels (
	rev   INTEGER NOT NULL,
	label BLOB NOT NULL,
	PRIMARY KEY (rev, label)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_labels_label ON document_labels (label);

-- Events of committed mutations that no sink has taken yet, in commit order.
CREATE TABLE outbox (
	seq     INTEGER PRIMARY KEY,
	tenant  TEXT NOT NULL,
	run     TEXT NOT NULL,
	event   TEXT NOT NULL,
	type    TEXT NOT NULL,
	node    TEXT NOT NULL,
	at      INTEGER NOT NULL,
	payload TEXT NOT NULL,
	UNIQUE (tenant, run, event)
) STRICT;

-- The log of the host's runs, see events.RunLog. A row is added at the end and never
-- changed. The document is a RunEventDoc, whose sequence is that of the row.
CREATE TABLE run_events (
	tenant   TEXT NOT NULL,
	run      TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	event    TEXT NOT NULL,
	document TEXT NOT NULL,
	UNIQUE (tenant, run, sequence),
	UNIQUE (tenant, run, event)
) STRICT;
