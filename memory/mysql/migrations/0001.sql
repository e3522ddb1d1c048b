-- Names (tenants, refs, ids, runs, labels) are VARBINARY: compared byte for byte, with their spaces,
-- in each collation of the database. A label is a digest of it and the tenant. Instants are
-- milliseconds since 1970. 9223372036854775807 is never.
--
-- A statement of data definition commits by itself, so that a script can die between any two: each
-- can be run again.

CREATE TABLE IF NOT EXISTS agentmemory_meta (
	one_row     TINYINT NOT NULL PRIMARY KEY,
	number      INT NOT NULL,
	incarnation VARBINARY(64) NOT NULL
) ENGINE=InnoDB;

-- The counter of a tenant, which mutations lock, and what its entries come to that are neither
-- retired nor erased: their number, and the bytes of their content.
CREATE TABLE IF NOT EXISTS agentmemory_tenants (
	tenant  VARBINARY(256) NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL DEFAULT 0,
	horizon BIGINT NOT NULL DEFAULT 0, -- older versions are unavailable
	entries BIGINT NOT NULL DEFAULT 0,
	bytes   BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

-- The last revision of a document that a tenant has had.
CREATE TABLE IF NOT EXISTS agentmemory_revisions (
	tenant VARBINARY(256) NOT NULL PRIMARY KEY,
	rev    BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

-- The versions that can be read.
CREATE TABLE IF NOT EXISTS agentmemory_versions (
	tenant  VARBINARY(256) NOT NULL,
	version BIGINT NOT NULL,
	mark    VARBINARY(16) NOT NULL, -- random: a history that was lost has others
	changes LONGBLOB,               -- the ids that its mutation touched
	PRIMARY KEY (tenant, version)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS agentmemory_entries (
	tenant     VARBINARY(256) NOT NULL,
	ref        VARBINARY(1024) NOT NULL,
	id         VARBINARY(512) NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	born       BIGINT NOT NULL, -- the entry is live at versions from born to before died; died is 0 if it is erased
	died       BIGINT NOT NULL DEFAULT 9223372036854775807,
	state      SMALLINT NOT NULL DEFAULT 0,
	successor  VARBINARY(512) NOT NULL DEFAULT '', -- the id in whose favour it was retired
	head       LONGBLOB NOT NULL, -- the run, tags, subjects and sources
	content    LONGBLOB NOT NULL,
	PRIMARY KEY (tenant, ref, id),
	KEY entries_died (tenant, ref, died, created_at, id),
	KEY entries_successor (tenant, ref, successor),
	KEY entries_expiring (tenant, ref, expires_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- When restored entries were live before.
CREATE TABLE IF NOT EXISTS agentmemory_former (
	tenant VARBINARY(256) NOT NULL,
	ref    VARBINARY(1024) NOT NULL,
	id     VARBINARY(512) NOT NULL,
	born   BIGINT NOT NULL,
	died   BIGINT NOT NULL,
	PRIMARY KEY (tenant, ref, id, born),
	KEY former_died (tenant, ref, died)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Versions at which something of a ref was live that is erased now.
CREATE TABLE IF NOT EXISTS agentmemory_erased_spans (
	tenant VARBINARY(256) NOT NULL,
	ref    VARBINARY(1024) NOT NULL,
	died   BIGINT NOT NULL,
	born   BIGINT NOT NULL,
	PRIMARY KEY (tenant, ref, died)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Entries by their labels, in the order of a list.
CREATE TABLE IF NOT EXISTS agentmemory_subjects (
	tenant     VARBINARY(256) NOT NULL,
	subject    VARBINARY(16) NOT NULL,
	ref        VARBINARY(1024) NOT NULL,
	created_at BIGINT NOT NULL,
	id         VARBINARY(512) NOT NULL,
	PRIMARY KEY (tenant, subject, ref, created_at, id),
	KEY subjects_entry (tenant, ref, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Lists are each string's length as a varint, and its bytes.
CREATE TABLE IF NOT EXISTS agentmemory_documents (
	tenant   VARBINARY(256) NOT NULL,
	ref      VARBINARY(1024) NOT NULL, -- empty: the tenant's own
	kind     VARBINARY(64) NOT NULL,
	`key`    VARBINARY(512) NOT NULL,
	class    SMALLINT NOT NULL,
	rev      BIGINT NOT NULL,
	grp      VARBINARY(512),
	due      BIGINT,
	made_of  LONGBLOB, -- entry ids
	whole    TINYINT NOT NULL DEFAULT 0, -- made of all entries of the ref
	subjects LONGBLOB,
	size     BIGINT NOT NULL, -- of the value
	value    LONGBLOB NOT NULL,
	PRIMARY KEY (tenant, ref, kind, `key`),
	KEY documents_group (tenant, grp, ref, kind, `key`),
	KEY documents_kind (tenant, kind, ref, `key`),
	KEY documents_whole (tenant, whole, ref),
	KEY documents_due (kind, due)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- What finds the documents of an entry.
CREATE TABLE IF NOT EXISTS agentmemory_document_of (
	tenant VARBINARY(256) NOT NULL,
	ref    VARBINARY(1024) NOT NULL,
	kind   VARBINARY(64) NOT NULL,
	`key`  VARBINARY(512) NOT NULL,
	id     VARBINARY(512) NOT NULL,
	PRIMARY KEY (tenant, ref, kind, `key`, id),
	KEY document_of_entry (tenant, ref, id),
	FOREIGN KEY (tenant, ref, kind, `key`) REFERENCES agentmemory_documents (tenant, ref, kind, `key`) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- What finds host text by a label.
CREATE TABLE IF NOT EXISTS agentmemory_document_subjects (
	tenant  VARBINARY(256) NOT NULL,
	ref     VARBINARY(1024) NOT NULL,
	kind    VARBINARY(64) NOT NULL,
	`key`   VARBINARY(512) NOT NULL,
	subject VARBINARY(16) NOT NULL,
	PRIMARY KEY (tenant, ref, kind, `key`, subject),
	KEY document_subjects_subject (tenant, subject, ref, kind, `key`),
	FOREIGN KEY (tenant, ref, kind, `key`) REFERENCES agentmemory_documents (tenant, ref, kind, `key`) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Events of committed mutations. Those without a sequence wait until a sink has taken them, in
-- the order of their numbers. The others are kept as the log of their run: they are added,
-- never changed, and have sequences from 0 without gaps.
CREATE TABLE IF NOT EXISTS agentmemory_events (
	number         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
	tenant         VARBINARY(256) NOT NULL,
	run_id         VARBINARY(128) NOT NULL,
	event_id       VARBINARY(128) NOT NULL,
	sequence       BIGINT,
	node_id        VARBINARY(128) NOT NULL,
	causation_id   BLOB NOT NULL,
	engine_version BLOB NOT NULL,
	schema_version BIGINT NOT NULL,
	time           BIGINT NOT NULL,
	type           BLOB NOT NULL,
	payload        LONGBLOB NOT NULL, -- JSON
	owner          VARBINARY(64), -- who has claimed the run, if this is its oldest event that waits
	until          BIGINT NOT NULL DEFAULT 0,
	UNIQUE KEY events_name (tenant, run_id, event_id),
	UNIQUE KEY events_kept (tenant, run_id, sequence),
	KEY events_waiting (sequence, number),
	KEY events_tenant (tenant, sequence)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- The runs that events are kept of: the sequence that the next one gets, and the instants of the
-- first and the last one. A mutation that keeps an event of a run locks its row.
CREATE TABLE IF NOT EXISTS agentmemory_runs (
	tenant     VARBINARY(256) NOT NULL,
	run_id     VARBINARY(128) NOT NULL,
	next       BIGINT NOT NULL DEFAULT 0,
	first_time BIGINT NOT NULL DEFAULT 0,
	last_time  BIGINT NOT NULL DEFAULT 9223372036854775807,
	PRIMARY KEY (tenant, run_id),
	KEY runs_last (last_time)
) ENGINE=InnoDB;
