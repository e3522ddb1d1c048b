package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// group is a transaction of mutations of one tenant.
type group struct {
	sqlstore.Group
	db    *DB
	calls []*writes
}

// commitGroup commits the mutations of one tenant that it takes as soon as it has a connection.
func (db *DB) commitGroup(ctx context.Context, take func() (context.Context, []*writes)) error {
	return db.withPoolConn(ctx, func(conn *pgxpool.Conn) error {
		ctx, calls := take()
		if len(calls) > 1 {
			shared, end := sqlstore.WhileAllWait(inner(calls), patience)
			defer end()
			ctx = shared
		}
		g := &group{db: db, calls: calls}
		if !slices.ContainsFunc(calls, func(w *writes) bool { return !w.M.OnlyPuts() }) {
			err := g.add(ctx, conn)
			if codeOf(err) != uniqueViolation {
				return err
			}
			// One of the ids is there. The long way tells whether by the same entry.
		}
		err := db.exchange(ctx, conn, g.tenant(), g.load, func(b *pgx.Batch) error {
			g.judge()
			g.write(b)
			return nil
		})
		if codeOf(err) == uniqueViolation && len(calls) == 1 {
			return driver.ErrConflict // another caller made the machinery
		}
		return err
	})
}

// inner returns what package sqlstore sees of mutations.
func inner(calls []*writes) (list []*sqlstore.Call) {
	for _, w := range calls {
		list = append(list, &w.Call)
	}
	return list
}

func (g *group) tenant() string { return g.calls[0].Tenant }

// add commits mutations that only add, in one round trip: none of their entries is there, or it
// fails.
func (g *group) add(ctx context.Context, conn *pgxpool.Conn) error {
	g.Stored.Entries = map[driver.Located]driver.Record{}
	g.judge()
	return g.db.sendWrite(ctx, conn, tenantSetting(g.tenant()), func(b *pgx.Batch) {
		b.Queue(takeTenant, []byte(g.tenant()))
		g.write(b)
	})
}

// judge plans the mutations.
func (g *group) judge() {
	for _, w := range g.calls {
		g.Judge(&w.Call, nil)
	}
}

// write queues what the planned mutations write.
func (g *group) write(b *pgx.Batch) {
	planned := slices.DeleteFunc(slices.Clone(g.calls), func(w *writes) bool { return !w.Planned() })
	var kept []events.Record
	for _, w := range planned {
		if w.M.Keep {
			kept = append(kept, w.M.Events...)
		}
	}
	lockRuns(b, kept)
	for _, w := range planned {
		w.queueAll(b)
	}
}

// load queues what takes the row of the tenant, if one of the mutations makes a version, and the
// documents, and what reads all that they name. Large values are written before.
func (g *group) load(b *pgx.Batch) {
	g.Group = sqlstore.NeedsOf(inner(g.calls))
	for _, w := range g.calls {
		w.stage(b)
	}
	if !g.calls[0].M.Unversioned() {
		b.Queue(takeTenant, []byte(g.tenant()))
	}
	g.loadEntries(b)
	g.loadMergedInto(b)
	g.loadDocuments(b)
	g.loadUsage(b)
}

// loadEntries queues what reads the entries that the mutations name.
func (g *group) loadEntries(b *pgx.Batch) {
	if len(g.Stored.Entries) == 0 {
		return
	}
	refs, ids := namesOf(slices.Collect(maps.Keys(g.Stored.Entries)))
	clear(g.Stored.Entries)
	const load = `
		SELECT ` + recordColumns + `
		FROM ` + located + `, LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = n.ref AND e.id = n.id OFFSET 0) e`
	b.Queue(load, []byte(g.tenant()), refs, ids).Query(eachRow(func(row pgx.Row) error {
		r, err := scanRecord(row, g.tenant())
		g.Stored.Entries[r.Located()] = r
		return err
	}))
}

// loadMergedInto queues what finds the entries that were merged into those that the mutations
// name.
func (g *group) loadMergedInto(b *pgx.Batch) {
	if len(g.Stored.MergedInto) == 0 {
		return
	}
	named := slices.Collect(maps.Keys(g.Stored.MergedInto))
	refs, ids := namesOf(named)
	const load = `
		SELECT h.number, e.id FROM unnest((SELECT $2::bytea[]), (SELECT $3::bytea[])) WITH ORDINALITY AS h (ref, id, number), LATERAL (
			SELECT e.id FROM agentmemory.entries e
			WHERE e.tenant = $1 AND e.ref = h.ref AND sha256(e.successor) = sha256(h.id) AND e.successor = h.id OFFSET 0) e`
	b.Queue(load, []byte(g.tenant()), refs, ids).Query(eachRow(func(row pgx.Row) error {
		var number int64
		var id name
		err := row.Scan(&number, &id)
		if err == nil {
			into := named[number-1]
			g.Stored.MergedInto[into] = append(g.Stored.MergedInto[into], string(id))
		}
		return err
	}))
}

// namesOf are the refs of entries, and their ids.
func namesOf(entries []driver.Located) (refs, ids [][]byte) {
	for _, l := range entries {
		refs, ids = append(refs, []byte(l.Ref)), append(ids, []byte(l.ID))
	}
	return refs, ids
}

// loadUsage queues what the limits of the mutations are held against.
func (g *group) loadUsage(b *pgx.Batch) {
	limited, waiting := false, int64(0)
	for _, w := range g.calls {
		limited = limited || w.M.Limits != driver.Limits{} && !w.M.Unversioned()
		waiting = max(waiting, w.M.Limits.Waiting)
	}
	if !limited {
		return
	}
	const load = `
		SELECT v.entries, v.bytes, (SELECT count(*) FROM (
			SELECT 1 FROM agentmemory.events WHERE tenant = $1 AND sequence IS NULL LIMIT (SELECT $2::bigint)) x)
		FROM (
			(SELECT version, entries, bytes FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1)
			UNION ALL SELECT 0, 0, 0 LIMIT 1) v`
	used := &g.Stored.Used
	b.Queue(load, []byte(g.tenant()), waiting).QueryRow(func(row pgx.Row) error {
		return row.Scan(&used.Entries, &used.Bytes, &used.Waiting)
	})
}

// loadDocuments reads and locks the documents that the mutations name, in the order of
// their names: machinery may be changed by others that do not have the tenant's row.
func (g *group) loadDocuments(b *pgx.Batch) {
	const load = `SELECT d.rev, d.class FROM agentmemory.documents d WHERE d.tenant = $1 AND d.ref = $2 AND d.kind = $3 AND d.key = $4`
	names := slices.SortedFunc(maps.Keys(g.Documents), sqlstore.DocumentName.Compare)
	read := func(sql string) {
		for _, n := range names {
			b.Queue(sql, []byte(g.tenant()), []byte(n.Ref), []byte(n.Kind), []byte(n.Key)).Query(eachRow(func(row pgx.Row) error {
				var class int16
				err := row.Scan(&g.Documents[n].Rev, &class)
				g.Documents[n].Class = driver.Class(class)
				return err
			}))
		}
	}
	absent := g.lockAbsent(b)
	read(load + ` FOR UPDATE`)
	if absent { // a statement may have waited, and does not see what has come since it began
		read(load)
	}
}

// lockAbsent queues a lock for the documents of the tenant that are not there,
// which have no row to lock. Who makes some shares it, and who rests on the absence of some
// has it alone, which it reports. A mutation of one document needs none of this.
func (g *group) lockAbsent(b *pgx.Batch) (alone bool) {
	share := false
	for _, w := range g.calls {
		for i := range w.M.Documents {
			x := &w.M.Documents[i]
			share = share || x.Rev == 0 && x.Act == driver.Set
			alone = alone || x.Rev == 0 && x.Act != driver.Set
		}
	}
	key := lockKey("absent", g.tenant())
	switch {
	case alone:
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, key)
	case share:
		b.Queue(`SELECT pg_advisory_xact_lock_shared($1)`, key)
	}
	return alone
}

// lockKey is the key of an advisory lock. Names that share one wait for each other, and no more than
// that.
func lockKey(names ...string) int64 {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
