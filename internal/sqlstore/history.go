package sqlstore

import (
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
)

// Lookup returns the records of those ids that the scope holds, in every state and in the order
// of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) (recs []driver.Record, err error) {
	err = st.d.Read(ctx, s.Tenant, func() []Query {
		recs = nil
		scan := st.d.Records(s.Tenant)
		return []Query{{st.d.Lookup, []any{st.d.Name(s.Tenant), st.d.Name(s.Ref), st.d.Names(ids)}, func(row Row) (bool, error) {
			r, err := scan(row)
			recs = append(recs, r)
			return true, err
		}}}
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

// History are the statements that read PageSize records behind one, in their order.
type History struct {
	OfTenant     string // tenant, the ref and id that it is behind
	OfRef        string // tenant, ref, the id that it is behind
	OfSuccessors string // tenant, ref, successors in their order, the id that it is behind among those of the first
	OfSubject    string // tenant, label, the ref and id that it is behind
}

// historyBehind returns the statement that goes on behind a record, with those of its successor: of
// successors it is the first.
func (d *Dialect) historyBehind(tenant string, q *driver.HistoryQuery, successors []string, last *driver.Record) (string, []any) {
	of, id := d.Name(tenant), d.Name(last.Entry.ID)
	switch {
	case len(q.For) > 0:
		return d.History.OfSuccessors, []any{of, d.Name(q.Ref), d.Names(successors), id}
	case q.Subject != "":
		return d.History.OfSubject, []any{of, Label(tenant, q.Subject), d.Name(last.Ref), id}
	case q.Ref != "":
		return d.History.OfRef, []any{of, d.Name(q.Ref), id}
	}
	return d.History.OfTenant, []any{of, d.Name(last.Ref), id}
}

// History yields the records that q asks for, a page at a time. The body of the loop may use the
// store; what it changes may show in either form.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		var last driver.Record
		successors := distinct(q.For)
		pages.Of(func(*driver.Record) (page []driver.Record, more bool, err error) {
			passed, _ := slices.BinarySearch(successors, last.For)
			successors = successors[passed:]
			text, args := st.d.historyBehind(tenant, &q, successors, &last)
			n := 0
			err = st.d.Read(ctx, tenant, func() []Query {
				page, n = nil, 0
				scan := st.d.Records(tenant)
				return []Query{{text, args, func(row Row) (bool, error) {
					r, err := scan(row)
					if err == nil && q.Matches(&r) {
						page = append(page, r)
					}
					last, n = r, n+1
					return n < PageSize, err
				}}}
			})
			return page, n == PageSize, err
		})(yield)
	}
}
