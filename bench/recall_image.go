package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
)

// imagedStore is what images of indexes are measured over.
type imagedStore interface {
	driver.Transactor
	driver.Versioned
	driver.Changes
	driver.Tenants
}

// imageRows measures what the images of indexes that upkeep writes are worth, over entries of 200 bytes.
//
//	recall/first/of=…          the first question of a process over SQLite, against reading the ref as without an
//	                           image; over 100,000 entries without that, since a ranker's time is up on a slow
//	                           machine
//	recall/first/postgres/of=… the same over PostgreSQL
//	recall/turn/n=10000        questions to four refs in turn that do not fit into MaxBytes together, against
//	                           a first question
//	recall/put                 a put into a bank with a ranker, against one without
func imageRows() []row {
	rows := []row{firstRow("recall/first", 10_000, imagedSQLite), firstRow("recall/first", 100_000, imagedSQLite),
		firstRow("recall/first/postgres", 10_000, imagedPostgres), firstRow("recall/first/postgres", 100_000, imagedPostgres)}
	return append(rows, row{"recall/turn/n=10000", "a first question", func() (sides, error) {
		st := imagedSQLite()
		for i := range 4 {
			fill(st, turnScope(i), 10_000)
		}
		b := recallBank{store: st}
		maintained(&b)
		small := b.opened(recall.Config{MaxBytes: 1})
		turn := 0
		return sides{
			ours:   repeat(func() { turn++; small.mustFind(turnScope(turn%4), 5000) }),
			theirs: repeat(func() { b.opened(recall.Config{}).mustFind(turnScope(0), 5000) }),
		}, nil
	}}, row{"recall/put", "without a ranker", func() (sides, error) {
		put := func(ranker memory.Ranker) func(int) {
			st := imagedSQLite()
			fill(st, recallScope, 10_000)
			bank, err := memory.New(st, memory.Config{Ranker: ranker})
			must(err)
			_, err = bank.Maintain(context.Background())
			must(err)
			job, err := bank.Background(memory.JobConfig{ID: "pass", Tenant: recallScope.Tenant, Redactor: asItIs{}})
			must(err)
			k := 0
			return repeat(func() {
				k++
				_, err := job.Put(context.Background(), recallScope.Ref, memory.Draft{Content: recallNote(k)})
				must(err)
			})
		}
		ranker, err := recall.New(recall.Config{})
		must(err)
		return sides{ours: put(ranker), theirs: put(nil)}, nil
	}})
}

// asItIs is a redactor without secrets, which costs nothing.
type asItIs struct{}

func (asItIs) Redact(s string) (string, error)        { return s, nil }
func (asItIs) RedactDerived(s string) (string, error) { return s, nil }

func turnScope(i int) memory.Scope {
	return memory.Scope{Tenant: recallScope.Tenant, Ref: fmt.Sprint("turn ", i)}
}

func firstRow(name string, n int, open func() imagedStore) row {
	peer := ""
	if n <= 10_000 {
		peer = "without an image"
	}
	return row{fmt.Sprintf("%s/of=%d", name, n), peer, func() (sides, error) {
		st := open()
		fill(st, recallScope, n)
		with, without := recallBank{store: st}, recallBank{store: imageless{st}}
		maintained(&with)
		first := func(b *recallBank) func(int) {
			return repeat(func() { b.opened(recall.Config{}).mustFind(recallScope, n/2) })
		}
		s := sides{ours: first(&with)}
		if peer != "" {
			s.theirs = first(&without)
		}
		return s, nil
	}}
}

// fill puts n entries of 200 bytes.
func fill(st driver.Transactor, at memory.Scope, n int) {
	for k := 0; k < n; {
		var batch []driver.Placed
		for range min(1000, n-k) {
			e := recallEntry(k)
			for i := 1; len(e.Content) < 200; i++ {
				e.Content += " " + recallNote(n*i+k)
			}
			e.Content = e.Content[:200]
			batch, k = append(batch, driver.Placed{Scope: at, Entry: e}), k+1
		}
		_, err := st.Apply(context.Background(), at.Tenant, driver.Mutation{At: storeNow, Put: batch})
		must(err)
	}
}

func maintained(b *recallBank) {
	_, err := b.opened(recall.Config{}).bank.Maintain(context.Background())
	must(err)
}

// opened is another process over the store.
func (b *recallBank) opened(cfg recall.Config) *recallBank {
	ranker, err := recall.New(cfg)
	must(err)
	bank, err := memory.New(b.store, memory.Config{Now: func() time.Time { return storeStart.Add(24 * time.Hour) }, Ranker: ranker})
	must(err)
	return &recallBank{b.store, bank}
}

func (b *recallBank) mustFind(at memory.Scope, k int) {
	if !b.findsIn(at, k) {
		panic("not found")
	}
}

func imagedSQLite() imagedStore {
	dir, err := os.MkdirTemp("", "bench-recall-")
	must(err)
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "memory.db"), sqlite.Options{})
	must(err)
	cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { db.Close() })
	return db.Memory()
}

func imagedPostgres() imagedStore {
	ctx := context.Background()
	cluster, err := pgcluster.ForTests(ctx)
	must(err)
	pool, err := pgxpool.New(ctx, cluster.DSN())
	must(err)
	cleanups = append(cleanups, func() { must(cluster.Close()) }, pool.Close)
	db, err := postgres.Open(ctx, pool, postgres.Options{})
	must(err)
	return db.Memory()
}

// imageless is a store that shows no image of an index.
type imageless struct{ imagedStore }

func (s imageless) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		for d, err := range s.imagedStore.Documents(ctx, q) {
			if d.Kind != "recall.image" && !yield(d, err) {
				return
			}
		}
	}
}
