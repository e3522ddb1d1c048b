-- One store: what was kept beside the entries becomes documents, versions get marks, and
-- erasures are remembered for each ref.

-- Row security hides rows from the owner of the tables too. Whoever runs this makes the
-- policies anew.
DO $$
DECLARE t regclass;
BEGIN
	FOR t IN SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'agentmemory' AND c.relforcerowsecurity
	LOOP
		EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;

-- The versions that can be read still.
CREATE TABLE agentmemory.versions (
	tenant  bytea NOT NULL,
	version bigint NOT NULL,
	mark    bytea NOT NULL, -- random: a history that was lost has others
	changes bytea,          -- the ids that its mutation touched; null where nobody knows
	PRIMARY KEY (tenant, version)
);

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
CREATE INDEX documents_group ON agentmemory.documents (tenant, grp, ref, kind, key) WHERE grp IS NOT NULL;
CREATE INDEX documents_due ON agentmemory.documents (kind, due) WHERE due IS NOT NULL;

-- What finds the documents of an entry. An old id above 400 bytes stands here by a digest.
CREATE TABLE agentmemory.document_of (
	tenant bytea NOT NULL,
	ref    bytea NOT NULL,
	kind   bytea NOT NULL,
	key    bytea NOT NULL,
	id     bytea NOT NULL,
	PRIMARY KEY (tenant, ref, kind, key, id),
	FOREIGN KEY (tenant, ref, kind, key) REFERENCES agentmemory.documents ON DELETE CASCADE
);
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
CREATE INDEX document_subjects_subject ON agentmemory.document_subjects (tenant, subject, ref, kind, key);

ALTER TABLE agentmemory.documents ALTER key SET STATISTICS 0, ALTER grp SET STATISTICS 0, ALTER made_of SET STATISTICS 0,
	ALTER subjects SET STATISTICS 0, ALTER value SET STATISTICS 0;
ALTER TABLE agentmemory.document_of ALTER key SET STATISTICS 0;
ALTER TABLE agentmemory.document_subjects ALTER key SET STATISTICS 0, ALTER subject SET STATISTICS 0;
ALTER TABLE agentmemory.versions ALTER changes SET STATISTICS 0;

-- Two ids of 1,500 bytes, which were once accepted, do not fit into one row of an index.
DROP INDEX agentmemory.entries_heir;
CREATE INDEX entries_heir ON agentmemory.entries (tenant, ref, sha256(heir), id) WHERE heir IS NOT NULL;

-- A text as bytes that may be none: then with escapes.
CREATE FUNCTION agentmemory.v1_text(b bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN convert_from(b, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
	RETURN encode(b, 'escape');
END $$;

CREATE FUNCTION agentmemory.v1_json(j json) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT convert_to(json_strip_nulls(j)::text, 'UTF8')
$$;

-- An instant of the year 1 was none.
CREATE FUNCTION agentmemory.v1_instant(ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT NULLIF(ms, -62135596800000)
$$;

CREATE FUNCTION agentmemory.v1_base64(b bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT translate(encode(b, 'base64'), '+/=', '-_')
$$;

-- The refs of entries, in full.
CREATE TABLE agentmemory.v1_refs AS
	SELECT DISTINCT tenant, ref, COALESCE(long_ref, ref) AS whole FROM agentmemory.entries;

-- The versions that purges have noted, if they can be read.
CREATE TABLE agentmemory.v1_notes AS
	SELECT t.tenant, x.place, (x.note ->> 'i')::bigint AS millis, split_part(x.note ->> 'v', '.', 2)::bigint AS version,
		substring(sha256(convert_to(m.incarnation, 'UTF8') || '\x00' || t.tenant) FOR 10) AS first_mark
	FROM agentmemory.meta m, agentmemory.tenants t
	JOIN agentmemory.cells c ON c.tenant = t.tenant AND c.ref = '' AND c.name = 'purge'
	CROSS JOIN LATERAL json_array_elements(convert_from(c.value, 'UTF8')::json) WITH ORDINALITY AS x (note, place)
	WHERE split_part(x.note ->> 'v', '.', 1) =
		agentmemory.v1_base64(substring(sha256(convert_to(m.incarnation, 'UTF8') || t.tenant) FOR 12));
DELETE FROM agentmemory.v1_notes n USING agentmemory.tenants t
	WHERE t.tenant = n.tenant AND n.version NOT BETWEEN t.horizon AND t.version;

-- Nobody has been given a version with a mark yet, so that only these can be asked for.
INSERT INTO agentmemory.versions (tenant, version, mark)
	SELECT x.tenant, x.version, substring(sha256(convert_to(random()::text || random()::text, 'UTF8')) FOR 10)
	FROM (SELECT tenant, version FROM agentmemory.tenants UNION SELECT tenant, version FROM agentmemory.v1_notes) x
	WHERE x.version > 0;

INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, value)
	SELECT n.tenant, '', 'memory/purge', 'marks', 0, nextval('agentmemory.revisions'), convert_to(json_agg(json_build_object(
		'i', n.millis, 'v', n.version || '.' || agentmemory.v1_base64(COALESCE(v.mark, n.first_mark))) ORDER BY n.place)::text, 'UTF8')
	FROM agentmemory.v1_notes n LEFT JOIN agentmemory.versions v ON v.tenant = n.tenant AND v.version = n.version
	GROUP BY n.tenant;

-- An erasure was one for all refs. Of the old versions those that purges have noted stay.
ALTER TABLE agentmemory.scars DROP CONSTRAINT scars_pkey, ADD COLUMN ref bytea;
INSERT INTO agentmemory.scars (tenant, ref, died, born)
	SELECT DISTINCT n.tenant, r.ref, n.version + 1, n.version
	FROM agentmemory.v1_notes n
	JOIN agentmemory.scars s ON s.tenant = n.tenant AND s.died > n.version AND s.born <= n.version
	JOIN agentmemory.v1_refs r ON r.tenant = n.tenant;
DELETE FROM agentmemory.scars WHERE ref IS NULL;
ALTER TABLE agentmemory.scars ALTER ref SET NOT NULL, ADD PRIMARY KEY (tenant, ref, died);

-- Cells. A name above 400 bytes is known by its beginning and a digest only; a ref of that
-- kind which no entry has is known to nobody.
INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, value)
	SELECT c.tenant, COALESCE(r.whole, c.ref), COALESCE(k.kind, 'cell'), CASE
		WHEN c.name = 'consolidate/pass' THEN 'pass'
		WHEN k.kind IS NOT NULL THEN substring(c.name FROM octet_length(k.kind) + 2)
		WHEN octet_length(c.name) > 400 THEN substring(c.name FOR 369) || convert_to(encode(substring(c.name FROM 370), 'hex'), 'UTF8')
		ELSE c.name END, 0, nextval('agentmemory.revisions'), c.value
	FROM agentmemory.cells c
	LEFT JOIN agentmemory.v1_refs r ON r.tenant = c.tenant AND r.ref = c.ref
	LEFT JOIN (VALUES ('consolidate/pass'::bytea), ('consolidate/digest'), ('consolidate/journal'), ('consolidate/undone')) AS k (kind)
		ON c.name = 'consolidate/pass' AND k.kind = c.name OR substring(c.name FOR octet_length(k.kind) + 1) = k.kind || '/'::bytea
	WHERE c.name <> 'distill.passes' AND NOT (c.ref = '' AND c.name = 'purge')
		AND (octet_length(c.ref) <= 400 OR r.whole IS NOT NULL);

INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, grp, due, value)
	SELECT c.tenant, '', 'commitment', c.id, 0, nextval('agentmemory.revisions'),
		CASE WHEN NOT c.final THEN NULLIF(c.arm_predicate, '') END, c.due,
		agentmemory.v1_json(json_build_object(
			'format', 1, 'ref', agentmemory.v1_text(c.ref), 'memoryId', NULLIF(agentmemory.v1_text(c.memory_id), ''),
			'arm', json_build_object(
				'at', agentmemory.v1_instant(c.arm_at), 'every', NULLIF(c.arm_every / 1000000, 0),
				'spec', NULLIF(agentmemory.v1_text(c.arm_spec), ''), 'predicate', NULLIF(agentmemory.v1_text(c.arm_predicate), ''),
				'zone', NULLIF(agentmemory.v1_text(c.arm_zone), ''), 'once', NULLIF(c.arm_once, false)),
			'armedAt', agentmemory.v1_instant(c.armed_at), 'state', agentmemory.v1_text(c.state),
			'reason', NULLIF(agentmemory.v1_text(c.reason), ''), 'heir', NULLIF(agentmemory.v1_text(c.heir), ''),
			'canceled', NULLIF(c.canceled, false), 'complete', NULLIF(c.complete, false),
			'mark', agentmemory.v1_instant(c.mark), 'position', NULLIF(c.position, 0), 'digest', NULLIF(agentmemory.v1_text(c.digest), ''),
			'claim', json_build_object('instant', agentmemory.v1_instant(c.claim_instant),
				'position', NULLIF(c.claim_position, 0), 'tries', NULLIF(c.claim_tries, 0)),
			'waiting', NULLIF(c.waiting, '{}'), 'fence', NULLIF(c.fence, 0), 'lease', agentmemory.v1_instant(c.lease),
			'fired', NULLIF(c.fired, 0), 'runId', NULLIF(agentmemory.v1_text(c.run_id), '')))
	FROM agentmemory.commitments c;

-- An archive is made of the entry that names it by its tag. One that none names is nobody's.
WITH outputs AS (
	SELECT DISTINCT ON (e.tenant, e.ref, tag) e.tenant, e.ref, COALESCE(e.long_ref, e.ref) AS whole, tag, e.id
	FROM agentmemory.entries e, unnest(e.tags) AS tag
	WHERE NOT e.erased AND tag LIKE 'archive:sha256:%'
	ORDER BY e.tenant, e.ref, tag, e.died DESC, e.expires_at DESC, e.created_at DESC, e.id DESC
), kept AS (
	INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, grp, made_of, value)
	SELECT a.tenant, o.whole, 'distill/archive', convert_to('sha256:' || encode(a.key, 'hex'), 'UTF8'), 1,
		nextval('agentmemory.revisions'), convert_to('sha256:' || encode(a.address, 'hex'), 'UTF8'), ARRAY[o.id], a.data
	FROM agentmemory.archives a
	JOIN outputs o ON o.tenant = a.tenant AND o.ref = a.ref AND o.tag = 'archive:sha256:' || encode(a.address, 'hex')
	RETURNING tenant, ref, kind, key, made_of[1] AS id
)
INSERT INTO agentmemory.document_of (tenant, ref, kind, key, id)
	SELECT tenant, ref, kind, key, CASE WHEN octet_length(id) <= 400 THEN id ELSE substring(id FOR 369) || sha256(id) END
	FROM kept;

INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, value)
	SELECT tenant, '', 'workspace/file', convert_to(path, 'UTF8'), 2, nextval('agentmemory.revisions'), agentmemory.v1_json(json_build_object(
		'format', 1, 'type', agentmemory.v1_text(content_type), 'version', version, 'etag', etag, 'at', updated_at,
		'content', agentmemory.v1_text(content)))
	FROM agentmemory.files;

INSERT INTO agentmemory.outbox (tenant, run_id, event_id, node_id, time, type, payload)
	SELECT tenant, run_id, event_id, '', time, 'workspace.updated', json_build_object('path', path, 'version', version)::text
	FROM agentmemory.file_events ORDER BY seq
	ON CONFLICT (tenant, run_id, event_id) DO NOTHING;
UPDATE agentmemory.outbox SET payload = (payload::jsonb - 'tags')::text WHERE type = 'memory.written' AND payload::jsonb ? 'tags';

DROP TABLE agentmemory.cells, agentmemory.commitments, agentmemory.archives, agentmemory.files, agentmemory.file_events,
	agentmemory.v1_refs, agentmemory.v1_notes;
DROP FUNCTION agentmemory.v1_text, agentmemory.v1_json, agentmemory.v1_instant, agentmemory.v1_base64;
