package postgres

import (
	"context"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory"
)

const recordColumns = `COALESCE(e.long_ref, e.ref), e.state, e.heir, e.erased, ` + entryColumns

func scanRecord(row pgx.Row, tenant string, r *memory.Record) error {
	var state int16
	var ref, heir name
	if err := scanEntry(row, &r.Entry, &ref, &state, &heir, &r.Erased); err != nil {
		return err
	}
	r.Scope = memory.Scope{Tenant: tenant, Ref: string(ref)}
	r.State, r.For = memory.State(state), string(heir)
	if r.Erased {
		r.Entry = memory.Entry{ID: r.Entry.ID}
	}
	return nil
}

func collectRecords(tenant string, recs *[]memory.Record) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		*recs = nil
		for rows.Next() {
			var r memory.Record
			if err := scanRecord(rows, tenant, &r); err != nil {
				return err
			}
			*recs = append(*recs, r)
		}
		return rows.Err()
	}
}

// Lookup returns the record of an id whatever its state, or [memory.ErrNotFound].
func (st *Store) Lookup(ctx context.Context, s memory.Scope, id string) (memory.Record, error) {
	const look = `SELECT ` + recordColumns + ` FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3`
	var recs []memory.Record
	err := st.db.read(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(look, []byte(s.Tenant), keyOf(s.Ref), []byte(id)).Query(collectRecords(s.Tenant, &recs))
	})
	switch {
	case err != nil:
		return memory.Record{}, err
	case len(recs) == 0:
		return memory.Record{}, memory.ErrNotFound
	}
	return recs[0], nil
}

// historyPage is how many records a history reads at a time.
const historyPage = 256

// History yields the records that q asks for, in the order of refs and ids, a page at
// a time. The body of the loop may use the store.
func (st *Store) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		sql, args := historySQL(tenant, q)
		ref, id := []byte{}, []byte{} // the last that was seen
		for {
			var recs []memory.Record
			err := st.db.read(ctx, tenant, func(b *pgx.Batch) {
				b.Queue(sql, append(args, ref, id)...).Query(collectRecords(tenant, &recs))
			})
			if err != nil {
				yield(memory.Record{}, err)
				return
			}
			for _, r := range recs {
				if q.Subject != "" && !slices.Contains(r.Entry.Subjects, q.Subject) {
					continue
				}
				if !yield(r, nil) {
					return
				}
			}
			if len(recs) < historyPage {
				return
			}
			last := recs[len(recs)-1]
			ref, id = keyOf(last.Ref), []byte(last.Entry.ID)
		}
	}
}

// historySQL is the statement of a page. Its last two arguments are the ref and the id
// behind which it begins.
func historySQL(tenant string, q memory.HistoryQuery) (string, []any) {
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
		args = append(args, keyOf(q.Subject), one, heirOf(q))
		return from + ` JOIN agentmemory.subjects s ON s.ref = e.ref AND s.id = e.id
			WHERE e.tenant = $1 AND s.tenant = $1 AND s.subject = $2 AND ($3::bytea IS NULL OR s.ref = $3)
				AND ($4::bytea IS NULL OR e.heir = $4) AND (s.ref, s.id) > ($5, $6) ORDER BY s.ref, s.id LIMIT 256`, args
	case q.For != "":
		args = append(args, keyOf(q.Ref), heirOf(q))
		return from + ` WHERE e.tenant = $1 AND e.ref = $2 AND e.heir = $3 AND (e.ref, e.id) > ($4, $5)` + behind, args
	case q.Ref != "":
		args = append(args, keyOf(q.Ref))
		return from + ` WHERE e.tenant = $1 AND e.ref = $2 AND (e.ref, e.id) > ($3, $4)` + behind, args
	}
	return from + ` WHERE e.tenant = $1 AND (e.ref, e.id) > ($2, $3)` + behind, args
}

func heirOf(q memory.HistoryQuery) any {
	if q.For == "" {
		return nil
	}
	return []byte(q.For)
}
