package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// imageRow measures the first question of a process over n entries of 200 bytes in SQLite.
//
//	recall/first/n=10000, n=100000  by the image of the index that upkeep has written, against reading the
//	                                ref as without one
func imageRow(n int) row {
	return row{fmt.Sprintf("recall/first/n=%d", n), "without an image", func() (sides, error) {
		ctx := context.Background()
		dir, err := os.MkdirTemp("", "bench-recall-")
		must(err)
		db, err := sqlite.Open(ctx, filepath.Join(dir, "memory.db"), sqlite.Options{})
		must(err)
		cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { db.Close() })
		for k := 0; k < n; {
			var batch []driver.Placed
			for range min(1000, n-k) {
				e := recallEntry(k)
				for i := 1; len(e.Content) < 200; i++ {
					e.Content += " " + recallNote(n*i+k)
				}
				e.Content = e.Content[:200]
				batch, k = append(batch, driver.Placed{Scope: recallScope, Entry: e}), k+1
			}
			_, err := db.Memory().Apply(ctx, recallScope.Tenant, driver.Mutation{At: storeNow, Put: batch})
			must(err)
		}
		with := recallBank{store: db.Memory()}
		without := recallBank{store: imageless{db.Memory()}}
		fresh, err := with.open()
		if err == nil {
			_, err = fresh.bank.Maintain(ctx)
		}
		first := func(b *recallBank) func(int) {
			return repeat(func() {
				fresh, err := b.open()
				must(err)
				if !fresh.finds(n / 2) {
					panic("not found")
				}
			})
		}
		s := sides{ours: first(&with)}
		if n <= 10_000 { // a ranker's time is up otherwise on a slow machine
			s.theirs = first(&without)
		}
		return s, err
	}}
}

// imageless is a store that shows no image of an index.
type imageless struct{ *sqlite.Store }

func (s imageless) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		for d, err := range s.Store.Documents(ctx, q) {
			if d.Kind != "recall.image" && !yield(d, err) {
				return
			}
		}
	}
}
