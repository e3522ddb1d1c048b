package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/mysql"
)

// mysqlRows measures the store of MariaDB and MySQL against a plain table, see [plainTable], in a new
// database of the server that AGENTMEMORY_MYSQL_DSN names, whose user may make one. There are none
// without it.
//
//	mysql/put                     an insertion, committed
//	mysql/batch                   a hundred of them in one mutation
//	mysql/writers=32, 32/apart    puts by so many goroutines at once, sixteen each, into one tenant, and each into its own
func mysqlRows() []row {
	base := os.Getenv("AGENTMEMORY_MYSQL_DSN")
	if base == "" {
		return nil
	}
	ctx := context.Background()
	type pair struct {
		ours   *mysql.Store
		theirs *plainTable
	}
	open := sync.OnceValues(func() (*pair, error) {
		name := fmt.Sprint("agentmemory_bench_", os.Getpid())
		admin, err := sql.Open("mysql", base)
		if err != nil {
			return nil, err
		}
		if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
			return nil, err
		}
		cleanups = append(cleanups, func() {
			_, err := admin.ExecContext(ctx, "DROP DATABASE "+name)
			must(err)
			must(admin.Close())
		})
		dsn := base[:strings.LastIndex(base, "/")+1] + name
		db, err := mysql.Open(ctx, dsn, mysql.Options{MaxConns: mostWriters})
		if err != nil {
			return nil, err
		}
		cleanups = append(cleanups, func() { must(db.Close()) })
		theirs, err := newPlainTable(ctx, dsn)
		return &pair{db.Memory(), theirs}, err
	})
	with := func(f func(p *pair) sides) func() (sides, error) {
		return func() (sides, error) {
			p, err := open()
			if err != nil {
				return sides{}, err
			}
			return f(p), nil
		}
	}
	var written atomic.Int64
	next := func() memory.Entry { return storeEntry(int(written.Add(1))) }
	batch := func(n int) (m driver.Mutation) {
		m.At = storeNow
		for range n {
			m.Put = append(m.Put, driver.Placed{Scope: storeScope, Entry: next()})
		}
		return m
	}
	same := func(p *pair, s memory.Scope) func() error {
		return func() error {
			e := next()
			p.theirs.put(ctx, s, e)
			err := p.ours.Put(ctx, s, e)
			if err != nil {
				return err
			}
			got, err := p.ours.Get(ctx, s, e.ID, storeNow)
			return cmp.Or(err, equal(got, e))
		}
	}
	rows := []row{
		{"mysql/put", "a plain table by hand", with(func(p *pair) sides {
			return sides{
				check:  same(p, storeScope),
				ours:   repeat(func() { must(p.ours.Put(ctx, storeScope, next())) }),
				theirs: repeat(func() { p.theirs.put(ctx, storeScope, next()) }),
			}
		})},
		{"mysql/batch", "a plain table by hand", with(func(p *pair) sides {
			return sides{
				items: postgresBatch,
				check: same(p, storeScope),
				ours: repeat(func() {
					_, err := p.ours.Apply(ctx, storeScope.Tenant, batch(postgresBatch))
					must(err)
				}),
				theirs: repeat(func() { p.theirs.putMany(ctx, batch(postgresBatch)) }),
			}
		})},
	}
	for _, w := range []struct {
		name    string
		tenants int
	}{{"32", 1}, {"32/apart", mostWriters}} {
		rows = append(rows, row{"mysql/writers=" + w.name, "a plain table by hand", with(func(p *pair) sides {
			each := func(put func(memory.Scope, memory.Entry)) func(int) {
				return repeat(func() { writeAtOnce(put, &written, mostWriters, w.tenants) })
			}
			ours := each(func(s memory.Scope, e memory.Entry) { must(p.ours.Put(ctx, s, e)) })
			theirs := each(func(s memory.Scope, e memory.Entry) { p.theirs.put(ctx, s, e) })
			check := func() error { // which opens the connections, too
				ours(1)
				theirs(1)
				return same(p, memory.Scope{Tenant: "writer0", Ref: "agent"})()
			}
			return sides{items: mostWriters * putsEach, check: check, ours: ours, theirs: theirs}
		})})
	}
	return rows
}

// plainTable is the peer of the mysql rows: what a host writes that keeps entries in a plain table with
// an index for lists, by a prepared statement and a commit each. It knows no versions, lineage, erasure,
// events, limits, conflict or error but panic.
type plainTable struct {
	pool   *sql.DB
	insert *sql.Stmt
}

func newPlainTable(ctx context.Context, dsn string) (*plainTable, error) {
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	cleanups = append(cleanups, func() { must(pool.Close()) })
	pool.SetMaxOpenConns(mostWriters)
	pool.SetMaxIdleConns(mostWriters)
	_, err = pool.ExecContext(ctx, `CREATE TABLE plain_entries (
		tenant VARBINARY(256) NOT NULL, ref VARBINARY(1024) NOT NULL, id VARBINARY(512) NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
		run_id VARBINARY(128) NOT NULL, content LONGTEXT NOT NULL, tags TEXT NOT NULL,
		PRIMARY KEY (tenant, ref, id), KEY by_time (tenant, ref, created_at, id)) ENGINE=InnoDB`)
	if err != nil {
		return nil, err
	}
	insert, err := pool.PrepareContext(ctx, `INSERT INTO plain_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
	return &plainTable{pool, insert}, err
}

func plainArgs(s memory.Scope, e *memory.Entry) []any {
	tags, err := json.Marshal(e.Tags)
	must(err)
	return []any{s.Tenant, s.Ref, e.ID, e.CreatedAt.UnixMilli(), bareExpiry(e), e.RunID, e.Content, tags}
}

func (p *plainTable) put(ctx context.Context, s memory.Scope, e memory.Entry) {
	_, err := p.insert.ExecContext(ctx, plainArgs(s, &e)...)
	must(err)
}

// putMany puts entries in one statement.
func (p *plainTable) putMany(ctx context.Context, m driver.Mutation) {
	var args []any
	for i := range m.Put {
		args = append(args, plainArgs(m.Put[i].Scope, &m.Put[i].Entry)...)
	}
	_, err := p.pool.ExecContext(ctx, `INSERT INTO plain_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)`+strings.Repeat(`, (?, ?, ?, ?, ?, ?, ?, ?)`, len(m.Put)-1), args...)
	must(err)
}
