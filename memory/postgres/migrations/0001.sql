-- Names (tenants, refs, ids, runs, labels) are BYTEA: compared byte for byte, in any
-- encoding and collation of the database. A label stands in keys by a digest of it and the
-- tenant. At their longest the names make a row of an index of 2,420 bytes, and 2,704 is what
-- it may have. Instants are milliseconds since 1970.
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
	successor  bytea,  -- the id in whose favour it was retired
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
CREATE INDEX entries_successor ON agentmemory.entries (tenant, ref, sha256(successor), id)
	WHERE successor IS NOT NULL;
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
CREATE TABLE agentmemory.erased_spans (
	tenant bytea NOT NULL,
	died   bigint NOT NULL,
	born   bigint NOT NULL,
	ref    bytea NOT NULL,
	PRIMARY KEY (tenant, ref, died)
);

-- Entries by their labels, in the order of a list.
CREATE TABLE agentmemory.subjects (
	tenant     bytea NOT NULL,
	subject    bytea NOT NULL,
	ref        bytea NOT NULL,
	created_at bigint NOT NULL,
	id         bytea NOT NULL,
	PRIMARY KEY (tenant, subject, ref, created_at, id)
);
ALTER TABLE agentmemory.subjects ALTER subject SET STATISTICS 0;
CREATE INDEX subjects_entry ON agentmemory.subjects (tenant, ref, id);

-- Lists are each string's length as a varint, and its bytes.
CREATE TABLE agentmemory.documents (
	tenant   bytea NOT NULL,
	ref      bytea NOT NULL, -- empty: the tenant's own
	kind     bytea NOT NULL,
	key      bytea NOT NULL,
	class    smallint NOT NULL,
	rev      bigint NOT NULL, -- from the sequence
	grp      bytea,
	due      bigint,
	made_of  bytea, -- entry ids
	whole    boolean NOT NULL DEFAULT false, -- made of all entries of the ref
	subjects bytea,
	value    bytea NOT NULL,
	PRIMARY KEY (tenant, ref, kind, key)
) WITH (fillfactor = 80);
CREATE SEQUENCE agentmemory.revisions;
ALTER TABLE agentmemory.documents ALTER key SET STATISTICS 0, ALTER grp SET STATISTICS 0, ALTER made_of SET STATISTICS 0,
	ALTER subjects SET STATISTICS 0, ALTER value SET STATISTICS 0;
CREATE INDEX documents_group ON agentmemory.documents (tenant, grp, ref, kind, key) WHERE grp IS NOT NULL;
CREATE INDEX documents_kind ON agentmemory.documents (tenant, kind, ref, key);
CREATE INDEX documents_machinery ON agentmemory.documents (tenant) WHERE class = 0;
CREATE INDEX documents_whole ON agentmemory.documents (tenant, ref) WHERE whole;
CREATE INDEX documents_due ON agentmemory.documents (kind, due) WHERE due IS NOT NULL;

-- What finds the documents of an entry.
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

-- What finds host text by a label.
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

-- Events of committed mutations. Those without a sequence wait until a sink has taken them, in
-- the order of their numbers. The others are kept as the log of their run: they are added,
-- never changed, and have sequences from 0 without gaps.
CREATE TABLE agentmemory.events (
	tenant         bytea NOT NULL,
	run_id         bytea NOT NULL,
	event_id       bytea NOT NULL,
	number         bigint GENERATED ALWAYS AS IDENTITY,
	sequence       bigint,
	node_id        bytea NOT NULL,
	causation_id   bytea NOT NULL,
	engine_version bytea NOT NULL,
	schema_version bigint NOT NULL,
	time           bigint NOT NULL,
	type           text NOT NULL,
	payload        text NOT NULL, -- JSON
	owner          bytea,         -- who has claimed the run, if this is its oldest event that waits
	until          bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, run_id, event_id)
);
ALTER TABLE agentmemory.events ALTER event_id SET STATISTICS 0, ALTER causation_id SET STATISTICS 0,
	ALTER engine_version SET STATISTICS 0, ALTER payload SET STATISTICS 0;
CREATE INDEX events_waiting ON agentmemory.events (number) WHERE sequence IS NULL;
CREATE INDEX events_waiting_run ON agentmemory.events (tenant, run_id, number) WHERE sequence IS NULL;
CREATE UNIQUE INDEX events_kept ON agentmemory.events (tenant, run_id, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX events_first ON agentmemory.events (time) WHERE sequence = 0;
