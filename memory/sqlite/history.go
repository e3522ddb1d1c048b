package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

const recordColumns = entryColumns + `, e.ref, e.state, e.successor, e.erased, e.entry`

// scanRecord also returns the key of the row.
func scanRecord(rows *sql.Rows, tenant string) (memory.Record, int64, error) {
	r := memory.Record{Scope: memory.Scope{Tenant: tenant}}
	var key int64
	var err error
	r.Entry, err = newScanner(&r.Ref, &r.State, &r.For, &r.Erased, &key).read(rows)
	if r.Erased {
		r.Entry = memory.Entry{ID: r.Entry.ID}
	}
	return r, key, err
}

// Lookup returns the record of an id whatever its state, or [memory.ErrNotFound].
func (st *Store) Lookup(ctx context.Context, s memory.Scope, id string) (r memory.Record, err error) {
	found := false
	err = st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		found = true
		r, _, err = scanRecord(rows, s.Tenant)
		return false, err
	}, `SELECT `+recordColumns+` FROM entries e WHERE e.tenant = ? AND e.ref = ? AND e.id = ?`, s.Tenant, s.Ref, id)
	if err == nil && !found {
		err = memory.ErrNotFound
	}
	return r, err
}

// The statements of History, each of which reads a page in the order of an index.
const (
	historyOfTenant = `SELECT ` + recordColumns + ` FROM entries e
		WHERE e.tenant = ?1 AND (e.ref, e.id) >= (?2, ?3) ORDER BY e.ref, e.id LIMIT ?4 + 0`
	historyOfRef = `SELECT ` + recordColumns + ` FROM entries e
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id >= ?3 ORDER BY e.id LIMIT ?4 + 0`
	historyOfSuccessor = `SELECT ` + recordColumns + ` FROM entries e INDEXED BY entries_successor
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.successor = ?3 AND e.successor <> '' AND e.entry > ?4
		ORDER BY e.entry LIMIT ?5 + 0`
	historyOfSubject = `SELECT ` + recordColumns + ` FROM subjects s CROSS JOIN entries e ON e.entry = s.entry AND e.tenant = s.tenant
		WHERE s.tenant = ?1 AND s.subject = ?2 AND s.entry > ?3 ORDER BY s.entry LIMIT ?4 + 0`
)

// History yields the records that q asks for. The body of the loop may use the
// store. It reads 512 records at a time, so that what is changed meanwhile may show
// in either form.
func (st *Store) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		var last memory.Record
		var key int64
		for begun := false; ; begun = true {
			next := "" // the least id that comes behind the last one
			if begun {
				next = last.Entry.ID + "\x00"
			}
			var text string
			var args []any
			switch {
			case q.For != "":
				text, args = historyOfSuccessor, []any{tenant, q.Ref, q.For, key, ahead}
			case q.Subject != "":
				text, args = historyOfSubject, []any{tenant, q.Subject, key, ahead}
			case q.Ref != "":
				text, args = historyOfRef, []any{tenant, q.Ref, next, ahead}
			default:
				text, args = historyOfTenant, []any{tenant, last.Ref, next, ahead}
			}
			var page []memory.Record
			err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
				r, k, err := scanRecord(rows, tenant)
				page, key = append(page, r), k
				return true, err
			}, text, args...)
			if err != nil {
				yield(memory.Record{}, err)
				return
			}
			for _, r := range page {
				if asked(&r, q) && !yield(r, nil) {
					return
				}
			}
			if len(page) < ahead {
				return
			}
			last = page[len(page)-1]
		}
	}
}

// asked reports whether q asks for a record that was found by one of its fields.
func asked(r *memory.Record, q memory.HistoryQuery) bool {
	return (q.Ref == "" || r.Ref == q.Ref) && (q.For == "" || r.For == q.For) &&
		(q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject))
}

// Cell returns the value of a cell, nil if it has none.
func (st *Store) Cell(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
	return cell(st.db.queries(ctx), s, name)
}

// cell reads a cell by query. One that has a value has one that is not nil.
func cell(query queryFunc, s memory.Scope, name string) ([]byte, error) {
	var value []byte
	err := first(query, []any{&value}, `SELECT value FROM cells WHERE tenant = ? AND ref = ? AND name = ?`, s.Tenant, s.Ref, name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err
}
