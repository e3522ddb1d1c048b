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
			recs = append(recs, r.Record)
			return true, err
		}}}
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

// History yields the records that q asks for, a page at a time. The body of the loop may use the
// store; what it changes may show in either form.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		var last Record
		successors := distinct(q.For)
		pages.Of(func(*driver.Record) (page []driver.Record, more bool, err error) {
			passed, _ := slices.BinarySearch(successors, last.For)
			successors = successors[passed:]
			text, args := st.d.History(tenant, &q, successors, &last)
			n := 0
			err = st.d.Read(ctx, tenant, func() []Query {
				page, n = nil, 0
				scan := st.d.Records(tenant)
				return []Query{{text, args, func(row Row) (bool, error) {
					r, err := scan(row)
					if err == nil && q.Matches(&r.Record) {
						page = append(page, r.Record)
					}
					last, n = r, n+1
					return n < PageSize, err
				}}}
			})
			return page, n == PageSize, err
		})(yield)
	}
}
