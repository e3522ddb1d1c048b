package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const (
	databaseSize    = 200_000 // entries, all in one scope
	databaseBatch   = 100
	databaseWriters = 8
)

// sqliteRows measures the SQLite store with 200,000 entries in one scope against a table
// written by hand, see [sqliteTable]: a file each, and an acknowledged commit is
// on the disk. What the peer leaves out is what a store adds: memory as it was, limits,
// erasure, which ids a version has touched, checks, waiting for other writers.
//
//	sqlite/put      a commit of one entry
//	sqlite/put/log  what that appends to SQLite's log, which goes to the disk before it returns
//	sqlite/batch    a commit of 100 entries
//	sqlite/get      an entry by a random id
//	sqlite/list100  a slice of the newest 100 entries
//	sqlite/list/tag a list by a tag that no entry has, for which both look at all of them
//
//	sqlite/writers    puts by eight goroutines, sixteen each, all for one tenant or each for its own;
//	                  the peer commits one after the other
//	sqlite/mixed      each for its own, and four reads of an entry by its id to a put
//	sqlite/processes  puts by four processes on one file
func sqliteRows() []row {
	ctx := context.Background()
	query := driver.Query{Limit: pageLimit, At: storeNow}
	type pair struct {
		dir          string
		ours         *sqlite.Store
		theirs       *sqliteTable
		next, theirN int
	}
	full := sync.OnceValue(func() *pair {
		dir, err := os.MkdirTemp("", "bench-sqlite-")
		must(err)
		db, err := sqlite.Open(ctx, filepath.Join(dir, "ours.db"), sqlite.Options{})
		must(err)
		p := &pair{dir: dir, ours: db.Memory(), theirs: openSQLiteTable(ctx, filepath.Join(dir, "theirs.db"))}
		cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { db.Close(); p.theirs.db.Close() })
		for p.next < databaseSize {
			batch := storeBatch(p.next, 1000)
			_, err := p.ours.Apply(ctx, storeScope.Tenant, driver.Mutation{At: storeNow, Put: batch})
			must(err)
			p.theirs.put(batch...)
			p.next += len(batch)
		}
		p.theirN = p.next
		return p
	})
	ids := sync.OnceValue(func() []string {
		r := rand.New(rand.NewPCG(1, 2))
		ids := make([]string, 1<<14)
		for i := range ids {
			ids[i] = storeEntry(r.IntN(databaseSize)).ID
		}
		return ids
	})
	ourList := func(p *pair) []driver.Entry {
		entries, err := p.ours.List(ctx, storeScope, query)
		must(err)
		return entries
	}
	// Both sides insert at the new end, so that what is put is where a list begins.
	same := func(p *pair) func() error {
		return func() error {
			if p.next != p.theirN {
				return fmt.Errorf("%d and %d entries", p.next, p.theirN)
			}
			return equal(ourList(p), p.theirs.list(pageLimit, storeNow))
		}
	}
	writes := func(name string, size int, ours func(p *pair, batch []driver.Placed)) row {
		return row{name, "a plain table in SQLite", func() (sides, error) {
			p := full()
			p.next = max(p.next, p.theirN)
			p.theirN = p.next
			check := func() error { // one commit each, then the same list
				batch := storeBatch(p.next, size)
				ours(p, batch)
				p.theirs.put(batch...)
				p.next, p.theirN = p.next+size, p.theirN+size
				return equal(ourList(p)[:size], p.theirs.list(size, storeNow))
			}
			return sides{
				check:  check,
				items:  size,
				ours:   repeat(func() { ours(p, storeBatch(p.next, size)); p.next += size }),
				theirs: repeat(func() { p.theirs.put(storeBatch(p.theirN, size)...); p.theirN += size }),
			}, nil
		}}
	}

	// writers put entries, each of eight goroutines its own, and read each so many times. The
	// peer's take turns, which those that write need.
	writers := func(name string, tenants, reads int) row {
		return row{name, "a plain table in SQLite", func() (sides, error) {
			dir, err := os.MkdirTemp("", "bench-sqlite-writers-")
			must(err)
			db, err := sqlite.Open(ctx, filepath.Join(dir, "ours.db"), sqlite.Options{})
			must(err)
			table := openSQLiteTable(ctx, filepath.Join(dir, "theirs.db"))
			cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { db.Close(); table.db.Close() })
			work := func(put func(x driver.Placed), get func(x driver.Placed) driver.Entry) func(int) {
				next := 0
				return repeat(func() {
					var all sync.WaitGroup
					for i := range databaseWriters {
						scope := driver.Scope{Tenant: fmt.Sprint("writer-", i%tenants), Ref: storeScope.Ref}
						first := next + putsEach*i
						all.Go(func() {
							for k := first; k < first+putsEach; k++ {
								x := driver.Placed{Scope: scope, Entry: storeEntry(k)}
								put(x)
								for range reads {
									must(equal(get(x), x.Entry))
								}
							}
						})
					}
					all.Wait()
					next += databaseWriters * putsEach
				})
			}
			var turn sync.Mutex
			return sides{
				items: databaseWriters * putsEach,
				ours: work(func(x driver.Placed) { must(db.Memory().Put(ctx, x.Scope, x.Entry)) }, func(x driver.Placed) driver.Entry {
					e, err := db.Memory().Get(ctx, x.Scope, x.Entry.ID, storeNow)
					must(err)
					return e
				}),
				theirs: work(func(x driver.Placed) {
					turn.Lock()
					defer turn.Unlock()
					table.put(x)
				}, func(x driver.Placed) driver.Entry {
					return read(table.selectOne, x.Tenant, x.Ref, x.Entry.ID, storeNow.UnixMilli())[0]
				}),
			}, nil
		}}
	}

	return []row{
		{"sqlite/get", "a plain table in SQLite", func() (sides, error) {
			p, ids := full(), ids()
			ours := func(id string) driver.Entry {
				e, err := p.ours.Get(ctx, storeScope, id, storeNow)
				must(err)
				return e
			}
			each := func(get func(string) driver.Entry) func(int) {
				next := 0
				return repeat(func() { Total += len(get(ids[next%len(ids)]).Content); next++ })
			}
			check := func() error {
				for _, id := range ids {
					if err := equal(ours(id), p.theirs.get(id, storeNow)); err != nil {
						return err
					}
				}
				return nil
			}
			return sides{check: check, ours: each(ours), theirs: each(func(id string) driver.Entry { return p.theirs.get(id, storeNow) })}, nil
		}},
		{"sqlite/list100", "a plain table in SQLite", func() (sides, error) {
			p := full()
			return sides{
				check:  same(p),
				ours:   repeat(func() { KeptList = ourList(p) }),
				theirs: repeat(func() { KeptList = p.theirs.list(pageLimit, storeNow) }),
			}, nil
		}},
		{"sqlite/list/tag", "a plain table in SQLite", func() (sides, error) {
			p := full()
			ours := func(tag string) []driver.Entry {
				entries, err := p.ours.List(ctx, storeScope, driver.Query{Limit: pageLimit, At: storeNow, Tags: []string{tag}})
				must(err)
				return entries
			}
			theirs := func(tag string) []driver.Entry { return p.theirs.tagged(tag, pageLimit, storeNow) }
			return sides{
				check: func() error {
					return cmp.Or(equal(ours(storeTags[0]), theirs(storeTags[0])), equal(ours("nothing"), theirs("nothing")))
				},
				ours:   repeat(func() { KeptList = ours("nothing") }),
				theirs: repeat(func() { KeptList = theirs("nothing") }),
			}, nil
		}},
		// These rows make the stores larger, so they come last.
		{"sqlite/put/log", "a plain table in SQLite", func() (sides, error) {
			p := full()
			return sides{size: func() (ours, theirs float64) {
				const puts = 50 // fewer than what has SQLite begin its log anew
				grows := func(file string, put func(i int)) float64 {
					for i := range puts {
						put(i)
					}
					log, err := os.Stat(filepath.Join(p.dir, file+"-wal"))
					must(err)
					return float64(log.Size()) / puts
				}
				first := max(p.next, p.theirN)
				emptyLog(ctx, filepath.Join(p.dir, "ours.db"))
				emptyLog(ctx, filepath.Join(p.dir, "theirs.db"))
				ours = grows("ours.db", func(i int) { must(p.ours.Put(ctx, storeScope, storeEntry(first+i))) })
				theirs = grows("theirs.db", func(i int) { p.theirs.put(storeBatch(first+i, 1)...) })
				p.next, p.theirN = first+puts, first+puts
				return ours, theirs
			}}, nil
		}},
		writes("sqlite/put", 1, func(p *pair, batch []driver.Placed) {
			must(p.ours.Put(ctx, storeScope, batch[0].Entry))
		}),
		writes("sqlite/batch", databaseBatch, func(p *pair, batch []driver.Placed) {
			_, err := p.ours.Apply(ctx, storeScope.Tenant, driver.Mutation{At: storeNow, Put: batch})
			must(err)
		}),
		writers("sqlite/writers/tenants=1", 1, 0),
		writers(fmt.Sprint("sqlite/writers/tenants=", databaseWriters), databaseWriters, 0),
		writers("sqlite/mixed", databaseWriters, 4),
		processes(),
	}
}

// storeBatch are the entries from number i on.
func storeBatch(i, n int) []driver.Placed {
	batch := make([]driver.Placed, n)
	for k := range batch {
		batch[k] = driver.Placed{Scope: storeScope, Entry: storeEntry(i + k)}
	}
	return batch
}
