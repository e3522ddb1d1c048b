package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"net/url"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// sqliteTable is what a programmer writes who wants to remember, list and tell of it, and no more:
// a table with an index, and one for events. Both have the settings that a careful author would
// give them, and statements are prepared once, for a connection that writes and for those that read.
type sqliteTable struct {
	db                     *sql.DB
	writes                 *sql.Conn
	begin, commit          *sql.Stmt
	insert, tell           *sql.Stmt
	selectOne, selectFirst *sql.Stmt
	selectTagged           *sql.Stmt
}

func openSQLiteTable(ctx context.Context, path string) *sqliteTable {
	pragmas := url.Values{"_pragma": {"busy_timeout(30000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-8192)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode())
	must(err)
	_, err = db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS memories (
			tenant TEXT, ref TEXT, id TEXT, content TEXT NOT NULL, tags TEXT, run TEXT, created INTEGER NOT NULL, expires INTEGER NOT NULL,
			PRIMARY KEY (tenant, ref, id)
		);
		CREATE INDEX IF NOT EXISTS memories_by_age ON memories (tenant, ref, created, id);
		CREATE TABLE IF NOT EXISTS events (
			tenant TEXT, run TEXT, sequence INTEGER, id TEXT NOT NULL, type TEXT NOT NULL, node TEXT, at INTEGER NOT NULL, payload TEXT NOT NULL,
			PRIMARY KEY (tenant, run, sequence)
		) WITHOUT ROWID`)
	must(err)
	w, err := db.Conn(ctx)
	must(err)
	const fields = `SELECT id, content, tags, run, created, expires FROM memories WHERE tenant = ? AND ref = ?`
	return &sqliteTable{
		db: db, writes: w,
		begin:  prepare(w, `BEGIN IMMEDIATE`),
		insert: prepare(w, `INSERT INTO memories (tenant, ref, id, content, tags, run, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
		tell: prepare(w, `INSERT INTO events (tenant, run, sequence, id, type, node, at, payload)
			SELECT ?1, ?2, ifnull(max(sequence) + 1, 0), ?3, ?4, ?5, ?6, ?7 FROM events WHERE tenant = ?1 AND run = ?2`),
		commit:       prepare(w, `COMMIT`),
		selectOne:    prepare(db, fields+` AND id = ? AND expires > ?`),
		selectFirst:  prepare(db, fields+` AND expires > ? ORDER BY created DESC, id DESC LIMIT ?`),
		selectTagged: prepare(db, fields+` AND expires > ? AND tags LIKE ? ORDER BY created DESC, id DESC LIMIT ?`),
	}
}

func prepare(on interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}, text string) *sql.Stmt {
	s, err := on.PrepareContext(context.Background(), text)
	must(err)
	return s
}

// emptyLog has SQLite write what is in its log into the file.
func emptyLog(ctx context.Context, path string) {
	db, err := sql.Open("sqlite", "file:"+path)
	must(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	must(err)
}

func (t *sqliteTable) put(batch ...driver.Placed) { t.change(batch) }

// change commits entries and events.
func (t *sqliteTable) change(batch []driver.Placed, recs ...events.Record) {
	exec := func(s *sql.Stmt, args ...any) {
		_, err := s.ExecContext(context.Background(), args...)
		must(err)
	}
	exec(t.begin)
	for i := range batch {
		e := &batch[i].Entry
		expires := int64(math.MaxInt64)
		if !e.ExpiresAt.IsZero() {
			expires = e.ExpiresAt.UnixMilli()
		}
		exec(t.insert, batch[i].Tenant, batch[i].Ref, e.ID, e.Content, asJSON(e.Tags), e.RunID, e.CreatedAt.UnixMilli(), expires)
	}
	for _, r := range recs {
		exec(t.tell, r.Tenant, r.RunID, r.ID, string(r.Payload.EventType()), r.NodeID, r.Time.UnixMilli(), asJSON(r.Payload))
	}
	exec(t.commit)
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	must(err)
	return string(text)
}

func (t *sqliteTable) get(id string, at time.Time) driver.Entry {
	return read(t.selectOne, storeScope.Tenant, storeScope.Ref, id, at.UnixMilli())[0]
}

func (t *sqliteTable) list(limit int, at time.Time) []driver.Entry {
	return read(t.selectFirst, storeScope.Tenant, storeScope.Ref, at.UnixMilli(), limit)
}

func (t *sqliteTable) tagged(tag string, limit int, at time.Time) []driver.Entry {
	return read(t.selectTagged, storeScope.Tenant, storeScope.Ref, at.UnixMilli(), "%"+asJSON(tag)+"%", limit)
}

func read(s *sql.Stmt, args ...any) (found []driver.Entry) {
	rows, err := s.QueryContext(context.Background(), args...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var e driver.Entry
		var created, expires int64
		var tags []byte
		must(rows.Scan(&e.ID, &e.Content, &tags, &e.RunID, &created, &expires))
		must(json.Unmarshal(tags, &e.Tags))
		e.CreatedAt = time.UnixMilli(created).UTC()
		if expires != math.MaxInt64 {
			e.ExpiresAt = time.UnixMilli(expires).UTC()
		}
		found = append(found, e)
	}
	must(rows.Err())
	return found
}
