package postgres

import (
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// entryColumns are the columns of an entry e in the order of scanEntry.
const entryColumns = `e.id, e.created_at, e.expires_at, e.run_id, e.content,
	array_send(e.tags), array_send(e.subjects), array_send(e.sources)`

// scanEntry reads a row of further columns and the entryColumns.
func scanEntry(row sqlstore.Row, e *driver.Entry, further ...any) error {
	var created, expires int64
	err := row.Scan(append(further, (*name)(&e.ID), &created, &expires, (*name)(&e.RunID), &e.Content,
		(*textList)(&e.Tags), (*textList)(&e.Subjects), (*textList)(&e.Sources))...)
	if err != nil {
		return err
	}
	e.CreatedAt = sqlstore.Instant(created)
	if expires != never {
		e.ExpiresAt = sqlstore.Instant(expires)
	}
	return nil
}

// A plan that knows a limit, or the length of an array, seems cheaper than one for all of them, and
// the server would plan each call anew. So statements SELECT such a parameter, which hides it; but
// no cluster takes that from one about all tenants.

// The statements that read entries: live or at a version, of a list, of the ids or the label $11, and
// of one id, $4, which is cheaper: the caller judges the rest of the query.
// $10 is the version; what is live has died at none. They are steps into an index each, since
// no optional part of a query changes them: bounds that it does not set are those of all
// entries, and every array contains the empty one. The CASE and the OFFSET keep planners
// from estimates: they could choose to read the whole scope.
const (
	listLive = `
		SELECT ` + entryColumns + ` FROM ` + lasting + inPage
	namedLive = `
		SELECT ` + entryColumns + ` FROM ` + named + `
		WHERE e.died = 9223372036854775807 AND e.born <= $10` + inPage
	oneLive = `
		SELECT ` + entryColumns + ` FROM (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $4 OFFSET 0) e
		WHERE e.died = 9223372036854775807 AND NOT e.erased AND e.expires_at > $3`

	// At a version there is to add what has been retired since, and the few entries that were
	// restored since and were live then, each by an index of its own.
	listAt = `
		SELECT * FROM (
			(SELECT ` + entryColumns + ` FROM ` + lasting + inPage + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2
				AND e.died < 9223372036854775807 AND e.died > $10 AND e.born <= $10` + inPage + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory.former f, LATERAL (
					SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = f.id OFFSET 0) e
				WHERE f.tenant = $1 AND f.ref = $2 AND f.died > $10 AND f.born <= $10` + inPage + `)
		) e` + inOrder
	namedAt = `
		SELECT ` + entryColumns + ` FROM ` + named + `
		WHERE ` + wasLive + inPage

	subjectLive = `
		SELECT ` + entryColumns + ` FROM ` + labelledEntries + `
			AND e.died = 9223372036854775807 AND e.born <= $10` + byLabel
	subjectAt = `
		SELECT ` + entryColumns + ` FROM ` + labelledEntries + `
			AND ` + wasLive + byLabel

	lasting = `agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.died = 9223372036854775807 AND e.born <= $10`
	named   = `unnest((SELECT $11::bytea[])) AS n (id), LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = n.id OFFSET 0) e`
	labelledEntries = `agentmemory.subjects s, LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = s.id OFFSET 0) e
		WHERE s.tenant = $1 AND s.subject = $11 AND s.ref = $2 AND s.created_at >= $4 AND (s.created_at, s.id) < ($5, $6)`
	wasLive = `(e.born <= $10 AND $10 < e.died OR EXISTS (
			SELECT FROM agentmemory.former f
			WHERE f.tenant = $1 AND f.ref = $2 AND f.id = e.id AND f.born <= $10 AND $10 < f.died))`
	inPage = wanted + inOrder
	wanted = ` AND NOT e.erased AND e.expires_at > $3 AND e.created_at >= $4 AND (e.created_at, e.id) < ($5, $6)
			AND CASE WHEN COALESCE(e.tags, '{}') @> $7::text[] AND COALESCE(e.subjects, '{}') @> $8::bytea[] THEN 1 END IS NOT NULL`
	byLabel = wanted + ` ORDER BY s.created_at DESC, s.id DESC LIMIT (SELECT $9::bigint)`
	inOrder = ` ORDER BY created_at DESC, id DESC LIMIT (SELECT $9::bigint)`
)

// listOf returns the statement that reads what l asks for.
func listOf(l *sqlstore.Listing, version int64) (string, []any) {
	since, tags, subjects := l.Since, l.Tags, [][]byte{}
	if slices.ContainsFunc(tags, isNoText) { // no entry has it
		since, tags = never, nil
	}
	if l.Subject != "" {
		subjects = append(subjects, []byte(l.Subject))
	}
	var limit any
	if l.Limit > 0 {
		limit = l.Limit
	}
	args := []any{[]byte(l.Tenant), []byte(l.Ref), l.At.UnixMilli(), since, l.Before, []byte(l.BeforeID), append([]string{}, tags...), subjects, limit, version}
	live, at := listLive, listAt
	switch {
	case len(l.IDs) == 1 && l.Version == "":
		return oneLive, append(args[:3:3], []byte(l.IDs[0]))
	case len(l.IDs) > 0:
		live, at, args = namedLive, namedAt, append(args, idKeys(l.IDs))
	case l.Subject != "":
		live, at, args = subjectLive, subjectAt, append(args, sqlstore.Label(l.Tenant, l.Subject))
	}
	if l.Version == "" {
		return live, args
	}
	return at, args
}

const (
	recordColumns = `e.ref, e.state, e.successor, e.erased, ` + entryColumns

	// lookup: as a join the planner could choose to read the whole scope, and the OFFSET has each
	// one looked up.
	lookup = `
		SELECT ` + recordColumns + ` FROM unnest((SELECT $3::bytea[])) WITH ORDINALITY AS n (id, place), LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = n.id OFFSET 0) e ORDER BY n.place`

	// Those of History read on behind a record in the order of an index.
	historyOfTenant = `
		SELECT ` + recordColumns + ` FROM agentmemory.entries e
		WHERE e.tenant = $1 AND (e.ref, e.id) > ($2, $3) ORDER BY e.ref, e.id LIMIT 256`
	historyOfRef = `
		SELECT ` + recordColumns + ` FROM agentmemory.entries e
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id > $3 ORDER BY e.ref, e.id LIMIT 256`
	historyOfSuccessors = `
		SELECT ` + recordColumns + ` FROM unnest((SELECT $3::bytea[])) WITH ORDINALITY AS h (successor, place), LATERAL (
			SELECT * FROM agentmemory.entries e
			WHERE e.tenant = $1 AND e.ref = $2 AND sha256(e.successor) = sha256(h.successor) AND e.successor = h.successor
				AND e.id > CASE h.place WHEN 1 THEN $4 ELSE ''::bytea END
			ORDER BY e.id LIMIT 256) e
		ORDER BY h.place, e.id LIMIT 256`
	historyOfSubject = `
		SELECT ` + recordColumns + ` FROM agentmemory.subjects s, LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = s.ref AND e.id = s.id OFFSET 0) e
		WHERE s.tenant = $1 AND s.subject = $2 AND (s.ref, s.created_at, s.id) > ($3, $4, $5) ORDER BY s.ref, s.created_at, s.id LIMIT 256`
)

func scanRecord(row sqlstore.Row, tenant string) (r driver.Record, err error) {
	var state int16
	err = scanEntry(row, &r.Entry, (*name)(&r.Ref), &state, (*name)(&r.For), &r.Erased)
	r.Tenant, r.State = tenant, driver.State(state)
	if r.Erased {
		r.Entry = driver.Entry{ID: r.Entry.ID}
	}
	return r, err
}

const (
	documentColumns = `d.rev, d.tenant, d.ref, d.kind, d.key, d.class, d.grp, d.due, d.made_of, d.whole, d.subjects`

	// labelled: subjects have no statistics. So that no plan reads all documents of the tenant, the
	// OFFSET has each one that carries the label looked up by its names.
	labelled = `agentmemory.document_subjects s, LATERAL (
		SELECT * FROM agentmemory.documents d WHERE d.tenant = s.tenant AND d.ref = s.ref AND d.kind = s.kind AND d.key = s.key OFFSET 0) d`

	dueDocuments = `
		SELECT ` + documentColumns + `, d.value FROM agentmemory.documents d
		WHERE d.kind = $1 AND d.due IS NOT NULL AND d.due <= $2 ORDER BY d.due LIMIT $3`
)

// documentPage ends after the document whose value reaches so many bytes.
func documentPage(table, where string, bare, one bool) string {
	value := `d.value`
	if bare {
		value = `NULL::bytea`
	}
	found := `SELECT ` + documentColumns + `, ` + value + ` AS value FROM ` + table + ` WHERE ` + where
	if one {
		return found
	}
	const order = ` ORDER BY d.ref, d.kind, d.key`
	return `SELECT ` + documentColumns + `, d.value FROM (
			SELECT *, sum(COALESCE(octet_length(d.value), 0)::bigint) OVER (` + order + `) AS bytes FROM (
				` + found + order + ` LIMIT 256) d) d
		WHERE d.bytes - COALESCE(octet_length(d.value), 0) < 4194304` + order
}

// The statements that read events.
const (
	eventColumns = `e.tenant, e.run_id, e.event_id, e.type, e.node_id, e.causation_id, e.engine_version, e.schema_version, e.time, e.payload, e.number`

	waitingEvents = `
		SELECT ` + eventColumns + `, 0, (
			SELECT h.number FROM agentmemory.events h WHERE h.tenant = e.tenant AND h.run_id = e.run_id AND h.sequence IS NULL
			ORDER BY h.number LIMIT 1)
		FROM agentmemory.events e WHERE e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	waitingOfRun = `
		SELECT ` + eventColumns + `, 0, e.number FROM agentmemory.events e
		WHERE e.tenant = $2 AND e.run_id = $3 AND e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	keptEvents = `
		SELECT ` + eventColumns + `, e.sequence, e.number FROM (
			SELECT *, sum(octet_length(payload)) OVER (ORDER BY sequence) - octet_length(payload) AS before FROM (
				SELECT * FROM agentmemory.events WHERE tenant = $1 AND run_id = $2 AND sequence >= $3 ORDER BY sequence LIMIT $4) p
		) e WHERE before < 4194304 ORDER BY e.sequence`
	countWaiting = `SELECT count(*) FROM (SELECT 1 FROM agentmemory.events WHERE sequence IS NULL AND tenant = $2 LIMIT (SELECT $1::bigint)) x`
	countAll     = `SELECT count(*) FROM (SELECT 1 FROM agentmemory.events WHERE sequence IS NULL LIMIT $1) x`
)

// The statements about versions.
const (
	getVersion  = `SELECT version, mark FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1`
	isAvailable = `
		SELECT $2 >= COALESCE((SELECT horizon FROM agentmemory.tenants WHERE tenant = $1), 0) AND ($4 OR EXISTS (
			SELECT FROM agentmemory.versions WHERE tenant = $1 AND version = $2 AND mark = $3))`
	isIntact    = `SELECT NOT EXISTS (SELECT FROM agentmemory.erased_spans WHERE tenant = $1 AND ref = $2 AND died > $3 AND born <= $3)`
	getJournals = `SELECT changes FROM agentmemory.versions WHERE tenant = $1 AND version > $2 AND version <= $3`
)
