-- Documents in place of cells, commitments, archives and files; text apart from what
-- changes, so that no text moves from page to page; a mark for each version; and what
-- was erased by ref. Go code carries over what SQL cannot, and the script after this one
-- drops what is left.

DROP INDEX entries_live;
DROP INDEX entries_past;
DROP INDEX entries_successor;
ALTER TABLE entries RENAME TO old_entries;
ALTER TABLE scars RENAME TO old_scars;

-- An entry is seen at the versions from born to before died, and at those of its
-- spans in former. One that was erased is seen at none: it has died at 0.
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
	UNIQUE (tenant, ref, id)
) STRICT;

-- What an entry says. A row is added at the end and never grows: see the README.
CREATE TABLE texts (
	entry    INTEGER PRIMARY KEY,
	run      TEXT NOT NULL,
	tags     BLOB,
	subjects BLOB,
	sources  BLOB,
	content  TEXT NOT NULL
) STRICT;

INSERT INTO entries SELECT entry, tenant, ref, id, created, expires, born, died, state, erased, successor
	FROM old_entries ORDER BY entry;
INSERT INTO texts SELECT entry, run, tags, subjects, sources, content FROM old_entries ORDER BY entry;

CREATE INDEX entries_live ON entries (tenant, ref, created DESC, id DESC, born, expires)
	WHERE died = 9223372036854775807;
CREATE INDEX entries_past ON entries (tenant, ref, died)
	WHERE died < 9223372036854775807;
CREATE INDEX entries_successor ON entries (tenant, ref, successor)
	WHERE successor <> '';

-- Entries by a digest of the tenant and a subject label.
CREATE TABLE labels (
	label BLOB NOT NULL,
	entry INTEGER NOT NULL,
	PRIMARY KEY (label, entry)
) STRICT, WITHOUT ROWID;

-- The random mark of each version that can be read, and the ids that it touched.
CREATE TABLE versions (
	tenant  TEXT NOT NULL,
	version INTEGER NOT NULL,
	mark    BLOB NOT NULL,
	changes BLOB,
	PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;

INSERT INTO versions (tenant, version, mark) SELECT tenant, version, randomblob(10) FROM tenants WHERE version > 0;

-- Versions at which something of a ref was live that is erased now. The spans of a ref
-- are apart from each other.
CREATE TABLE scars (
	tenant TEXT NOT NULL,
	ref    TEXT NOT NULL,
	since  INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (tenant, ref, since)
) STRICT, WITHOUT ROWID;

-- The code beside this fills it, once it knows which versions can be read still.

-- The key of a row is the revision, so that it is never used again. Machinery has its
-- value here, other documents have a body.
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
CREATE INDEX documents_group ON documents (tenant, ref, kind, grp, key) WHERE grp <> '';

-- A row is added at the end and never grows, as in texts. A value that is NULL belongs to
-- no document any more.
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

INSERT INTO documents (tenant, ref, kind, key, class, value)
	SELECT tenant, ref, CASE WHEN start = 0 THEN 'cell' ELSE substr(name, 1, start - 1) END, substr(name, start + 1), 0, value
	FROM (SELECT tenant, ref, name, value, CASE
			WHEN name GLOB 'consolidate/digest/?*' THEN 19
			WHEN name GLOB 'consolidate/journal/?*' THEN 20
			WHEN name GLOB 'consolidate/undone/?*' THEN 19
			ELSE 0 END AS start
		FROM cells WHERE name NOT IN ('consolidate/pass', 'distill.passes') AND NOT (name = 'purge' AND ref = ''))
	UNION ALL
	SELECT tenant, ref, 'consolidate/pass', 'pass', 0, value FROM cells WHERE name = 'consolidate/pass';

-- Package commitment has the form. What is NULL is left out.
INSERT INTO documents (tenant, ref, kind, key, class, grp, due, value)
	SELECT tenant, '', 'commitment', id, 0, ifnull(awaits, ''), due, CAST(json_patch('{"format":1}', json_object(
		'ref', nullif(ref, ''), 'memoryId', nullif(memory, ''),
		'arm', json_object('at', at, 'every', nullif(every / 1000000, 0), 'spec', nullif(spec, ''),
			'predicate', nullif(predicate, ''), 'zone', nullif(zone, ''), 'once', json(iif(once, 'true', NULL))),
		'armedAt', armed, 'state', nullif(state, ''), 'reason', nullif(reason, ''), 'heir', nullif(heir, ''),
		'canceled', json(iif(canceled, 'true', NULL)), 'complete', json(iif(complete, 'true', NULL)),
		'mark', mark, 'position', nullif(position, 0), 'digest', nullif(digest, ''),
		'claim', json_object('instant', claim_instant, 'position', nullif(claim_position, 0), 'tries', nullif(claim_tries, 0)),
		'waiting', json(nullif(waiting, '')), 'fence', nullif(fence, 0), 'lease', lease,
		'fired', nullif(fired, 0), 'runId', nullif(run, ''))) AS BLOB)
	FROM commitments;

INSERT INTO bodies (body, value)
	SELECT rowid, CAST(json_object('format', 1, 'type', type, 'version', version, 'etag', etag, 'at', at, 'content', content) AS BLOB)
	FROM files ORDER BY rowid;
INSERT INTO documents (tenant, ref, kind, key, class, body)
	SELECT tenant, '', 'workspace/file', path, 2, rowid FROM files;

INSERT INTO outbox (tenant, run, event, type, node, at, payload)
	SELECT tenant, run, event, 'workspace.updated', '', at, json_object('path', path, 'version', version)
	FROM file_events ORDER BY seq ON CONFLICT DO NOTHING;

UPDATE outbox SET payload = json_remove(payload, '$.tags') WHERE type = 'memory.written' AND json_valid(payload);
