package inmem

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

func TestSmoke(t *testing.T) {
	st, bg := New(), context.Background()
	s := driver.Scope{Tenant: "t", Ref: "r"}
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for i := range 300 {
		require.NoError(t, st.Put(bg, s, driver.Entry{ID: fmt.Sprint(i), Content: "c", CreatedAt: at.Add(time.Duration(i) * time.Millisecond), Subjects: []string{"ann"}}))
	}
	v, err := st.Version(bg, "t")
	require.NoError(t, err)
	all, err := st.List(bg, s, driver.Query{At: at})
	require.NoError(t, err)
	require.Len(t, all, 300)
	require.Equal(t, "299", all[0].ID)
	doc := driver.Document{Scope: s, Class: driver.Content, Kind: "k", Key: "a", Value: []byte("x"), Of: []string{"5"}}
	done, err := st.Apply(bg, "t", driver.Mutation{At: at, Documents: []driver.DocumentSwap{{Document: doc}}})
	require.NoError(t, err)
	require.NotZero(t, done.Revs[0])
	_, err = st.Apply(bg, "t", driver.Mutation{At: at, Erase: []driver.Located{{Scope: s, ID: "5"}},
		Retire: []driver.Retirement{{Located: driver.Located{Scope: s, ID: "7"}, State: driver.Merged, For: "8"}}})
	require.NoError(t, err)
	for range st.Documents(bg, driver.DocumentQuery{Tenant: "t", EveryRef: true}) {
		t.Fatal("the document is there")
	}
	ok, err := st.Intact(bg, s, v)
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = st.Intact(bg, driver.Scope{Tenant: "t", Ref: "other"}, v)
	require.NoError(t, err)
	require.True(t, ok)
	now, _ := st.Version(bg, "t")
	c, err := st.Changes(bg, s, v, now)
	require.NoError(t, err)
	require.Equal(t, driver.ChangeSet{Retired: []string{"7"}, Erased: []string{"5"}}, c)
	old, err := st.ListAt(bg, s, v, driver.Query{At: at})
	require.NoError(t, err)
	require.Len(t, old, 299)
	all, err = st.List(bg, s, driver.Query{At: at})
	require.NoError(t, err)
	require.Len(t, all, 298)
	n := 0
	for range st.Scan(bg, s, driver.Query{At: at}) {
		n++
	}
	require.Equal(t, 298, n)
	n, err = st.Purge(bg, "t", now, at)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
