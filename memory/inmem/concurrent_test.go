package inmem

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// together runs functions at the same time, each with its number.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// A version shows all of a mutation or nothing, over all scopes, and goes on
// showing the same while others write, retire and restore.
func TestM6_ViewsDoNotMove(t *testing.T) {
	st := New()
	far := driver.Scope{Tenant: "t", Ref: "far"}
	const writers, rounds = 3, 60
	view := func(v driver.Version) (near, distant []string) {
		a, err := st.List(bg, home, seen(v, at(99)))
		require.NoError(t, err)
		b, err := st.List(bg, far, seen(v, at(99)))
		require.NoError(t, err)
		return ids(a), ids(b)
	}
	together(2*writers, func(i int) {
		for n := range rounds {
			id := fmt.Sprintf("w%d.%d", i, n)
			if i < writers {
				both := append(located(home, id), located(far, id)...)
				_, err := st.Apply(bg, "t", driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: note(id, n%7)}, {Scope: far, Entry: note(id, n%7)}}})
				require.NoError(t, err)
				var retire []driver.Retirement
				for _, l := range both {
					retire = append(retire, driver.Retirement{Located: l, State: driver.Superseded, For: id + "+"})
				}
				_, err = st.Apply(bg, "t", driver.Mutation{
					At:     ms(50),
					Put:    []driver.Placed{{Scope: home, Entry: note(id+"+", n%7)}, {Scope: far, Entry: note(id+"+", n%7)}},
					Retire: retire,
				})
				require.NoError(t, err)
				if n%3 == 0 {
					_, err = st.Apply(bg, "t", driver.Mutation{Restore: both})
					require.NoError(t, err)
				}
				continue
			}
			v, err := st.Version(bg, "t")
			require.NoError(t, err)
			a1, b1 := view(v)
			require.Equal(t, a1, b1)
			_, err = st.Version(bg, "u")
			require.NoError(t, err)
			a2, b2 := view(v)
			require.Equal(t, a1, a2)
			require.Equal(t, b1, b2)
		}
	})
}

// With everything going on at once, each acknowledged write that was not taken back
// is there in the end, and reads return what was written or a plain refusal.
func TestNothingIsLost(t *testing.T) {
	st := New()
	const writers, rounds = 4, 150
	// Of each writer's entries, numbers 1 mod 3 are deleted and 2 mod 3 are erased.
	together(writers+4, func(i int) {
		for n := range rounds {
			s := driver.Scope{Tenant: "t", Ref: fmt.Sprint(i % 2)}
			id := fmt.Sprintf("%d.%d", i, n)
			refusal := func(err error) {
				if err != nil {
					require.Equal(t, error(driver.ErrSnapshotUnavailable), err)
				}
			}
			switch i - writers {
			default:
				e := note(id, n)
				e.Subjects = []string{id}
				require.NoError(t, st.Put(bg, s, e))
				switch n % 3 {
				case 1:
					deleted, err := st.Delete(bg, s, id, ms(n))
					require.NoError(t, err)
					require.True(t, deleted)
				case 2:
					_, err := st.Apply(bg, "t", driver.Mutation{
						Erase: located(s, id), Events: []events.Record{{Tenant: "t", RunID: fmt.Sprint(i), ID: id, Time: ms(1), Payload: events.MemoryWritten{MemoryRef: "r", MemoryID: "m"}}},
					})
					require.NoError(t, err)
				}
			case 0:
				v, err := st.Version(bg, "t")
				require.NoError(t, err)
				_, err = st.Purge(bg, "t", v, ms(n))
				refusal(err)
			case 1:
				v, err := st.Version(bg, "t")
				require.NoError(t, err)
				_, err = st.List(bg, s, seen(v, at(n)))
				refusal(err)
				_, err = st.Intact(bg, s, v)
				refusal(err)
				_, err = st.Changes(bg, s, v, v)
				refusal(err)
				list, err := st.List(bg, s, at(n))
				require.NoError(t, err)
				for _, e := range list {
					require.Equal(t, "about "+e.ID, e.Content)
				}
			case 2:
				list, err := st.List(bg, s, driver.Query{At: ms(n), Until: ms(n), Tags: []string{"none"}})
				require.NoError(t, err)
				require.Empty(t, list)
			case 3:
				for _, err := range st.History(bg, "t", driver.HistoryQuery{}) {
					require.NoError(t, err)
				}
				doc := driver.Document{Scope: s, Kind: "k", Key: "lease", Due: ms(n)}
				for found, err := range st.Documents(bg, driver.DocumentQuery{Tenant: "t", Ref: s.Ref}) {
					require.NoError(t, err)
					doc.Rev = found.Rev
				}
				_, err := st.Apply(bg, "t", swap(doc))
				require.NoError(t, err, "nobody else swaps it")
				due, err := st.Due(bg, "k", ms(rounds), 9)
				require.NoError(t, err)
				require.NotEmpty(t, due)
				for rec, err := range st.Undelivered(bg, "", "") {
					require.NoError(t, err)
					require.NoError(t, st.Delivered(bg, []events.Record{rec}))
					break
				}
			}
		}
	})
	for i := range writers {
		s := driver.Scope{Tenant: "t", Ref: fmt.Sprint(i % 2)}
		for n := range rounds {
			id := fmt.Sprintf("%d.%d", i, n)
			_, err := st.Get(bg, s, id, ms(n))
			require.Equal(t, n%3 == 0, err == nil)
		}
	}
}

// A context that is done stops every call before anything happens.
func TestContexts(t *testing.T) {
	st := New()
	require.NoError(t, st.Put(bg, home, note("a", 0)))
	v := apply(t, st, driver.Mutation{Events: []events.Record{{ID: "e", Tenant: home.Tenant, RunID: "r", Time: ms(1), Payload: events.MemoryWritten{MemoryRef: "r", MemoryID: "m"}}}})
	done, cancel := context.WithCancel(bg)
	cancel()
	for name, call := range map[string]func(context.Context, *Store) error{
		"Put":     func(c context.Context, st *Store) error { return st.Put(c, home, note("b", 0)) },
		"Delete":  func(c context.Context, st *Store) error { _, err := st.Delete(c, home, "a", ms(0)); return err },
		"Get":     func(c context.Context, st *Store) error { _, err := st.Get(c, home, "a", ms(0)); return err },
		"List":    func(c context.Context, st *Store) error { _, err := st.List(c, home, at(0)); return err },
		"at":      func(c context.Context, st *Store) error { _, err := st.List(c, home, seen(v, at(0))); return err },
		"Lookup":  func(c context.Context, st *Store) error { _, err := st.Lookup(c, home, nil); return err },
		"Due":     func(c context.Context, st *Store) error { _, err := st.Due(c, "k", ms(0), 1); return err },
		"Waiting": func(c context.Context, st *Store) error { _, err := st.Waiting(c, "", 1); return err },
		"Changes": func(c context.Context, st *Store) error { _, err := st.Changes(c, home, v, v); return err },
		"Documents": func(c context.Context, st *Store) error {
			_, err := collect(st.Documents(c, driver.DocumentQuery{Tenant: "t"}))
			return err
		},
		"Version": func(c context.Context, st *Store) error { _, err := st.Version(c, "t"); return err },
		"Intact":  func(c context.Context, st *Store) error { _, err := st.Intact(c, home, v); return err },
		"Purge":   func(c context.Context, st *Store) error { _, err := st.Purge(c, "t", v, ms(0)); return err },
		"Undelivered": func(c context.Context, st *Store) error {
			_, err := collect(st.Undelivered(c, "", ""))
			return err
		},
		"Delivered": func(c context.Context, st *Store) error { return st.Delivered(c, []events.Record{{ID: "e"}}) },
		"Apply": func(c context.Context, st *Store) error {
			_, err := st.Apply(c, "t", driver.Mutation{Erase: located(home, "a")})
			return err
		},
		"History": func(c context.Context, st *Store) error {
			_, err := collect(st.History(c, "t", driver.HistoryQuery{}))
			return err
		},
	} {
		require.Equal(t, context.Canceled, call(done, st), name)
		require.Equal(t, context.Canceled, call(done, New()), name)
		now, err := st.Version(bg, "t")
		require.NoError(t, err)
		require.Equal(t, v, now, name)
	}
	list, err := st.List(bg, home, at(0))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(list))
	recs, err := collect(st.Undelivered(bg, "", ""))
	require.NoError(t, err)
	require.Len(t, recs, 1)
}

// A tenant that was never written is empty and costs nothing.
func TestUnknownTenantIsEmpty(t *testing.T) {
	st := New()
	_, err := st.Get(bg, home, "a", ms(0))
	require.Equal(t, error(driver.ErrNotFound), err)
	require.Zero(t, lookup(t, st, home, "a"))
	deleted, err := st.Delete(bg, home, "a", ms(0))
	require.NoError(t, err)
	require.False(t, deleted)
	require.Empty(t, documents(t, st, driver.DocumentQuery{EveryRef: true}))
	list, err := st.List(bg, home, at(0))
	require.NoError(t, err)
	require.Empty(t, list)
	recs, err := collect(st.History(bg, "t", driver.HistoryQuery{}))
	require.NoError(t, err)
	require.Empty(t, recs)
	require.Empty(t, st.tenants)
}

// Loops may stop early and may change the store.
func TestLoopsUseTheStore(t *testing.T) {
	st := New()
	for i := range 5 {
		require.NoError(t, st.Put(bg, home, note(fmt.Sprint(i), i)))
	}
	n := 0
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for rec, err := range st.History(ctx, "t", driver.HistoryQuery{Ref: home.Ref}) {
		if n++; n == 4 {
			require.Equal(t, context.Canceled, err)
			continue
		}
		require.NoError(t, err)
		apply(t, st, driver.Mutation{Erase: located(home, rec.Entry.ID)})
		if n == 3 {
			cancel()
		}
	}
	require.Equal(t, 4, n)
	for range st.History(bg, "t", driver.HistoryQuery{}) {
		break
	}
	for rec, err := range st.History(bg, "t", driver.HistoryQuery{}) {
		require.NoError(t, err)
		require.False(t, n > 4 && rec.Erased, "the purge removed what was erased")
		v, err := st.Version(bg, "t")
		require.NoError(t, err)
		_, err = st.Purge(bg, "t", v, ms(9))
		require.NoError(t, err)
		n++
	}
}

// The outbox keeps the order of commits while events come and go.
func TestOutboxOrder(t *testing.T) {
	st := New()
	var want []string
	for n := range 500 {
		id := fmt.Sprint(n)
		e := events.Record{Tenant: "t", RunID: "r", ID: id, Time: ms(1), Payload: events.MemoryWritten{MemoryRef: "r", MemoryID: "m"}}
		apply(t, st, driver.Mutation{Events: []events.Record{e}})
		if want = append(want, id); n%3 == 0 {
			i := (n * 7) % len(want)
			require.NoError(t, st.Delivered(bg, []events.Record{{Tenant: "t", RunID: "r", ID: want[i]}}))
			want = append(want[:i:i], want[i+1:]...)
		}
	}
	recs, err := collect(st.Undelivered(bg, "", ""))
	require.NoError(t, err)
	var got []string
	for _, r := range recs {
		got = append(got, r.ID)
	}
	require.Equal(t, want, got)
}
