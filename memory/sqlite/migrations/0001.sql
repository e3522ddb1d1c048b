-- All text is compared byte by byte, all instants are milliseconds since 1970, and
-- 9223372036854775807 is never.

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The versions of a tenant that can be read: a random mark, and what it changed of the one
-- before, which is NULL once that one was purged. entries and bytes are what the tenant's entries
-- come to that are neither retired nor erased: their number, and the bytes of their content. The
-- last version of a tenant has the next one made from it, and is never removed.
CREATE TABLE versions (
	tenant  TEXT NOT NULL,
	version INTEGER NOT NULL,
	mark    BLOB NOT NULL,
	entries INTEGER NOT NULL,
	bytes   INTEGER NOT NULL,
	journal BLOB,
	PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;

-- An entry is seen at the versions from born to before died, and at those from before it was
-- restored: former is NULL or such pairs, in JSON. One that was erased is seen at none: it has
-- died at 0. The column entry is the key of what it says in texts.
CREATE TABLE entries (
	tenant    TEXT NOT NULL,
	ref       TEXT NOT NULL,
	id        TEXT NOT NULL,
	entry     INTEGER NOT NULL,
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	born      INTEGER NOT NULL,
	died      INTEGER NOT NULL DEFAULT 9223372036854775807,
	state     INTEGER NOT NULL DEFAULT 0,
	successor TEXT NOT NULL DEFAULT '',
	former    TEXT,
	PRIMARY KEY (tenant, ref, id)
) STRICT, WITHOUT ROWID;

-- These have what a list shows of an entry, so that it looks up the text alone.
CREATE INDEX entries_live ON entries (tenant, ref, created, id, born, expires, entry, former)
	WHERE died = 9223372036854775807;
CREATE INDEX entries_past ON entries (tenant, ref, died, id, created, born, expires, entry, former)
	WHERE died < 9223372036854775807;
CREATE INDEX entries_successor ON entries (tenant, ref, successor)
	WHERE successor <> '';

-- What an entry says. The head is a checksum, the run, tags, subjects and sources; NULL if
-- the entry is erased. A row is added at the end and never grows: see the README.
CREATE TABLE texts (
	entry   INTEGER PRIMARY KEY,
	head    BLOB,
	content TEXT NOT NULL
) STRICT;

-- Versions, from since to before until, at which something of a ref was live that is erased now.
CREATE TABLE erased_spans (
	tenant TEXT NOT NULL,
	ref    TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (tenant, ref, until)
) STRICT, WITHOUT ROWID;

-- Entries by a digest of the tenant and a subject label, in the order of a list.
CREATE TABLE labels (
	label   BLOB NOT NULL,
	ref     TEXT NOT NULL,
	created INTEGER NOT NULL,
	id      TEXT NOT NULL,
	PRIMARY KEY (label, ref, created, id)
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
	whole  INTEGER NOT NULL DEFAULT 0, -- 1: from all of the ref
	UNIQUE (tenant, ref, kind, key)
) STRICT;

CREATE INDEX documents_due ON documents (kind, due) WHERE due IS NOT NULL;
CREATE INDEX documents_whole ON documents (tenant, ref) WHERE whole = 1;
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
	rev   INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
	entry INTEGER NOT NULL,
	PRIMARY KEY (rev, entry)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_of_entry ON document_of (entry);

CREATE TABLE document_labels (
	rev   INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
	label BLOB NOT NULL,
	PRIMARY KEY (rev, label)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_labels_label ON document_labels (label);

-- Events of committed mutations. Those that no sink has taken yet wait, and have numbers in the
-- order of commits, from 2^62 on. The others are kept as the log of their run, in which they have
-- a sequence.
CREATE TABLE events (
	number    INTEGER PRIMARY KEY,
	tenant    TEXT NOT NULL,
	run       TEXT NOT NULL,
	event     TEXT NOT NULL,
	sequence  INTEGER,
	type      TEXT NOT NULL,
	node      TEXT NOT NULL,
	causation TEXT NOT NULL,
	engine    TEXT NOT NULL,
	schema    INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	payload   TEXT NOT NULL,
	UNIQUE (tenant, run, event),
	CHECK ((sequence IS NULL) = (number >= 4611686018427387904))
) STRICT;

CREATE UNIQUE INDEX events_kept ON events (tenant, run, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX events_first ON events (at) WHERE sequence = 0;
