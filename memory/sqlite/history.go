package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

const recordColumns = entryColumns + `, e.ref, e.state, e.successor, e.erased, e.entry`

// scanRecord also returns the key of the row.
func scanRecord(rows *sql.Rows, tenant string) (driver.Record, int64, error) {
	r := driver.Record{Scope: driver.Scope{Tenant: tenant}}
	var key int64
	var err error
	r.Entry, err = newScanner(&r.Ref, &r.State, &r.For, &r.Erased, &key).read(rows)
	if r.Erased {
		r.Entry = driver.Entry{ID: r.Entry.ID}
	}
	return r, key, err
}

// Lookup returns the records of those ids that the scope holds, in every state and in
// the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return collect(st.db.queries(ctx), func(rows *sql.Rows) (driver.Record, error) {
		r, _, err := scanRecord(rows, s.Tenant)
		return r, err
	}, lookedUp, s.Tenant, s.Ref, idList(ids))
}

const lookedUp = `SELECT ` + recordColumns + ` FROM ` + listed + withText

// The statements of History, each of which reads on behind a record in the order of an index.
const (
	historyOfTenant = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND (e.ref, e.id) > (?2, ?3) ORDER BY e.ref, e.id`
	historyOfRef = `SELECT ` + recordColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id > ?3 ORDER BY e.id`
	historyOfSuccessor = `SELECT ` + recordColumns + ` FROM entries e INDEXED BY entries_successor` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.successor = ?3 AND e.successor <> '' AND e.entry > ?4
		ORDER BY e.entry`
	historyOfSubject = `SELECT ` + recordColumns + ` FROM labels l CROSS JOIN entries e ON e.entry = l.entry AND e.tenant = ?1` + withText + `
		WHERE l.label = ?2 AND l.entry > ?3 ORDER BY l.entry`
)

// History yields the records that q asks for. The body of the loop may use the
// store. It reads 512 records at a time, so that what is changed meanwhile may show
// in either form.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		successors := []string{""}
		if len(q.For) > 0 {
			successors = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(q.For))), func(id string) bool { return id == "" })
		}
		for _, successor := range successors {
			if !st.history(ctx, tenant, q, successor, yield) {
				return
			}
		}
	}
}

// history yields what q asks for, of what was retired in favour of an heir if there is one,
// and reports whether to go on.
func (st *Store) history(ctx context.Context, tenant string, q driver.HistoryQuery, successor string, yield func(driver.Record, error) bool) bool {
	var last driver.Record
	var key int64
	for {
		var text string
		var args []any
		switch {
		case successor != "":
			text, args = historyOfSuccessor, []any{tenant, q.Ref, successor, key}
		case q.Subject != "":
			text, args = historyOfSubject, []any{tenant, labelOf(tenant, q.Subject), key}
		case q.Ref != "":
			text, args = historyOfRef, []any{tenant, q.Ref, last.Entry.ID}
		default:
			text, args = historyOfTenant, []any{tenant, last.Ref, last.Entry.ID}
		}
		var page []driver.Record
		err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
			r, k, err := scanRecord(rows, tenant)
			page, key = append(page, r), k
			return len(page) < ahead, err
		}, text, args...)
		if err != nil {
			yield(driver.Record{}, err)
			return false
		}
		for _, r := range page {
			asked := q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject) && (q.Ref == "" || r.Ref == q.Ref)
			if asked && !yield(r, nil) {
				return false
			}
		}
		if len(page) < ahead {
			return true
		}
		last = page[len(page)-1]
	}
}
