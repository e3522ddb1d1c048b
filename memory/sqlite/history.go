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
	historyOfSuccessor = `SELECT ` + recordColumns + ` FROM entries e INDEXED BY entries_successor` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.successor = ?3 AND e.successor <> '' AND e.entry > ?4
		ORDER BY e.entry`
	historyOfSubject = `SELECT ` + recordColumns + ` FROM labels l CROSS JOIN entries e ON e.entry = l.entry AND e.tenant = ?1` + withText + `
		WHERE l.label = unhex(?2) AND l.entry > ?3 ORDER BY l.entry`
)

// historyBehind returns the statement that goes on behind a row, of what has the successor, if
// there is one.
func historyBehind(tenant string, q *driver.HistoryQuery, successor string, last *row) (string, []any) {
	switch {
	case successor != "":
		return historyOfSuccessor, []any{tenant, q.Ref, successor, last.key}
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
		successors := []string{""}
		if len(q.For) > 0 {
			successors = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(q.For))), func(id string) bool { return id == "" })
		}
		var last row
		driver.Pages(func(*driver.Record) (page []driver.Record, more bool, err error) {
			if len(successors) == 0 {
				return nil, false, nil
			}
			text, args := historyBehind(tenant, &q, successors[0], &last)
			scan, n := rowScanner(tenant), 0
			err = st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
				r, err := scan(rows)
				if err == nil && q.Matches(&r.Record) {
					page = append(page, r.Record)
				}
				last, n = r, n+1
				return n < ahead, err
			}, text, args...)
			if n < ahead {
				successors, last = successors[1:], row{}
			}
			return page, err == nil && len(successors) > 0, err
		})(yield)
	}
}
