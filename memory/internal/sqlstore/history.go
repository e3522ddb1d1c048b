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
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	q := Query{Text: st.d.Lookup, Args: []any{st.d.Name(s.Tenant), st.d.Name(s.Ref), st.d.Names(ids)}}
	recs, _, err := readPage(ctx, st.d, s.Tenant, q, -1, st.d.Records(s.Tenant), nil)
	return recs, err
}

// History are the statements that read PageSize records behind one, in their order.
type History struct {
	OfTenant     string // tenant, the ref and id that it is behind
	OfRef        string // tenant, ref, the id that it is behind
	OfSuccessors string // tenant, ref, successors in their order, the id that it is behind among those of the first
	OfSubject    string // tenant, label, the ref, instant and id that it is behind
}

// historyBehind returns the statement that goes on behind a record, with those of its successor: of
// successors it is the first.
func (d *Dialect) historyBehind(tenant string, q *driver.HistoryQuery, successors []string, last *driver.Record) Query {
	of, id := d.Name(tenant), d.Name(last.Entry.ID)
	switch {
	case len(q.For) > 0:
		return Query{Text: d.History.OfSuccessors, Args: []any{of, d.Name(q.Ref), d.Names(successors), id}}
	case q.Subject != "":
		return Query{Text: d.History.OfSubject, Args: []any{of, Label(tenant, q.Subject), d.Name(last.Ref), last.Entry.CreatedAt.UnixMilli(), id}}
	case q.Ref != "":
		return Query{Text: d.History.OfRef, Args: []any{of, d.Name(q.Ref), id}}
	}
	return Query{Text: d.History.OfTenant, Args: []any{of, d.Name(last.Ref), id}}
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
			page, more, err = readPage(ctx, st.d, tenant, st.d.historyBehind(tenant, &q, successors, &last), PageSize, st.d.Records(tenant), nil)
			if more {
				last = page[PageSize-1]
			}
			return slices.DeleteFunc(page, func(r driver.Record) bool { return !q.Matches(&r) }), more, err
		})(yield)
	}
}
