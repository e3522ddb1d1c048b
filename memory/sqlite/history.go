package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Lookup returns the records of those ids that the scope holds, in every state and in
// the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	scan := rowScanner(s.Tenant)
	return collect(st.db.reads(ctx), func(rows *sql.Rows) (driver.Record, error) {
		r, err := scan(rows)
		return r.Record, err
	}, getRows, s.Tenant, namesIn(s, ids))
}

const getRows = `SELECT ` + recordColumns + ` FROM ` + named + withText

// The statements of History, each of which reads on behind a row in the order of an index.
const (
	historyOfTenant = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND (e.ref, e.id) > (?2, ?3) ORDER BY e.ref, e.id`
	historyOfRef = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id > ?3 ORDER BY e.id`
	historyOfSuccessors = `SELECT ` + recordColumns + ` FROM json_each(?3) j CROSS JOIN entries e INDEXED BY entries_successor
		ON e.tenant = ?1 AND e.ref = ?2 AND e.successor = CAST(unhex(j.value) AS TEXT) AND e.successor <> ''
		AND e.entry > iif(j.key = 0, ?4, 0)` + withText
	historyOfSubject = `SELECT ` + recordColumns + ` FROM labels l CROSS JOIN entries e ON e.entry = l.entry AND e.tenant = ?1` + withText + `
		WHERE l.label = unhex(?2) AND l.entry > ?3 ORDER BY l.entry`
)

// historyBehind returns the statement that goes on behind a row.
func historyBehind(tenant string, q *driver.HistoryQuery, last *row) (string, []any) {
	switch {
	case len(q.For) > 0: // those of the last row's successor, and of the ones behind it
		successors := []string{}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(q.For))) {
			if id >= last.For {
				successors = append(successors, inHex(id))
			}
		}
		return historyOfSuccessors, []any{tenant, q.Ref, inJSON(successors), last.key}
	case q.Subject != "":
		return historyOfSubject, []any{tenant, labelOf(tenant, q.Subject), last.key}
	case q.Ref != "":
		return historyOfRef, []any{tenant, q.Ref, last.Entry.ID}
	}
	return historyOfTenant, []any{tenant, last.Ref, last.Entry.ID}
}

// ahead is how many rows an iterator reads at a time.
const ahead = 512

// History yields the records that q asks for. The body of the loop may use the
// store. It reads 512 records at a time, so that what is changed meanwhile may show
// in either form.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		var last row
		driver.Pages(func(*driver.Record) (page []driver.Record, more bool, err error) {
			text, args := historyBehind(tenant, &q, &last)
			scan, n := rowScanner(tenant), 0
			err = st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
				r, err := scan(rows)
				if err == nil && q.Matches(&r.Record) {
					page = append(page, r.Record)
				}
				last, n = r, n+1
				return n < ahead, err
			}, text, args...)
			return page, n == ahead, err
		})(yield)
	}
}
