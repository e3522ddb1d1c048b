package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A document that goes with an erased entry does not come back, without its value, because
// the same mutation retains it for another entry.
func TestM10_ErasedAndRetained(t *testing.T) {
	db, _ := fresh(t)
	st, ctx := db.Memory(), t.Context()
	s := driver.Scope{Tenant: "acme", Ref: "support"}
	d := driver.Document{Scope: s, Class: driver.Content, Kind: "k", Key: "1", Of: []string{"1"}, Value: []byte("made of 1")}
	done, err := st.Apply(ctx, "acme", driver.Mutation{
		Put:       []driver.Placed{{Scope: s, Entry: entry("1", "one")}, {Scope: s, Entry: entry("2", "two")}},
		Documents: []driver.DocumentSwap{{Document: d}},
	})
	require.NoError(t, err)
	d.Of, d.Value, d.Rev = []string{"2"}, nil, done.Revs[0]
	done, err = st.Apply(ctx, "acme", driver.Mutation{
		Erase: []driver.Located{{Scope: s, ID: "1"}}, Documents: []driver.DocumentSwap{{Document: d, Act: driver.Retain}},
	})
	require.NoError(t, err)
	require.Equal(t, []int64{0}, done.Revs)
	docs, err := gather(st.Documents(ctx, driver.DocumentQuery{Tenant: "acme", EveryRef: true}))
	require.NoError(t, err)
	require.Empty(t, docs)
}

// Nothing was retired in favour of an entry without an id.
func TestHistory_ForNothing(t *testing.T) {
	db, _ := fresh(t)
	st, ctx := db.Memory(), t.Context()
	s := driver.Scope{Tenant: "acme", Ref: "support"}
	require.NoError(t, st.Put(ctx, s, entry("1", "one")))
	require.NoError(t, st.Put(ctx, s, entry("2", "two")))
	_, err := st.Apply(ctx, "acme", driver.Mutation{At: time.UnixMilli(0), Retire: []driver.Retirement{
		{Located: driver.Located{Scope: s, ID: "1"}, State: driver.Merged, For: "2"}}})
	require.NoError(t, err)
	recs, err := gather(st.History(ctx, "acme", driver.HistoryQuery{Ref: s.Ref, For: []string{"", "2"}}))
	require.NoError(t, err)
	require.Len(t, recs, 1)
}
