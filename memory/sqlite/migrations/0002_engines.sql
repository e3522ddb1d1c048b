-- What the engines keep: commitments, archives, and workspace files with the events
-- that no sink has taken yet. An instant that is not set is NULL.

CREATE TABLE commitments (
	tenant         TEXT NOT NULL,
	id             TEXT NOT NULL,
	rev            INTEGER NOT NULL,
	ref            TEXT NOT NULL,
	memory         TEXT NOT NULL,
	at             INTEGER,
	every          INTEGER NOT NULL,
	spec           TEXT NOT NULL,
	predicate      TEXT NOT NULL,
	zone           TEXT NOT NULL,
	once           INTEGER NOT NULL,
	armed          INTEGER,
	state          TEXT NOT NULL,
	reason         TEXT NOT NULL,
	heir           TEXT NOT NULL,
	canceled       INTEGER NOT NULL,
	complete       INTEGER NOT NULL,
	due            INTEGER,
	mark           INTEGER,
	position       INTEGER NOT NULL,
	digest         TEXT NOT NULL,
	claim_instant  INTEGER,
	claim_position INTEGER NOT NULL,
	claim_tries    INTEGER NOT NULL,
	waiting        TEXT NOT NULL,
	fence          INTEGER NOT NULL,
	lease          INTEGER,
	fired          INTEGER NOT NULL,
	run            TEXT NOT NULL,
	awaits         TEXT,
	PRIMARY KEY (tenant, id)
) STRICT;

CREATE INDEX commitments_due ON commitments (due) WHERE due IS NOT NULL;
-- awaits is the predicate of a commitment in no final state.
CREATE INDEX commitments_awaits ON commitments (tenant, awaits, id) WHERE awaits IS NOT NULL;

CREATE TABLE archives (
	tenant  TEXT NOT NULL,
	ref     TEXT NOT NULL,
	address BLOB NOT NULL,
	at      INTEGER NOT NULL,
	data    BLOB NOT NULL,
	PRIMARY KEY (tenant, ref, address)
) STRICT;

CREATE TABLE archive_keys (
	tenant  TEXT NOT NULL,
	ref     TEXT NOT NULL,
	key     BLOB NOT NULL,
	address BLOB NOT NULL,
	PRIMARY KEY (tenant, ref, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX archive_keys_address ON archive_keys (tenant, ref, address);

CREATE TABLE files (
	tenant  TEXT NOT NULL,
	path    TEXT NOT NULL,
	type    TEXT NOT NULL,
	version INTEGER NOT NULL,
	etag    TEXT NOT NULL,
	at      INTEGER NOT NULL,
	content TEXT NOT NULL,
	PRIMARY KEY (tenant, path)
) STRICT;

CREATE TABLE file_events (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- never the number of one that was taken
	tenant  TEXT NOT NULL,
	run     TEXT NOT NULL,
	event   TEXT NOT NULL,
	at      INTEGER NOT NULL,
	path    TEXT NOT NULL,
	version INTEGER NOT NULL
) STRICT;
