package sqlite

import "github.com/openwop/agentmemory/memory/internal/sqlstore"

// The statements that read entries. What is live is a range of one index, in the order of a
// list. What was live at a version is live still, or has died since: the latter is a range of
// another one, and is sorted. Ids are looked up one by one, and sorted. The entries of a subject, in
// every state, are a range of the index of labels in the order of a list.
const (
	asked   = ` AND e.expires > ?3 AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6` + tagged
	tagged  = ` AND coalesce(instr(x.head, ?9), 1)`
	inOrder = ` ORDER BY e.created DESC, e.id DESC LIMIT ?7 + 0`
	shown   = ` AND (e.born <= ?8 OR EXISTS (SELECT 1 FROM json_each(e.former) f WHERE f.value ->> 0 <= ?8 AND ?8 < f.value ->> 1))`

	fromLive = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807` + asked
	fromPast = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_past` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died > ?8 AND e.died < 9223372036854775807` + asked
	fromIDs = `SELECT ` + entryColumns + ` FROM json_each(?10) j` + ofRef + withText

	fromLabels = `SELECT ` + entryColumns + ` FROM labels l CROSS JOIN entries e ON e.tenant = ?1 AND e.ref = l.ref AND e.id = l.id` + withText + `
		WHERE l.label = ?10 AND l.ref = ?2 AND (l.created, l.id) < (?4, ?5) AND l.created >= ?6 AND e.expires > ?3` + tagged
	byLabel = ` ORDER BY l.created DESC, l.id DESC`

	listLive = fromLive + inOrder
	listAt   = fromLive + shown + ` UNION ALL ` + fromPast + shown + ` ORDER BY 4 DESC, 1 DESC LIMIT ?7 + 0`
	idsLive  = fromIDs + ` WHERE +e.died = 9223372036854775807` + asked + inOrder // the + keeps it from entries_live
	idLive   = `SELECT ` + entryColumns + ` FROM entries e` + withText + ` WHERE e.tenant = ? AND e.ref = ? AND e.id = ? AND +e.died = 9223372036854775807`
	idsAt    = fromIDs + ` WHERE e.died > ?8` + asked + shown + inOrder

	subjectLive = fromLabels + ` AND +e.died = 9223372036854775807` + byLabel
	subjectAt   = fromLabels + ` AND e.died > ?8` + shown + byLabel
)

// listOf returns the statement that reads what l asks for, apart from tags: of these it looks for the
// bytes of one in the head, so that few rows are read that do not match. A row without a head is read,
// and found damaged.
func listOf(l *sqlstore.Listing, version int64) (string, []any) {
	if len(l.IDs) == 1 && l.Version == "" { // much cheaper than a list of one
		return idLive, []any{l.Tenant, l.Ref, l.IDs[0]}
	}
	limit, inHead := -1, []byte{}
	switch {
	case len(l.Tags) > 0:
		inHead = sqlstore.Pack(l.Tags[:1])
	case l.Limit > 0 && l.Subject == "": // the caller judges that of ids
		limit = l.Limit
	}
	args := []any{l.Tenant, l.Ref, l.At.UnixMilli(), l.Before, l.BeforeID, l.Since, limit, version, inHead}
	live, at := listLive, listAt
	switch {
	case len(l.IDs) > 0:
		live, at, args = idsLive, idsAt, append(args, hexList(l.IDs))
	case l.Subject != "":
		live, at, args = subjectLive, subjectAt, append(args, sqlstore.Label(l.Tenant, l.Subject))
	}
	if l.Version == "" {
		return live, args
	}
	return at, args
}

const (
	getRows = `SELECT ` + recordColumns + ` FROM ` + named + withText
	lookup  = `SELECT ` + recordColumns + ` FROM json_each(?3) j` + ofRef + withText

	// Those of History read on behind a row in the order of an index.
	historyOfTenant = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND (e.ref, e.id) > (?2, ?3) ORDER BY e.ref, e.id`
	historyOfRef = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id > ?3 ORDER BY e.id`
	historyOfSuccessors = `SELECT ` + recordColumns + ` FROM json_each(?3) j CROSS JOIN entries e INDEXED BY entries_successor
		ON e.tenant = ?1 AND e.ref = ?2 AND e.successor = CAST(unhex(j.value) AS TEXT) AND e.successor <> ''
		AND e.id > iif(j.key = 0, ?4, '')` + withText
	historyOfSubject = `SELECT ` + recordColumns + ` FROM labels l CROSS JOIN entries e ON e.tenant = ?1 AND e.ref = l.ref AND e.id = l.id` + withText + `
		WHERE l.label = ?2 AND (l.ref, l.created, l.id) > (?3, ?4, ?5) ORDER BY l.ref, l.created, l.id`
)

// documentColumns are of a row d of documents and its row b of bodies, which fromDocuments
// joins if there is one.
const (
	documentColumns = `SELECT d.rev, d.tenant, d.ref, d.kind, d.key, d.class, d.grp, d.due, d.origin, d.whole, b.subjects, `
	fromDocuments   = ` FROM documents d LEFT JOIN bodies b ON b.body = d.body WHERE `
	withValue       = `coalesce(d.value, b.value, x'')`

	dueDocuments = documentColumns + withValue + fromDocuments + `d.kind = ?1 AND d.due <= ?2 ORDER BY d.due LIMIT ?3 + 0`
)

// documentPage has no limit: who reads it ends it.
func documentPage(_, where string, bare, _ bool) string {
	value := withValue
	if bare {
		value = `NULL`
	}
	return documentColumns + value + fromDocuments + where + ` ORDER BY d.ref, d.kind, d.key`
}

// The statements that read events.
const (
	eventColumns = `SELECT tenant, run, event, type, node, causation, engine, schema, at, payload, number, ifnull(sequence, 0), number FROM events`
	isBehind     = `number > max(?1, 4611686018427387903)` // what waits has numbers from there on

	waitingEvents = eventColumns + ` WHERE ` + isBehind + ` ORDER BY number LIMIT 256`
	waitingOfRun  = eventColumns + ` WHERE tenant = ?2 AND run = ?3 AND ` + isBehind + ` ORDER BY number LIMIT 256`
	keptEvents    = eventColumns + ` WHERE tenant = ?1 AND run = ?2 AND sequence >= ?3 AND sequence IS NOT NULL ORDER BY sequence LIMIT ?4 + 0`
	countWaiting  = `SELECT count(*) FROM (SELECT 1 FROM events WHERE tenant = ?2 AND number >= 4611686018427387904 LIMIT ?1 + 0)`
	countAll      = `SELECT count(*) FROM (SELECT 1 FROM events WHERE number >= 4611686018427387904 LIMIT ?1 + 0)`
)
