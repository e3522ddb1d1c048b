package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
)

const (
	postgresSize  = 200_000 // entries, all in one scope
	postgresBatch = 100
	mostWriters   = 32

	// putsEach is how many entries each of several writers puts in one operation of a row. If they
	// shared a few, as the turns of a round do, most would have none, and measure how long one takes.
	putsEach = 16
)

// postgresRows measures the store of PostgreSQL against a plain table, see [bareStore], in the
// same database of a private server with fsync on.
//
//	postgres/put              an insertion, committed
//	postgres/put/log          what that appends to the server's log
//	postgres/batch            a hundred of them in one mutation
//	postgres/get              an entry by a random id
//	postgres/list100          a slice of the newest 100 entries
//	postgres/writers=…        puts by so many goroutines at once, sixteen each, all into one tenant
//	postgres/writers=…/apart  each into a tenant of its own
func postgresRows() []row {
	ctx := context.Background()
	query := driver.Query{Limit: pageLimit, At: storeNow}
	type pair struct {
		ours   *postgres.Store
		theirs *bareStore
	}
	open := sync.OnceValues(func() (*pgxpool.Pool, error) {
		cluster, err := pgcluster.Start(ctx)
		if err != nil {
			return nil, err
		}
		cleanups = append(cleanups, func() { must(cluster.Close()) })
		pool, err := pgxpool.New(ctx, cluster.DSN()+fmt.Sprint(" pool_max_conns=", mostWriters))
		if err == nil {
			cleanups = append(cleanups, pool.Close)
		}
		return pool, err
	})
	full := sync.OnceValues(func() (*pair, error) {
		pool, err := open()
		if err != nil {
			return nil, err
		}
		db, err := postgres.Open(ctx, pool, postgres.Options{})
		if err != nil {
			return nil, err
		}
		p := &pair{db.Memory(), newBareStore(ctx, pool)}
		const step = 1000
		for i := 0; i < postgresSize; i += step {
			oursBatch(ctx, p.ours, i, step)
			p.theirs.putMany(ctx, i, step)
		}
		_, err = pool.Exec(ctx, "VACUUM ANALYZE")
		return p, err
	})
	with := func(f func(p *pair) sides) func() (sides, error) {
		return func() (sides, error) {
			p, err := full()
			if err != nil {
				return sides{}, err
			}
			return f(p), nil
		}
	}
	oursNext, theirsNext := postgresSize, postgresSize
	// same reports whether n entries that both sides put come back equal.
	same := func(p *pair, n int) func() error {
		return func() error {
			next := max(oursNext, theirsNext)
			oursNext, theirsNext = next+n, next+n
			oursBatch(ctx, p.ours, next, n)
			p.theirs.putMany(ctx, next, n)
			for i := next; i < next+n; i++ {
				e, err := p.ours.Get(ctx, storeScope, storeEntry(i).ID, storeNow)
				if err := cmp.Or(err, equal(e, p.theirs.get(ctx, e.ID, storeNow))); err != nil {
					return err
				}
			}
			return nil
		}
	}
	rows := []row{
		{"postgres/list100", "a plain table by pgx", with(func(p *pair) sides {
			list := func() []memory.Entry {
				entries, err := p.ours.List(ctx, storeScope, query)
				must(err)
				return entries
			}
			return sides{
				check:  func() error { return equal(list(), p.theirs.list(ctx, pageLimit, storeNow)) },
				ours:   repeat(func() { KeptList = list() }),
				theirs: repeat(func() { KeptList = p.theirs.list(ctx, pageLimit, storeNow) }),
			}
		})},
		{"postgres/get", "a plain table by pgx", with(func(p *pair) sides {
			r := rand.New(rand.NewPCG(1, 2))
			ids := make([]string, 1<<12)
			for i := range ids {
				ids[i] = storeEntry(r.IntN(postgresSize)).ID
			}
			ours := func(id string) memory.Entry {
				e, err := p.ours.Get(ctx, storeScope, id, storeNow)
				must(err)
				return e
			}
			theirs := func(id string) memory.Entry { return p.theirs.get(ctx, id, storeNow) }
			each := func(get func(string) memory.Entry) func(int) {
				next := 0
				return repeat(func() {
					Total += len(get(ids[next%len(ids)]).Content)
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
			return sides{check: check, ours: each(ours), theirs: each(theirs)}
		})},
		{"postgres/put", "a plain table by pgx", with(func(p *pair) sides {
			return sides{
				check:  same(p, 1),
				ours:   repeat(func() { must(p.ours.Put(ctx, storeScope, storeEntry(oursNext))); oursNext++ }),
				theirs: repeat(func() { p.theirs.put(ctx, storeEntry(theirsNext)); theirsNext++ }),
			}
		})},
		{"postgres/put/log", "a plain table by pgx", with(func(p *pair) sides {
			return sides{size: func() (ours, theirs float64) {
				const puts = 200
				grows := func(put func(i int)) float64 {
					before := p.theirs.logEnd(ctx)
					for i := range puts {
						put(i)
					}
					return float64(p.theirs.logEnd(ctx)-before) / puts
				}
				first := max(oursNext, theirsNext)
				oursNext, theirsNext = first+puts, first+puts
				p.theirs.checkpoint(ctx)
				ours = grows(func(i int) { must(p.ours.Put(ctx, storeScope, storeEntry(first+i))) })
				p.theirs.checkpoint(ctx)
				theirs = grows(func(i int) { p.theirs.put(ctx, storeEntry(first+i)) })
				return ours, theirs
			}}
		})},
		{"postgres/batch", "a plain table by pgx", with(func(p *pair) sides {
			return sides{
				check:  same(p, postgresBatch),
				ours:   repeat(func() { oursBatch(ctx, p.ours, oursNext, postgresBatch); oursNext += postgresBatch }),
				theirs: repeat(func() { p.theirs.putMany(ctx, theirsNext, postgresBatch); theirsNext += postgresBatch }),
			}
		})},
	}
	var written atomic.Int64
	for _, w := range []struct {
		name             string
		writers, tenants int
	}{{"1", 1, 1}, {"8", 8, 1}, {"32", mostWriters, 1}, {"32/apart", mostWriters, mostWriters}} {
		rows = append(rows, row{"postgres/writers=" + w.name, "a counter and an insert by pgx", with(func(p *pair) sides {
			ours := func(s memory.Scope, e memory.Entry) { must(p.ours.Put(ctx, s, e)) }
			theirs := func(s memory.Scope, e memory.Entry) { p.theirs.putCounted(ctx, s, e) }
			each := func(put func(memory.Scope, memory.Entry)) func(int) {
				return repeat(func() { writeAtOnce(put, &written, w.writers, w.tenants) })
			}
			check := func() error { // which opens the connections, too
				each(ours)(1)
				each(theirs)(1)
				s, e := memory.Scope{Tenant: "writer0", Ref: "agent"}, storeEntry(int(written.Add(1)))
				ours(s, e)
				theirs(s, e)
				got, err := p.ours.Get(ctx, s, e.ID, storeNow)
				return cmp.Or(err, equal(got, p.theirs.getOf(ctx, s, e.ID)))
			}
			return sides{items: w.writers * putsEach, check: check, ours: each(ours), theirs: each(theirs)}
		})})
	}
	return rows
}

func oursBatch(ctx context.Context, st *postgres.Store, from, n int) {
	m := driver.Mutation{At: storeNow}
	for i := range n {
		m.Put = append(m.Put, driver.Placed{Scope: storeScope, Entry: storeEntry(from + i)})
	}
	_, err := st.Apply(ctx, storeScope.Tenant, m)
	must(err)
}

// writeAtOnce has so many goroutines put entries, each into one of the tenants.
func writeAtOnce(put func(memory.Scope, memory.Entry), written *atomic.Int64, writers, tenants int) {
	var group sync.WaitGroup
	for w := range writers {
		scope := memory.Scope{Tenant: fmt.Sprint("writer", w%tenants), Ref: "agent"}
		group.Go(func() {
			for range putsEach {
				put(scope, storeEntry(int(written.Add(1))))
			}
		})
	}
	group.Wait()
}

// millisNever is the expiry, in the tables of the peer, of an entry that has none.
const millisNever = 1<<63 - 1

func entryOf(id, content, run string, tags []string, created, expires int64) memory.Entry {
	e := memory.Entry{ID: id, Content: content, RunID: run, Tags: tags, CreatedAt: time.UnixMilli(created).UTC()}
	if expires != millisNever {
		e.ExpiresAt = time.UnixMilli(expires).UTC()
	}
	return e
}
