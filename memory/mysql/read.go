package mysql

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// never is the instant and the version after all others.
const never = sqlstore.Never

func damaged(cause error) error { return driver.ErrInternal.With("a row cannot be read", cause) }

// behind writes that columns are behind values, column by column: of a comparison of rows the server
// makes no range of an index.
func behind(columns []string, than string, values []string) string {
	if len(columns) == 1 {
		return columns[0] + than + values[0]
	}
	strict := strings.TrimSuffix(strings.TrimSpace(than), "=")
	return `(` + columns[0] + ` ` + strict + ` ` + values[0] + ` OR ` + columns[0] + ` = ` + values[0] + ` AND ` + behind(columns[1:], than, values[1:]) + `)`
}

// inJSON writes lists of names, or a list of such lists, as one parameter: in hex, since JSON has no
// bytes. Statements read it by jsonNames and its kin.
func inJSON(names any) string {
	var coded any
	switch list := names.(type) {
	case []string:
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = hex.EncodeToString([]byte(s))
		}
		coded = out
	case [][]string:
		out := make([][]string, len(list))
		for i, row := range list {
			for _, s := range row {
				out[i] = append(out[i], hex.EncodeToString([]byte(s)))
			}
		}
		coded = out
	}
	b, err := json.Marshal(coded)
	if err != nil {
		panic(err) // it has no such type
	}
	return string(b)
}

// A statement about many rows has one parameter for all of their names. They are looked up one by one
// in the order of the join, which no estimate changes.
const (
	jsonNames = `, '$[*]' COLUMNS (place FOR ORDINALITY, name VARCHAR(2048) PATH '$')) j STRAIGHT_JOIN `
	jsonRows  = `, '$[*]' COLUMNS (place FOR ORDINALITY, a VARCHAR(2048) PATH '$[0]', b VARCHAR(2048) PATH '$[1]', c VARCHAR(2048) PATH '$[2]')) j STRAIGHT_JOIN `
)

// entryColumns are the columns of an entry e in the order of scanEntry.
const entryColumns = `e.id, e.created_at, e.expires_at, e.head, e.content`

// headOf packs what is said of an entry beside its content. A packed list stands in it as it is, so
// that a statement can look for a tag or a subject.
func headOf(e *driver.Entry) []byte {
	return sqlstore.Pack([]string{e.RunID, string(sqlstore.Pack(e.Tags)), string(sqlstore.Pack(e.Subjects)), string(sqlstore.Pack(e.Sources))})
}

// scanEntry reads a row of further columns and the entryColumns. Of an erased entry, which has no head,
// it reads the id.
func scanEntry(row sqlstore.Row, e *driver.Entry, further ...any) error {
	var created, expires int64
	var head []byte
	err := row.Scan(append(further, (*sqlstore.Name)(&e.ID), &created, &expires, &head, &e.Content)...)
	if err != nil {
		return err
	}
	if len(head) == 0 {
		*e = driver.Entry{ID: e.ID}
		return nil
	}
	e.CreatedAt = sqlstore.Instant(created)
	if expires != never {
		e.ExpiresAt = sqlstore.Instant(expires)
	}
	fields, ok := sqlstore.Unpack(head)
	if !ok || len(fields) != 4 {
		return damaged(nil)
	}
	e.RunID = fields[0]
	for i, list := range []*[]string{&e.Tags, &e.Subjects, &e.Sources} {
		if *list, ok = sqlstore.Unpack([]byte(fields[1+i])); !ok {
			return damaged(nil)
		}
	}
	return nil
}

// The statements that read entries: live, whose died is never, or at a version, $9, of a list or of
// the ids or the label $8. What is live is a range of entries_died in the order of a list, and so are the
// entries of a label in the table of these. $7 is a part of the head; the caller judges tags and subjects.
var (
	inPage  = ` AND e.expires_at > $3 AND e.created_at >= $4 AND (e.created_at < $5 OR e.created_at = $5 AND e.id < $6) AND INSTR(e.head, $7) > 0`
	byLabel = ` AND e.expires_at > $3 AND INSTR(e.head, $7) > 0 ORDER BY s.created_at DESC, s.id DESC LIMIT $10`

	lasting = `agentmemory_entries e FORCE INDEX (entries_died) WHERE e.tenant = $1 AND e.ref = $2 AND e.died = 9223372036854775807 AND e.born <= $9`
	named   = `JSON_TABLE($8` + jsonNames + `agentmemory_entries e FORCE INDEX (PRIMARY) ON e.tenant = $1 AND e.ref = $2 AND e.id = UNHEX(j.name)`

	ofLabel = `agentmemory_subjects s FORCE INDEX (PRIMARY) STRAIGHT_JOIN agentmemory_entries e FORCE INDEX (PRIMARY) ON e.tenant = $1 AND e.ref = $2 AND e.id = s.id
		WHERE s.tenant = $1 AND s.subject = $8 AND s.ref = $2 AND s.created_at >= $4 AND (s.created_at < $5 OR s.created_at = $5 AND s.id < $6)`

	listLive  = `SELECT ` + entryColumns + ` FROM ` + lasting + inPage + inOrder
	namedLive = `SELECT ` + entryColumns + ` FROM ` + named + ` WHERE e.died = 9223372036854775807` + inPage + inOrder

	// At a version there is to add what has been retired since, and the few entries that were
	// restored since and were live then, each by an index of its own.
	listAt = `
		SELECT * FROM (
			(SELECT ` + entryColumns + ` FROM ` + lasting + inPage + inOrder + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory_entries e FORCE INDEX (entries_died) WHERE e.tenant = $1 AND e.ref = $2
				AND e.died > $9 AND e.died < 9223372036854775807 AND e.born <= $9` + inPage + inOrder + `) UNION ALL
			(SELECT ` + entryColumns + ` FROM agentmemory_former f FORCE INDEX (former_died)
				STRAIGHT_JOIN agentmemory_entries e FORCE INDEX (PRIMARY) ON e.tenant = $1 AND e.ref = $2 AND e.id = f.id
				WHERE f.tenant = $1 AND f.ref = $2 AND f.died > $9 AND f.born <= $9 AND e.died > 0` + inPage + inOrder + `)
		) e` + inOrder
	namedAt = `SELECT ` + entryColumns + ` FROM ` + named + ` WHERE` + wasLive + inPage + inOrder

	subjectLive = `SELECT ` + entryColumns + ` FROM ` + ofLabel + ` AND e.died = 9223372036854775807` + byLabel
	subjectAt   = `SELECT ` + entryColumns + ` FROM ` + ofLabel + ` AND` + wasLive + byLabel
)

const (
	wasLive = ` e.died > 0 AND (e.born <= $9 AND $9 < e.died OR EXISTS (
			SELECT 1 FROM agentmemory_former f
			WHERE f.tenant = $1 AND f.ref = $2 AND f.id = e.id AND f.born <= $9 AND $9 < f.died))`
	inOrder = ` ORDER BY e.created_at DESC, e.id DESC LIMIT $10`

	oneLive = `SELECT ` + entryColumns + ` FROM agentmemory_entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3 AND e.died = 9223372036854775807`
)

// listOf returns the statement that reads what l asks for, apart from tags: of these it looks for the
// bytes of one in the head, so that few rows are read that do not match.
func listOf(l *sqlstore.Listing, version int64) (string, []any) {
	if len(l.IDs) == 1 && l.Version == "" { // the caller judges the rest of the query
		return oneLive, []any{[]byte(l.Tenant), []byte(l.Ref), []byte(l.IDs[0])}
	}
	limit, inHead := int64(never), []byte{}
	switch {
	case len(l.Tags) > 0:
		inHead = sqlstore.Pack(l.Tags[:1])
	case l.Limit > 0 && l.Subject == "": // the caller judges that
		limit = int64(l.Limit)
	}
	live, at, names := listLive, listAt, any(nil)
	switch {
	case len(l.IDs) > 0:
		live, at, names = namedLive, namedAt, inJSON(l.IDs)
	case l.Subject != "":
		live, at, names = subjectLive, subjectAt, sqlstore.Label(l.Tenant, l.Subject)
	}
	args := []any{[]byte(l.Tenant), []byte(l.Ref), l.At.UnixMilli(), l.Since, l.Before, []byte(l.BeforeID), inHead, names, version, limit}
	if l.Version == "" {
		return live, args
	}
	return at, args
}

const recordColumns = `e.ref, e.state, e.successor, e.died = 0, ` + entryColumns

// Those of History read on behind a record in the order of an index.
var (
	lookup = `SELECT ` + recordColumns + ` FROM JSON_TABLE($3` + jsonNames + `agentmemory_entries e ON e.tenant = $1 AND e.ref = $2 AND e.id = UNHEX(j.name) ORDER BY j.place`

	historyOfTenant = `SELECT ` + recordColumns + ` FROM agentmemory_entries e FORCE INDEX (PRIMARY)
		WHERE e.tenant = $1 AND ` + behind([]string{`e.ref`, `e.id`}, ` > `, []string{`$2`, `$3`}) + ` ORDER BY e.ref, e.id LIMIT 256`
	historyOfRef = `SELECT ` + recordColumns + ` FROM agentmemory_entries e FORCE INDEX (PRIMARY)
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id > $3 ORDER BY e.id LIMIT 256`
	historyOfSuccessors = `SELECT ` + recordColumns + ` FROM JSON_TABLE($3` + jsonNames + `agentmemory_entries e FORCE INDEX (entries_successor)
			ON e.tenant = $1 AND e.ref = $2 AND e.successor = UNHEX(j.name)
		WHERE j.place > 1 OR e.id > $4 ORDER BY j.place, e.id LIMIT 256`
	historyOfSubject = `SELECT ` + recordColumns + ` FROM agentmemory_subjects s FORCE INDEX (PRIMARY)
		STRAIGHT_JOIN agentmemory_entries e ON e.tenant = $1 AND e.ref = s.ref AND e.id = s.id
		WHERE s.tenant = $1 AND s.subject = $2 AND ` + behind([]string{`s.ref`, `s.created_at`, `s.id`}, ` > `, []string{`$3`, `$4`, `$5`}) + `
		ORDER BY s.ref, s.created_at, s.id LIMIT 256`
)

func scanRecord(row sqlstore.Row, tenant string) (r driver.Record, err error) {
	var state uint8
	err = scanEntry(row, &r.Entry, (*sqlstore.Name)(&r.Ref), &state, (*sqlstore.Name)(&r.For), &r.Erased)
	r.Tenant, r.State = tenant, driver.State(state)
	return r, err
}

const (
	documentColumns = `d.rev, d.tenant, d.ref, d.kind, d.key, d.class, d.grp, d.due, d.made_of, d.whole, d.subjects`

	labelled = `agentmemory_document_subjects s FORCE INDEX (document_subjects_subject)
		STRAIGHT_JOIN agentmemory_documents d ON d.tenant = s.tenant AND d.ref = s.ref AND d.kind = s.kind AND d.key = s.key`

	dueDocuments = `SELECT ` + documentColumns + `, d.value FROM agentmemory_documents d FORCE INDEX (documents_due)
		WHERE d.kind = $1 AND d.due <= $2 ORDER BY d.due LIMIT $3`
)

// documentPage ends after the document whose value reaches so many bytes.
func documentPage(table, where string, bare, one bool) string {
	const order = ` ORDER BY d.ref, d.kind, d.key`
	switch {
	case one:
		value := `d.value`
		if bare {
			value = `NULL`
		}
		return `SELECT ` + documentColumns + `, ` + value + ` FROM ` + table + ` WHERE ` + where
	case bare:
		return `SELECT ` + documentColumns + `, NULL FROM ` + table + ` WHERE ` + where + order + ` LIMIT 256`
	}
	return `SELECT ` + documentColumns + `, d.value FROM (
			SELECT d.*, SUM(d.size) OVER (` + order + `) - d.size AS before_it FROM (
				SELECT d.tenant, d.ref, d.kind, d.key, d.size FROM ` + table + ` WHERE ` + where + order + ` LIMIT 256) d) p
		STRAIGHT_JOIN agentmemory_documents d ON d.tenant = p.tenant AND d.ref = p.ref AND d.kind = p.kind AND d.key = p.key
		WHERE p.before_it < 4194304` + order
}

// The statements that read events.
const (
	eventColumns = `e.tenant, e.run_id, e.event_id, e.type, e.node_id, e.causation_id, e.engine_version, e.schema_version, e.time, e.payload, e.number`

	// The oldest event of a run is the first of its range of the index: MySQL reads the range for MIN, or when ordered by less.
	waitingEvents = `
		SELECT ` + eventColumns + `, 0, (
			SELECT h.number FROM agentmemory_events h FORCE INDEX (events_kept) WHERE h.tenant = e.tenant AND h.run_id = e.run_id AND h.sequence IS NULL
			ORDER BY h.tenant, h.run_id, h.sequence, h.number LIMIT 1)
		FROM agentmemory_events e FORCE INDEX (events_waiting) WHERE e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	waitingOfRun = `
		SELECT ` + eventColumns + `, 0, e.number FROM agentmemory_events e FORCE INDEX (events_kept)
		WHERE e.tenant = $2 AND e.run_id = $3 AND e.sequence IS NULL AND e.number > $1 ORDER BY e.number LIMIT 256`
	keptEvents = `
		SELECT ` + eventColumns + `, e.sequence, e.number FROM agentmemory_events e FORCE INDEX (events_kept)
		WHERE e.tenant = $1 AND e.run_id = $2 AND e.sequence >= $3 ORDER BY e.sequence LIMIT $4`
	countWaiting = `SELECT COUNT(*) FROM (SELECT 1 FROM agentmemory_events FORCE INDEX (events_tenant) WHERE tenant = $2 AND sequence IS NULL LIMIT $1) x`
	countAll     = `SELECT COUNT(*) FROM (SELECT 1 FROM agentmemory_events FORCE INDEX (events_waiting) WHERE sequence IS NULL LIMIT $1) x`
)

// The statements about versions.
const (
	getVersion  = `SELECT version, mark FROM agentmemory_versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1`
	isAvailable = `
		SELECT $2 >= COALESCE((SELECT horizon FROM agentmemory_tenants WHERE tenant = $1), 0) AND ($4 OR EXISTS (
			SELECT 1 FROM agentmemory_versions WHERE tenant = $1 AND version = $2 AND mark = $3))`
	isIntact    = `SELECT NOT EXISTS (SELECT 1 FROM agentmemory_erased_spans WHERE tenant = $1 AND ref = $2 AND died > $3 AND born <= $3)`
	getJournals = `SELECT changes FROM agentmemory_versions WHERE tenant = $1 AND version > $2 AND version <= $3`
)
