package inmem

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

var (
	base = time.UnixMilli(1_700_000_000_000).UTC()
	bg   = context.Background()
)

func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for x, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, x)
	}
	return all, nil
}

func ms(n int) time.Time { return base.Add(time.Duration(n) * time.Millisecond) }

func at(n int) driver.Query { return driver.Query{At: ms(n)} }

// seen is a query at a version.
func seen(v driver.Version, q driver.Query) driver.Query {
	q.Version = v
	return q
}

func note(id string, created int) driver.Entry {
	return driver.Entry{ID: id, Content: "about " + id, CreatedAt: ms(created)}
}

func ids(entries []driver.Entry) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func located(s driver.Scope, ids ...string) []driver.Located {
	var ls []driver.Located
	for _, id := range ids {
		ls = append(ls, driver.Located{Scope: s, ID: id})
	}
	return ls
}

func apply(t *testing.T, st *Store, m driver.Mutation) driver.Version {
	t.Helper()
	done, err := st.Apply(bg, "t", m)
	require.NoError(t, err)
	return done.Version
}

// lookup returns what is held under an id of a scope; its id is empty if nothing is.
func lookup(t *testing.T, st *Store, s driver.Scope, id string) (rec driver.Record) {
	t.Helper()
	recs, err := st.Lookup(bg, s, []string{id})
	require.NoError(t, err)
	if len(recs) > 0 {
		rec = recs[0]
	}
	return rec
}

// swap sets a document as it is given.
func swap(d driver.Document) driver.Mutation {
	return driver.Mutation{Documents: []driver.DocumentSwap{{Document: d}}}
}

func documents(t *testing.T, st *Store, q driver.DocumentQuery) []driver.Document {
	t.Helper()
	q.Tenant = "t"
	docs, err := collect(st.Documents(bg, q))
	require.NoError(t, err)
	return docs
}

var home = driver.Scope{Tenant: "t", Ref: "r"}
