package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const (
	databaseSize    = 200_000 // entries, all in one scope
	databaseBatch   = 100
	databaseWriters = 8
)

// sqliteRows measures the SQLite store with 200,000 entries in one scope against its
// driver, used by hand through database/sql: one file each, with the same schema, the
// same settings (an acknowledged commit is on the disk), the same statements, all
// prepared and kept, on a connection for writing and one for reading. What the peer
// leaves out is what a store adds: waiting for other writers, conflicts, contexts, and
// which ids a version has touched.
//
//	sqlite/put      a commit of one entry
//	sqlite/batch    a commit of 100 entries
//	sqlite/get      an entry by a random id
//	sqlite/list100  a slice of the newest 100 entries
//
// Two more rows have no peer: eight goroutines that put, all for one tenant and each for
// its own. They share one write lock either way.
//
//	sqlite/writers/tenants=1, sqlite/writers/tenants=8
func sqliteRows() []row {
	ctx := context.Background()
	query := driver.Query{Limit: pageLimit, At: storeNow}
	type pair struct {
		ours         *sqlite.Store
		theirs       *sqliteByHand
		next, theirN int
	}
	full := sync.OnceValue(func() *pair {
		dir, err := os.MkdirTemp("", "bench-sqlite-")
		must(err)
		db, err := sqlite.Open(ctx, filepath.Join(dir, "ours.db"), sqlite.Options{})
		must(err)
		p := &pair{ours: db.Memory(), theirs: openSQLiteByHand(ctx, filepath.Join(dir, "theirs.db"))}
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
		return row{name, "modernc.org/sqlite by hand", func() (sides, error) {
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

	// writers put n entries, shared among eight goroutines.
	writers := func(tenants int) row {
		return row{fmt.Sprintf("sqlite/writers/tenants=%d", tenants), "", func() (sides, error) {
			p := full()
			work := func(n int) {
				var all sync.WaitGroup
				for i := range databaseWriters {
					scope := driver.Scope{Tenant: fmt.Sprint("writer-", i%tenants), Ref: storeScope.Ref}
					first, last := p.next+n*i/databaseWriters, p.next+n*(i+1)/databaseWriters
					all.Go(func() {
						for k := first; k < last; k++ {
							must(p.ours.Put(ctx, scope, storeEntry(k)))
						}
					})
				}
				all.Wait()
				p.next += n
			}
			return sides{items: 1, ours: work}, nil
		}}
	}

	return []row{
		{"sqlite/get", "modernc.org/sqlite by hand", func() (sides, error) {
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
		{"sqlite/list100", "modernc.org/sqlite by hand", func() (sides, error) {
			p := full()
			return sides{
				check:  same(p),
				ours:   repeat(func() { KeptList = ourList(p) }),
				theirs: repeat(func() { KeptList = p.theirs.list(pageLimit, storeNow) }),
			}, nil
		}},
		// These rows make the stores larger, so they come last.
		writes("sqlite/put", 1, func(p *pair, batch []driver.Placed) {
			must(p.ours.Put(ctx, storeScope, batch[0].Entry))
		}),
		writes("sqlite/batch", databaseBatch, func(p *pair, batch []driver.Placed) {
			_, err := p.ours.Apply(ctx, storeScope.Tenant, driver.Mutation{At: storeNow, Put: batch})
			must(err)
		}),
		writers(1), writers(databaseWriters),
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

// sqliteByHand is what somebody would write who needs these statements only.
type sqliteByHand struct {
	db                                 *sql.DB
	writes, reads                      *sql.Conn
	begin, bump, commit                *sql.Stmt
	insert, insertText, version, queue *sql.Stmt
	selectOne, selectNewest            *sql.Stmt
}

const entryByHand = `e.id, x.content, x.head, e.created, e.expires
	FROM entries e CROSS JOIN texts x ON x.entry = e.entry`

func prepare(c *sql.Conn, text string) *sql.Stmt {
	s, err := c.PrepareContext(context.Background(), text)
	must(err)
	return s
}

// openSQLiteByHand opens a file that has the schema already.
func openSQLiteByHand(ctx context.Context, path string) *sqliteByHand {
	schema, err := sqlite.Open(ctx, path, sqlite.Options{})
	must(err)
	must(schema.Close())
	pragmas := url.Values{"_pragma": {"busy_timeout(100)", "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)",
		"temp_store(MEMORY)", "cache_size(-8192)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode())
	must(err)
	conn := func() *sql.Conn { c, err := db.Conn(ctx); must(err); return c }
	w, r := conn(), conn()
	return &sqliteByHand{
		db: db, writes: w, reads: r,
		begin: prepare(w, `BEGIN IMMEDIATE`),
		bump:  prepare(w, `INSERT INTO tenants (tenant, version) VALUES (?, 1) ON CONFLICT DO UPDATE SET version = version + 1 RETURNING version`),
		insert: prepare(w, `INSERT INTO entries (tenant, ref, id, created, expires, born)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),
		insertText: prepare(w, `INSERT INTO texts (entry, head, content) VALUES (?, ?, ?)`),
		version:    prepare(w, `INSERT INTO versions (tenant, version, mark) VALUES (?, ?, ?)`),
		queue:      prepare(w, `INSERT INTO outbox (tenant, run, event, type, node, at, payload) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),
		commit:     prepare(w, `COMMIT`),
		selectOne: prepare(r, `SELECT `+entryByHand+`
			WHERE e.tenant = ? AND e.ref = ? AND e.id = ? AND e.died = 9223372036854775807 AND e.expires > ?`),
		selectNewest: prepare(r, `SELECT `+entryByHand+`
			WHERE e.tenant = ? AND e.ref = ? AND e.died = 9223372036854775807 AND e.expires > ?
			ORDER BY e.created DESC, e.id DESC LIMIT ? + 0`),
	}
}

func (b *sqliteByHand) put(batch ...driver.Placed) { b.change(batch) }

// change commits entries and events.
func (b *sqliteByHand) change(batch []driver.Placed, recs ...events.Record) {
	ctx := context.Background()
	_, err := b.begin.ExecContext(ctx)
	must(err)
	var version int64
	must(b.bump.QueryRowContext(ctx, storeScope.Tenant).Scan(&version))
	for i := range batch {
		e := &batch[i].Entry
		expires := int64(math.MaxInt64)
		if !e.ExpiresAt.IsZero() {
			expires = e.ExpiresAt.UnixMilli()
		}
		r, err := b.insert.ExecContext(ctx, storeScope.Tenant, storeScope.Ref, e.ID, e.CreatedAt.UnixMilli(), expires, version)
		must(err)
		key, err := r.LastInsertId()
		must(err)
		lists := [][]byte{[]byte(e.RunID), packByHand(e.Tags), packByHand(e.Subjects), packByHand(e.Sources)}
		_, err = b.insertText.ExecContext(ctx, key, append(make([]byte, 4), packByHand(lists)...), e.Content) // without a sum
		must(err)
	}
	for _, r := range recs {
		payload, err := json.Marshal(r.Payload)
		must(err)
		_, err = b.queue.ExecContext(ctx, r.Tenant, r.RunID, r.ID, string(r.Payload.EventType()), r.NodeID, r.Time.UnixMilli(), string(payload))
		must(err)
	}
	mark := driver.NewMark()
	_, err = b.version.ExecContext(ctx, storeScope.Tenant, version, mark[:])
	must(err)
	_, err = b.commit.ExecContext(ctx)
	must(err)
}

func (b *sqliteByHand) get(id string, at time.Time) driver.Entry {
	return b.read(b.selectOne, storeScope.Tenant, storeScope.Ref, id, at.UnixMilli())[0]
}

func (b *sqliteByHand) list(limit int, at time.Time) []driver.Entry {
	return b.read(b.selectNewest, storeScope.Tenant, storeScope.Ref, at.UnixMilli(), limit)
}

func (b *sqliteByHand) read(s *sql.Stmt, args ...any) (found []driver.Entry) {
	rows, err := s.QueryContext(context.Background(), args...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var e driver.Entry
		var created, expires int64
		var head sql.RawBytes
		must(rows.Scan(&e.ID, &e.Content, &head, &created, &expires))
		e.CreatedAt = time.UnixMilli(created).UTC()
		if expires != math.MaxInt64 {
			e.ExpiresAt = time.UnixMilli(expires).UTC()
		}
		lists := unpackByHand(head[4:])
		e.RunID, e.Tags, e.Subjects, e.Sources = lists[0], unpackByHand([]byte(lists[1])), unpackByHand([]byte(lists[2])), unpackByHand([]byte(lists[3]))
		found = append(found, e)
	}
	must(rows.Err())
	return found
}

func packByHand[S string | []byte](list []S) (b []byte) {
	for _, s := range list {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

func unpackByHand(b []byte) (list []string) {
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		list = append(list, string(b[size:size+int(n)]))
		b = b[size+int(n):]
	}
	return list
}
