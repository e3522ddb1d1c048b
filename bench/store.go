package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

const (
	storeSize = 1_000_000 // entries, all in one scope
	pageLimit = 100
)

var (
	storeScope = memory.Scope{Tenant: "tenant", Ref: "agent/one"}
	storeStart = time.UnixMilli(1_760_000_000_000).UTC()
	storeNow   = storeStart.Add(24 * time.Hour) // after the last createdAt
)

// storeEntry is the entry number i. Five at a time have the same createdAt; one in
// ten expires, after storeNow. It is cheap to make, since rows that insert make
// entries while they are timed, on both sides.
func storeEntry(i int) memory.Entry {
	var buf [20]byte
	id := append(buf[:0], "mem_0000000000000000"...)
	for at, n := len(id)-1, i; n > 0; at, n = at-1, n/10 {
		id[at] = '0' + byte(n%10)
	}
	e := memory.Entry{
		ID:        string(id),
		Content:   "The customer asked for delivery on a weekday, before noon.",
		Tags:      storeTags,
		CreatedAt: storeStart.Add(time.Duration(i/5) * time.Millisecond),
		RunID:     "run_1",
	}
	if i%10 == 0 {
		e.ExpiresAt = storeNow.Add(time.Hour)
	}
	return e
}

var storeTags = []string{"delivery", "note"}

// storeRows measures the in-memory store with a million entries in one scope
// against a pair of B-trees with the same entries.
//
//	store/list100          a slice of the newest 100 entries
//	store/get              an entry by a random id
//	store/view             taking a view that can be listed and asked for an id
//	store/list100/retired  list100 with the newest 900,000 retired, against list100
//	                       of our own store without
//	store/put              an insertion at the new end
//	store/view+put         taking a view, then an insertion, so that a peer which
//	                       shares structure has to copy what it touches
func storeRows() []row {
	ctx := context.Background()
	query := driver.Query{Limit: pageLimit, At: storeNow}
	type pair struct {
		ours   *inmem.Store
		theirs *treeStore
	}
	full := sync.OnceValue(func() *pair {
		p := &pair{inmem.New(), newTreeStore()}
		for i := range storeSize {
			e := storeEntry(i)
			must(p.ours.Put(ctx, storeScope, e))
			p.theirs.put(e)
		}
		return p
	})
	retired := sync.OnceValue(func() *inmem.Store {
		st := inmem.New()
		for i := range storeSize {
			must(st.Put(ctx, storeScope, storeEntry(i)))
		}
		for i := storeSize / 10; i < storeSize; i++ {
			if ok, err := st.Delete(ctx, storeScope, storeEntry(i).ID, storeNow); !ok || err != nil {
				panic("an entry is missing")
			}
		}
		return st
	})
	ids := sync.OnceValue(func() []string {
		r := rand.New(rand.NewPCG(1, 2))
		ids := make([]string, 1<<16)
		for i := range ids {
			ids[i] = storeEntry(r.IntN(storeSize)).ID
		}
		return ids
	})
	list := func(st *inmem.Store) []memory.Entry {
		entries, err := st.List(ctx, storeScope, query)
		must(err)
		return entries
	}
	oursNext, theirsNext := storeSize, storeSize

	return []row{
		{"store/list100", "google/btree", func() (sides, error) {
			s := full()
			return sides{
				check:  func() error { return equal(list(s.ours), s.theirs.list(pageLimit, storeNow)) },
				ours:   repeat(func() { KeptList = list(s.ours) }),
				theirs: repeat(func() { KeptList = s.theirs.list(pageLimit, storeNow) }),
			}, nil
		}},
		{"store/get", "google/btree", func() (sides, error) {
			s, ids := full(), ids()
			ours := func(id string) memory.Entry {
				e, err := s.ours.Get(ctx, storeScope, id, storeNow)
				must(err)
				return e
			}
			theirs := func(id string) memory.Entry {
				e, err := s.theirs.get(id, storeNow)
				must(err)
				return e
			}
			each := func(get func(string) memory.Entry) func(int) {
				next := 0
				return repeat(func() {
					e := get(ids[next%len(ids)])
					Total += len(e.Content)
					next++
				})
			}
			check := func() error {
				for _, id := range ids {
					if err := equal(ours(id), theirs(id)); err != nil {
						return err
					}
				}
				return nil
			}
			return sides{check: check, ours: each(ours), theirs: each(theirs)}, nil
		}},
		{"store/view", "google/btree", func() (sides, error) {
			s := full()
			return sides{
				ours: repeat(func() {
					v, err := s.ours.Version(ctx, storeScope.Tenant)
					must(err)
					KeptVersion = v
				}),
				theirs: repeat(func() { KeptTree = s.theirs.view() }),
			}, nil
		}},
		{"store/list100/retired", "ours, none retired", func() (sides, error) {
			st, all := retired(), full().ours
			return sides{
				check: func() error {
					if got, want := list(st)[0].ID, storeEntry(storeSize/10-1).ID; got != want {
						return fmt.Errorf("the list begins with %s, not %s", got, want)
					}
					return equal(len(list(st)), len(list(all)))
				},
				ours:   repeat(func() { KeptList = list(st) }),
				theirs: repeat(func() { KeptList = list(all) }),
			}, nil
		}},
		// These rows make the stores larger, so they come last.
		{"store/put", "google/btree", func() (sides, error) {
			s := full()
			return sides{
				ours:   repeat(func() { must(s.ours.Put(ctx, storeScope, storeEntry(oursNext))); oursNext++ }),
				theirs: repeat(func() { s.theirs.put(storeEntry(theirsNext)); theirsNext++ }),
			}, nil
		}},
		{"store/view+put", "google/btree", func() (sides, error) {
			s := full()
			return sides{
				ours: repeat(func() {
					v, err := s.ours.Version(ctx, storeScope.Tenant)
					must(err)
					KeptVersion = v
					must(s.ours.Put(ctx, storeScope, storeEntry(oursNext)))
					oursNext++
				}),
				theirs: repeat(func() {
					KeptTree = s.theirs.view()
					s.theirs.put(storeEntry(theirsNext))
					theirsNext++
				}),
			}, nil
		}},
	}
}

// Where results go, so that the compiler cannot leave out the work; exported because
// they are not read.
var (
	KeptList    []memory.Entry
	KeptVersion driver.Version
	KeptTree    *treeStore
	Total       int
)

func repeat(f func()) func(int) {
	return func(n int) {
		for range n {
			f()
		}
	}
}

func equal[T any](ours, theirs T) error {
	if !reflect.DeepEqual(ours, theirs) {
		return fmt.Errorf("the two sides differ")
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
