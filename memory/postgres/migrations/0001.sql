-- Names (tenants, refs, ids, runs, labels) are BYTEA: compared byte for byte, in any
-- encoding and collation of the database. The ref of an entry, and a label, above 400 bytes
-- stands in keys by a digest of it. Instants are milliseconds since 1970.
-- 9223372036854775807 is "never".
--
-- Statistics are copies of values that an erasure would not reach: columns that no plan needs
-- them of have none.

CREATE SCHEMA IF NOT EXISTS agentmemory;

CREATE TABLE agentmemory.meta (
	one_row      boolean PRIMARY KEY DEFAULT true CHECK (one_row),
	schema       integer NOT NULL,
	incarnation  text NOT NULL,
	row_security boolean NOT NULL DEFAULT false,
	distributed  boolean NOT NULL DEFAULT false -- over the nodes of a cluster
);

CREATE TABLE agentmemory.tenants (
	tenant  bytea PRIMARY KEY,
	horizon bigint NOT NULL DEFAULT 0 -- older versions are unavailable
) WITH (fillfactor = 50);

-- The versions that can be read. That of a tenant is its newest row here, and what its entries
-- come to that are neither retired nor erased stands there: their number, and the bytes of
-- their content. In the row of the tenant it would be written anew by each mutation, and as
-- long as a snapshot is held, as by a dump, none of the old rows could go and all of them
-- would be read.
CREATE TABLE agentmemory.versions (
	tenant  bytea NOT NULL,
	version bigint NOT NULL,
	mark    bytea NOT NULL, -- random: a history that was lost has others
	changes bytea,          -- the ids that its mutation touched
	entries bigint NOT NULL DEFAULT 0,
	bytes   bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, version)
);
ALTER TABLE agentmemory.versions ALTER changes SET STATISTICS 0;

CREATE TABLE agentmemory.entries (
	tenant     bytea NOT NULL,
	ref        bytea NOT NULL,
	id         bytea NOT NULL,
	created_at bigint NOT NULL,
	expires_at bigint NOT NULL,
	born       bigint NOT NULL, -- the entry is live at versions from born to before died
	died       bigint NOT NULL DEFAULT 9223372036854775807,
	state      smallint NOT NULL DEFAULT 0,
	erased     boolean NOT NULL DEFAULT false,
	run_id     bytea NOT NULL,
	heir       bytea,  -- the id in whose favour it was retired
	long_ref   bytea,  -- the whole ref, where ref is a digest
	content    text NOT NULL,
	tags       text[],
	subjects   bytea[],
	sources    bytea[],
	PRIMARY KEY (tenant, ref, id)
);
ALTER TABLE agentmemory.entries ALTER content SET STATISTICS 0, ALTER tags SET STATISTICS 0,
	ALTER subjects SET STATISTICS 0, ALTER sources SET STATISTICS 0, ALTER run_id SET STATISTICS 0;
CREATE INDEX entries_live ON agentmemory.entries (tenant, ref, created_at, id)
	WHERE died = 9223372036854775807 AND NOT erased;
CREATE INDEX entries_past ON agentmemory.entries (tenant, ref, died)
	WHERE died < 9223372036854775807 OR erased;
CREATE INDEX entries_heir ON agentmemory.entries (tenant, ref, sha256(heir), id)
	WHERE heir IS NOT NULL;
CREATE INDEX entries_expiring ON agentmemory.entries (tenant, ref, expires_at)
	WHERE expires_at < 9223372036854775807;

-- When restored entries were live before.
CREATE TABLE agentmemory.former (
	tenant bytea NOT NULL,
	ref    bytea NOT NULL,
	id     bytea NOT NULL,
	born   bigint NOT NULL,
	died   bigint NOT NULL,
	PRIMARY KEY (tenant, ref, id, born)
);
CREATE INDEX former_died ON agentmemory.former (tenant, ref, died);

-- Versions at which something of a ref was live that is erased now.
CREATE TABLE agentmemory.scars (
	tenant bytea NOT NULL,
	died   bigint NOT NULL,
	born   bigint NOT NULL,
	ref    bytea NOT NULL,
	PRIMARY KEY (tenant, ref, died)
);

-- Entries by their labels.
CREATE TABLE agentmemory.subjects (
	tenant  bytea NOT NULL,
	subject bytea NOT NULL,
	ref     bytea NOT NULL,
	id      bytea NOT NULL,
	PRIMARY KEY (tenant, subject, ref, id)
);
ALTER TABLE agentmemory.subjects ALTER subject SET STATISTICS 0;
CREATE INDEX subjects_entry ON agentmemory.subjects (tenant, ref, id);

-- Refs stand in full here. At their longest the names make a row of an index of 2,420
-- bytes, and 2,704 is what it may have.
CREATE TABLE agentmemory.documents (
	tenant   bytea NOT NULL,
	ref      bytea NOT NULL, -- empty: the tenant's own
	kind     bytea NOT NULL,
	key      bytea NOT NULL,
	class    smallint NOT NULL,
	rev      bigint NOT NULL, -- from the sequence
	grp      bytea,
	due      bigint,
	made_of  bytea[], -- entry ids
	subjects bytea[],
	value    bytea NOT NULL,
	PRIMARY KEY (tenant, ref, kind, key)
) WITH (fillfactor = 80);
CREATE SEQUENCE agentmemory.revisions;
ALTER TABLE agentmemory.documents ALTER key SET STATISTICS 0, ALTER grp SET STATISTICS 0, ALTER made_of SET STATISTICS 0,
	ALTER subjects SET STATISTICS 0, ALTER value SET STATISTICS 0;
CREATE INDEX documents_group ON agentmemory.documents (tenant, grp, ref, kind, key) WHERE grp IS NOT NULL;
CREATE INDEX documents_kind ON agentmemory.documents (tenant, kind, ref, key);
CREATE INDEX documents_machinery ON agentmemory.documents (tenant) WHERE class = 0;
CREATE INDEX documents_due ON agentmemory.documents (kind, due) WHERE due IS NOT NULL;

-- What finds the documents of an entry. An id above 400 bytes stands here by a digest.
CREATE TABLE agentmemory.document_of (
	tenant bytea NOT NULL,
	ref    bytea NOT NULL,
	kind   bytea NOT NULL,
	key    bytea NOT NULL,
	id     bytea NOT NULL,
	PRIMARY KEY (tenant, ref, kind, key, id),
	FOREIGN KEY (tenant, ref, kind, key) REFERENCES agentmemory.documents ON DELETE CASCADE
);
ALTER TABLE agentmemory.document_of ALTER key SET STATISTICS 0;
CREATE INDEX document_of_entry ON agentmemory.document_of (tenant, ref, id);

-- What finds host text by a label. One above 400 bytes stands here by a digest.
CREATE TABLE agentmemory.document_subjects (
	tenant  bytea NOT NULL,
	ref     bytea NOT NULL,
	kind    bytea NOT NULL,
	key     bytea NOT NULL,
	subject bytea NOT NULL,
	PRIMARY KEY (tenant, ref, kind, key, subject),
	FOREIGN KEY (tenant, ref, kind, key) REFERENCES agentmemory.documents ON DELETE CASCADE
);
ALTER TABLE agentmemory.document_subjects ALTER key SET STATISTICS 0, ALTER subject SET STATISTICS 0;
CREATE INDEX document_subjects_subject ON agentmemory.document_subjects (tenant, subject, ref, kind, key);

-- Events of committed mutations that no sink has taken yet.
CREATE TABLE agentmemory.outbox (
	tenant   bytea NOT NULL,
	seq      bigint GENERATED ALWAYS AS IDENTITY,
	run_id   bytea NOT NULL,
	event_id bytea NOT NULL,
	node_id  bytea NOT NULL,
	time     bigint NOT NULL,
	type     text NOT NULL,
	payload  text NOT NULL, -- JSON
	owner    bytea,         -- who has claimed the run, if this is its oldest event
	until    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, seq),
	UNIQUE (tenant, run_id, event_id)
);
ALTER TABLE agentmemory.outbox ALTER payload SET STATISTICS 0;
CREATE INDEX outbox_order ON agentmemory.outbox (seq);
CREATE INDEX outbox_run ON agentmemory.outbox (tenant, run_id, seq);

-- The log of the host's runs, see events.RunLog. Rows are added and never changed. The
-- document is a RunEventDoc, whose sequence is that of the row.
CREATE TABLE agentmemory.run_events (
	tenant   bytea NOT NULL,
	run_id   bytea NOT NULL,
	sequence bigint NOT NULL,
	event_id bytea NOT NULL,
	document text NOT NULL, -- JSON
	PRIMARY KEY (tenant, run_id, sequence),
	UNIQUE (tenant, run_id, event_id)
);
ALTER TABLE agentmemory.run_events ALTER document SET STATISTICS 0;
