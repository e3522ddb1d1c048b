package sqlstore

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
)

// Scopes yields the scopes that hold entries, ended ones too, or documents, behind the scope
// after, in the byte order of tenant and ref. The body of the loop may use the store. Each
// scope costs four steps into indexes, however much it holds.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return pages.Of(func(last *driver.Scope) ([]driver.Scope, bool, error) {
		if last == nil {
			last = &after
		}
		q := Query{Text: st.d.NextScope, Args: []any{st.d.Name(last.Tenant), st.d.Name(last.Ref)}}
		return readPage(ctx, st.d, "", q, 1, scanScope, nil)
	})
}

func scanScope(row Row) (s driver.Scope, err error) {
	return s, row.Scan((*Name)(&s.Tenant), (*Name)(&s.Ref))
}
