-- Entries, their history, and the outbox. All text is compared byte by byte, all
-- instants are milliseconds since 1970, and 9223372036854775807 stands for never.

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The version of a tenant counts its mutations. Versions below the horizon were
-- purged.
CREATE TABLE tenants (
	tenant  TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	horizon INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- An entry is seen at the versions from born to before died, and at those of its
-- spans in former. One that was erased is seen at none: both are 0.
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
	run       TEXT NOT NULL,
	tags      BLOB,
	subjects  BLOB,
	sources   BLOB,
	content   TEXT NOT NULL,
	UNIQUE (tenant, ref, id)
) STRICT;

CREATE INDEX entries_live ON entries (tenant, ref, created DESC, id DESC, born, expires)
	WHERE died = 9223372036854775807;
CREATE INDEX entries_past ON entries (tenant, ref, died)
	WHERE died < 9223372036854775807;
CREATE INDEX entries_successor ON entries (tenant, ref, successor)
	WHERE successor <> '';

-- When restored entries were live before.
CREATE TABLE former (
	entry INTEGER NOT NULL,
	born  INTEGER NOT NULL,
	died  INTEGER NOT NULL,
	PRIMARY KEY (entry, born)
) STRICT, WITHOUT ROWID;

-- Versions at which something was live that is erased now. The spans of a tenant are
-- apart from each other.
CREATE TABLE scars (
	tenant TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (tenant, since)
) STRICT, WITHOUT ROWID;

CREATE TABLE subjects (
	tenant  TEXT NOT NULL,
	subject TEXT NOT NULL,
	entry   INTEGER NOT NULL,
	PRIMARY KEY (tenant, subject, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
	tenant TEXT NOT NULL,
	ref    TEXT NOT NULL,
	name   TEXT NOT NULL,
	value  BLOB NOT NULL,
	PRIMARY KEY (tenant, ref, name)
) STRICT;

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
