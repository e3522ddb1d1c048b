-- Names (tenants, refs, ids, runs, labels) are BYTEA: compared byte for byte, in any
-- encoding and collation of the database. A ref, label or cell name above 400 bytes
-- stands in keys by a digest of it. Instants are milliseconds since 1970.
-- 9223372036854775807 is "never".

CREATE TABLE agentmemory.tenants (
	tenant  bytea PRIMARY KEY,
	version bigint NOT NULL,           -- mutations that were committed
	horizon bigint NOT NULL DEFAULT 0  -- older versions are unavailable
) WITH (fillfactor = 50);

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
CREATE INDEX entries_live ON agentmemory.entries (tenant, ref, created_at, id)
	WHERE died = 9223372036854775807 AND NOT erased;
CREATE INDEX entries_past ON agentmemory.entries (tenant, ref, died)
	WHERE died < 9223372036854775807 OR erased;
CREATE INDEX entries_heir ON agentmemory.entries (tenant, ref, heir, id)
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

-- Versions at which something was live that is erased now.
CREATE TABLE agentmemory.scars (
	tenant bytea NOT NULL,
	died   bigint NOT NULL,
	born   bigint NOT NULL,
	PRIMARY KEY (tenant, died)
);

CREATE TABLE agentmemory.subjects (
	tenant  bytea NOT NULL,
	subject bytea NOT NULL,
	ref     bytea NOT NULL,
	id      bytea NOT NULL,
	PRIMARY KEY (tenant, subject, ref, id)
);
CREATE INDEX subjects_entry ON agentmemory.subjects (tenant, ref, id);

CREATE TABLE agentmemory.cells (
	tenant bytea NOT NULL,
	ref    bytea NOT NULL,
	name   bytea NOT NULL,
	value  bytea NOT NULL,
	PRIMARY KEY (tenant, ref, name)
);

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
CREATE INDEX outbox_order ON agentmemory.outbox (seq);
CREATE INDEX outbox_run ON agentmemory.outbox (tenant, run_id, seq);

CREATE TABLE agentmemory.commitments (
	tenant         bytea NOT NULL,
	id             bytea NOT NULL,
	rev            bigint NOT NULL,
	ref            bytea NOT NULL,
	memory_id      bytea NOT NULL,
	arm_at         bigint NOT NULL, -- of instants the year 1 is "none"
	arm_every      bigint NOT NULL, -- nanoseconds
	arm_spec       bytea NOT NULL,
	arm_predicate  bytea NOT NULL,
	arm_zone       bytea NOT NULL,
	arm_once       boolean NOT NULL,
	armed_at       bigint NOT NULL,
	state          bytea NOT NULL,
	reason         bytea NOT NULL,
	heir           bytea NOT NULL,
	canceled       boolean NOT NULL,
	complete       boolean NOT NULL,
	due            bigint, -- null: never
	mark           bigint NOT NULL,
	position       bigint NOT NULL,
	digest         bytea NOT NULL,
	claim_instant  bigint NOT NULL,
	claim_position bigint NOT NULL,
	claim_tries    bigint NOT NULL,
	waiting        bigint[],
	fence          bigint NOT NULL,
	lease          bigint NOT NULL,
	fired          bigint NOT NULL,
	run_id         bytea NOT NULL,
	final          boolean NOT NULL,
	PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);
CREATE INDEX commitments_due ON agentmemory.commitments (due, tenant, id)
	WHERE due IS NOT NULL;
CREATE INDEX commitments_predicate ON agentmemory.commitments (tenant, arm_predicate, id)
	WHERE NOT final AND arm_predicate <> '';

CREATE TABLE agentmemory.archives (
	tenant  bytea NOT NULL,
	ref     bytea NOT NULL,
	key     bytea NOT NULL,
	address bytea NOT NULL,
	kept_at bigint NOT NULL,
	data    bytea NOT NULL,
	PRIMARY KEY (tenant, ref, key)
);
CREATE INDEX archives_address ON agentmemory.archives (tenant, ref, address);

CREATE TABLE agentmemory.files (
	tenant       bytea NOT NULL,
	path         text COLLATE "C" NOT NULL,
	version      bigint NOT NULL,
	etag         text NOT NULL,
	updated_at   bigint NOT NULL,
	content_type bytea NOT NULL,
	content      bytea NOT NULL,
	PRIMARY KEY (tenant, path)
);

-- workspace.updated events that no sink has taken yet.
CREATE TABLE agentmemory.file_events (
	tenant   bytea NOT NULL,
	seq      bigint GENERATED ALWAYS AS IDENTITY,
	run_id   bytea NOT NULL,
	event_id bytea NOT NULL,
	time     bigint NOT NULL,
	path     text NOT NULL,
	version  bigint NOT NULL,
	PRIMARY KEY (tenant, seq)
);
CREATE INDEX file_events_order ON agentmemory.file_events (seq);

-- Statistics are copies of values that an erasure would not reach, and no plan here
-- needs these.
ALTER TABLE agentmemory.entries ALTER content SET STATISTICS 0, ALTER tags SET STATISTICS 0,
	ALTER subjects SET STATISTICS 0, ALTER sources SET STATISTICS 0, ALTER run_id SET STATISTICS 0;
ALTER TABLE agentmemory.subjects ALTER subject SET STATISTICS 0;
ALTER TABLE agentmemory.cells ALTER value SET STATISTICS 0;
ALTER TABLE agentmemory.outbox ALTER payload SET STATISTICS 0;
ALTER TABLE agentmemory.archives ALTER data SET STATISTICS 0;
ALTER TABLE agentmemory.files ALTER content SET STATISTICS 0;
