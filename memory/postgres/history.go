package postgres

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

const recordColumns = `COALESCE(e.long_ref, e.ref), e.state, e.successor, e.erased, ` + entryColumns

func scanRecord(row pgx.Row, tenant string, r *driver.Record) error {
	var state int16
	var ref, successor name
	if err := scanEntry(row, &r.Entry, &ref, &state, &successor, &r.Erased); err != nil {
		return err
	}
	r.Scope = driver.Scope{Tenant: tenant, Ref: string(ref)}
	r.State, r.For = driver.State(state), string(successor)
	if r.Erased {
		r.Entry = driver.Entry{ID: r.Entry.ID}
	}
	return nil
}

func collectRecords(tenant string, recs *[]driver.Record) func(pgx.Rows) error {
	return rowsInto(recs, func(row pgx.Row, r *driver.Record) error { return scanRecord(row, tenant, r) })
}

// Lookup returns the records of those ids that the scope holds, in every state and in
// the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	const look = `
		SELECT ` + recordColumns + ` FROM ` + lookedUp + ` ORDER BY n.place`
	var recs []driver.Record
	err := st.db.query(ctx, tenantSetting(s.Tenant), collectRecords(s.Tenant, &recs), look, []byte(s.Tenant), keyOf(s.Ref), idKeys(ids))
	return recs, err
}

// historyPage is how many records a history reads at a time.
const historyPage = 256

// History yields the records that q asks for, a page at a time. The body of the loop may
// use the store.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		successors := slices.Compact(slices.Sorted(slices.Values(q.For)))
		pages := driver.Pages(func(last *driver.Record) (recs []driver.Record, more bool, err error) {
			ref, id := []byte{}, []byte{} // the last that was seen
			if last != nil {
				ref, id = keyOf(last.Ref), []byte(last.Entry.ID)
				if q.Subject == "" && len(successors) > 0 {
					k, _ := slices.BinarySearch(successors, last.For)
					successors = successors[k:]
				}
			}
			sql, args := historySQL(tenant, &q, successors)
			err = st.db.query(ctx, tenantSetting(tenant), collectRecords(tenant, &recs), sql, append(args, ref, id)...)
			return recs, len(recs) == historyPage, err
		})
		for r, err := range pages {
			if err == nil && q.Subject != "" && !slices.Contains(r.Entry.Subjects, q.Subject) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// historySQL is the statement of a page. Its last two arguments are the ref and the id
// behind which it begins.
func historySQL(tenant string, q *driver.HistoryQuery, successors []string) (string, []any) {
	const (
		from   = `SELECT ` + recordColumns + ` FROM agentmemory.entries e`
		behind = ` ORDER BY e.ref, e.id LIMIT 256`
	)
	args := []any{[]byte(tenant)}
	switch {
	case q.Subject != "":
		// Labels and entries are joined within a page of labels.
		var one any
		if q.Ref != "" {
			one = keyOf(q.Ref)
		}
		args = append(args, keyOf(q.Subject), one, idKeys(successors))
		return `SELECT ` + recordColumns + ` FROM agentmemory.subjects s, LATERAL (
				SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = s.ref AND e.id = s.id OFFSET 0) e
			WHERE s.tenant = $1 AND s.subject = $2 AND ($3::bytea IS NULL OR s.ref = $3)
				AND ($4::bytea[] IS NULL OR e.successor = ANY ($4)) AND (s.ref, s.id) > ($5, $6) ORDER BY s.ref, s.id LIMIT 256`, args
	case len(successors) > 0:
		// Successor by successor; the first has been read up to a record of the ref.
		args = append(args, keyOf(q.Ref), idKeys(successors))
		return `SELECT ` + recordColumns + ` FROM unnest($3::bytea[]) WITH ORDINALITY AS h (successor, place), LATERAL (
				SELECT * FROM agentmemory.entries e
				WHERE e.tenant = $1 AND e.ref = $2 AND sha256(e.successor) = sha256(h.successor) AND e.successor = h.successor
					AND (e.ref, e.id) > ($4, CASE h.place WHEN 1 THEN $5 ELSE ''::bytea END)
				ORDER BY e.id LIMIT 256) e
			ORDER BY h.place, e.id LIMIT 256`, args
	case q.Ref != "":
		args = append(args, keyOf(q.Ref))
		return from + ` WHERE e.tenant = $1 AND e.ref = $2 AND (e.ref, e.id) > ($3, $4)` + behind, args
	}
	return from + ` WHERE e.tenant = $1 AND (e.ref, e.id) > ($2, $3)` + behind, args
}
