package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"maps"
	"slices"
	"strconv"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// line is where a mutation waits for its turn in this process: with the others that take the counter of
// the tenant, with those that change machinery only, or with those that keep events of a run.
type line struct {
	tenant    string
	machinery bool
	run       string
}

func lineOf(tenant string, m *driver.Mutation) line {
	switch {
	case !m.Unversioned():
		return line{tenant: tenant}
	case len(m.Documents) > 0:
		return line{tenant: tenant, machinery: true}
	}
	return line{tenant: tenant, run: m.Events[0].RunID}
}

// apply commits a mutation, and again if an error allows that. One that only puts, or only keeps events,
// can be repeated if the connection is lost, so that its outcome is known unless the database stays away.
func (db *DB) apply(ctx context.Context, tenant string, m *driver.Mutation, onlyPut bool) (driver.Applied, error) {
	if onlyPut { // longer names than a bank has would not fit into an index
		if err := m.Validate(tenant); err != nil {
			return driver.Applied{}, err
		}
	}
	c := &sqlstore.Call{Ctx: ctx, Tenant: tenant, M: m, IsPut: onlyPut}
	rand.Read(c.Mark[:])
	at, allows := lineOf(tenant, m), unsent
	if onlyPut || at.run != "" {
		allows = idempotent
	}
	err := sqlstore.Repeat(ctx, allows, func() error { return db.calls.Do(ctx, at, c, bytesOf(c)) })
	if err = failed(ctx, err); err == nil {
		err = c.Refused
	}
	if err != nil {
		return driver.Applied{}, err
	}
	return c.Done, nil
}

// bytesOf is what a mutation takes of a transaction that it shares. One that erases or restores shares
// none: the documents and the lineage that this changes are not looked up. Nor does one with a value
// that is staged, which would be committed although the mutation is refused.
func bytesOf(c *sqlstore.Call) (size int) {
	if len(c.M.Erase)+len(c.M.Restore)+len(c.M.MergedInto) > 0 {
		return groupcommit.MaxBytes + 1
	}
	for i := range c.M.Put {
		size += len(c.M.Put[i].Entry.Content)
	}
	for i := range c.M.Documents {
		if isStaged(c, &c.M.Documents[i]) {
			return groupcommit.MaxBytes + 1
		}
		size += len(c.M.Documents[i].Value)
	}
	return size
}

// eventName names an event of a tenant.
type eventName struct{ run, id string }

// storedEvent is what an event says.
type storedEvent struct{ kind, payload string }

// group is a transaction of mutations of one tenant, and what is stored of that which they name.
type group struct {
	sqlstore.Group
	calls     []*sqlstore.Call
	tenant    []byte
	versioned bool
	version   int64  // the last one before
	base      string // what statements call that: a number, or LAST_INSERT_ID(), which events would change and so come last
	made      int64  // how many versions are made
	rev       int64  // the last revision
	events    map[eventName]storedEvent
	runs      map[string]*keptRun // in which events are kept
}

// commitGroup commits the mutations of one tenant that it takes as soon as it has a connection.
func (db *DB) commitGroup(ctx context.Context, take func() (context.Context, []*sqlstore.Call)) error {
	return db.withConn(ctx, func(conn *sql.Conn) error {
		ctx, calls := take()
		if len(calls) > 1 {
			shared, end := sqlstore.WhileAllWait(calls, patience)
			defer end()
			ctx = shared
		}
		g := &group{calls: calls, tenant: []byte(calls[0].Tenant), versioned: !calls[0].M.Unversioned(), base: `LAST_INSERT_ID()`}
		if !slices.ContainsFunc(calls, func(c *sqlstore.Call) bool { return !c.M.OnlyPuts() || c.M.Keep }) {
			if err := g.add(ctx, conn); !isThere(err) {
				return err
			}
		}
		return db.exchange(ctx, conn, g.load, func(b *batch) error {
			g.write(b)
			return nil
		})
	})
}

// add commits mutations that only add, in one round trip: none of their entries and events is there, or
// it fails. If a newer release has migrated the database the counter becomes NULL, and it fails too.
func (g *group) add(ctx context.Context, conn *sql.Conn) error {
	g.Group = sqlstore.NeedsOf(g.calls)
	clear(g.Stored.Entries)
	g.events = map[eventName]storedEvent{}
	writes := new(batch)
	g.judge(writes)
	b := new(batch)
	b.exec(`START TRANSACTION`)
	b.exec(`INSERT INTO agentmemory_tenants (tenant, version, entries, bytes) SELECT $1, IF(number <= $5, LAST_INSERT_ID(0) + $2, NULL), $3, $4 FROM agentmemory_meta
		ON DUPLICATE KEY UPDATE version = LAST_INSERT_ID(agentmemory_tenants.version) + VALUES(version),
			entries = agentmemory_tenants.entries + VALUES(entries), bytes = agentmemory_tenants.bytes + VALUES(bytes)`,
		g.tenant, g.made, g.Stored.Used.Entries, g.Stored.Used.Bytes, len(migrations))
	b.each(`SELECT LAST_INSERT_ID()`, nil, func(row sqlstore.Row) error { return row.Scan(&g.version) })
	b.queries = append(b.queries, writes.queries...)
	b.exec(`COMMIT`)
	err := commit(ctx, conn, b)
	g.number()
	return err
}

// lockTenant takes the row of the tenant, which the transaction holds until it ends, and makes it if
// there is none. Every transaction that changes more than machinery does so first, so that versions are
// committed in their order.
const lockTenant = `INSERT INTO agentmemory_tenants (tenant) VALUES ($1) ON DUPLICATE KEY UPDATE horizon = horizon`

// lockDocuments does the same for the documents of the tenant, also those that are not there.
const lockDocuments = `INSERT INTO agentmemory_revisions (tenant) VALUES ($1) ON DUPLICATE KEY UPDATE rev = rev`

// load adds what takes the locks of the mutations, in one order for all, and what reads all that they
// name. Large values are written before.
func (g *group) load(b *batch) {
	g.Group = sqlstore.NeedsOf(g.calls)
	for _, c := range g.calls {
		stage(b, c)
	}
	own := []any{g.tenant}
	if g.versioned {
		b.exec(lockTenant, own...)
		b.each(`SELECT version, entries, bytes FROM agentmemory_tenants WHERE tenant = $1`, own, func(row sqlstore.Row) error {
			return row.Scan(&g.version, &g.Stored.Used.Entries, &g.Stored.Used.Bytes)
		})
	}
	if len(g.Documents) > 0 {
		b.exec(lockDocuments, own...)
		b.each(`SELECT rev FROM agentmemory_revisions WHERE tenant = $1`, own, func(row sqlstore.Row) error { return row.Scan(&g.rev) })
	}
	g.loadEvents(b)
	g.loadEntries(b)
	g.loadMergedInto(b)
	g.loadDocuments(b)
	if waiting := g.waitingLimit(); waiting > 0 {
		b.each(countWaiting, []any{waiting, g.tenant}, func(row sqlstore.Row) error { return row.Scan(&g.Stored.Used.Waiting) })
	}
}

// loadEntries adds what reads the entries that the mutations name.
func (g *group) loadEntries(b *batch) {
	if len(g.Stored.Entries) == 0 {
		return
	}
	names := namesOf(maps.Keys(g.Stored.Entries))
	clear(g.Stored.Entries)
	const load = `SELECT ` + recordColumns + ` FROM JSON_TABLE($2` + jsonRows + `agentmemory_entries e ON e.tenant = $1 AND e.ref = UNHEX(j.a) AND e.id = UNHEX(j.b)`
	b.each(load, []any{g.tenant, names}, func(row sqlstore.Row) error {
		r, err := scanRecord(row, string(g.tenant))
		g.Stored.Entries[r.Located()] = r
		return err
	})
}

// loadMergedInto adds what finds the entries that were merged into those that the mutations name.
func (g *group) loadMergedInto(b *batch) {
	if len(g.Stored.MergedInto) == 0 {
		return
	}
	const load = `SELECT e.ref, e.successor, e.id FROM JSON_TABLE($2` + jsonRows + `agentmemory_entries e FORCE INDEX (entries_successor)
		ON e.tenant = $1 AND e.ref = UNHEX(j.a) AND e.successor = UNHEX(j.b)`
	b.each(load, []any{g.tenant, namesOf(maps.Keys(g.Stored.MergedInto))}, func(row sqlstore.Row) error {
		into := driver.Located{Scope: driver.Scope{Tenant: string(g.tenant)}}
		var id string
		err := row.Scan((*sqlstore.Name)(&into.Ref), (*sqlstore.Name)(&into.ID), (*sqlstore.Name)(&id))
		g.Stored.MergedInto[into] = append(g.Stored.MergedInto[into], id)
		return err
	})
}

// namesOf are the refs and ids of entries, as one parameter.
func namesOf(entries func(func(driver.Located) bool)) string {
	var names [][]string
	for l := range entries {
		names = append(names, []string{l.Ref, l.ID})
	}
	return inJSON(names)
}

// loadDocuments adds what reads the documents that the mutations name.
func (g *group) loadDocuments(b *batch) {
	if len(g.Documents) == 0 {
		return
	}
	var names [][]string
	for n := range g.Documents {
		names = append(names, []string{n.Ref, n.Kind, n.Key})
	}
	const load = `SELECT d.ref, d.kind, d.key, d.rev, d.class FROM JSON_TABLE($2` + jsonRows + `agentmemory_documents d
		ON d.tenant = $1 AND d.ref = UNHEX(j.a) AND d.kind = UNHEX(j.b) AND d.key = UNHEX(j.c)`
	b.each(load, []any{g.tenant, inJSON(names)}, func(row sqlstore.Row) error {
		var n sqlstore.DocumentName
		var d driver.Document
		err := row.Scan((*sqlstore.Name)(&n.Ref), (*sqlstore.Name)(&n.Kind), (*sqlstore.Name)(&n.Key), &d.Rev, &d.Class)
		if err == nil {
			*g.Documents[n] = d
		}
		return err
	})
}

// waitingLimit is up to where the events that wait are counted.
func (g *group) waitingLimit() (limit int64) {
	for _, c := range g.calls {
		limit = max(limit, c.M.Limits.Waiting)
	}
	return limit
}

// loadEvents adds what locks the runs in which events are kept, in one order for all, and what reads the
// events that are there.
func (g *group) loadEvents(b *batch) {
	g.events, g.runs = map[eventName]storedEvent{}, map[string]*keptRun{}
	var names [][]string
	for _, c := range g.calls {
		for i := range c.M.Events {
			r := &c.M.Events[i]
			names = append(names, []string{r.RunID, r.ID})
			if c.M.Keep {
				g.runs[r.RunID] = new(keptRun)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(g.runs)) {
		g.runs[id].lock(b, g.tenant, id)
	}
	if len(names) == 0 {
		return
	}
	const load = `SELECT e.run_id, e.event_id, e.type, e.payload FROM JSON_TABLE($2` + jsonRows + `agentmemory_events e FORCE INDEX (events_name)
		ON e.tenant = $1 AND e.run_id = UNHEX(j.a) AND e.event_id = UNHEX(j.b)`
	b.each(load, []any{g.tenant, inJSON(names)}, func(row sqlstore.Row) error {
		var n eventName
		var e storedEvent
		err := row.Scan((*sqlstore.Name)(&n.run), (*sqlstore.Name)(&n.id), &e.kind, &e.payload)
		g.events[n] = e
		return err
	})
}

// judge judges the mutations one after the other, and adds what those that hold write.
func (g *group) judge(b *batch) {
	g.made = 0
	last := new(batch)
	for _, c := range g.calls {
		var fresh []events.Record
		g.Judge(c, func() (err error) {
			fresh, err = g.newEvents(c.M)
			return err
		})
		if c.Planned() {
			g.writeCall(b, c)
			g.addEvents(last, c.M, fresh)
		}
	}
	b.queries = append(b.queries, last.queries...)
}

// write adds what the mutations write, and how far the counters have come.
func (g *group) write(b *batch) {
	rev, writes := g.rev, new(batch)
	g.base = strconv.FormatInt(g.version, 10)
	if g.judge(writes); len(writes.queries) == 0 {
		return
	}
	if g.versioned {
		b.exec(`UPDATE agentmemory_tenants SET version = $2, entries = $3, bytes = $4 WHERE tenant = $1`,
			g.tenant, g.version+g.made, g.Stored.Used.Entries, g.Stored.Used.Bytes)
	}
	b.queries = append(b.queries, writes.queries...)
	g.number()
	if g.rev != rev {
		b.exec(`UPDATE agentmemory_revisions SET rev = $2 WHERE tenant = $1`, g.tenant, g.rev)
	}
	for _, id := range slices.Sorted(maps.Keys(g.runs)) {
		g.runs[id].save(b, g.tenant, id)
	}
}

// number tells the mutations their versions.
func (g *group) number() {
	n := g.version
	for _, c := range g.calls {
		if g.versioned && c.Planned() {
			n++
			c.Done.Version = c.Mark.Version(uint64(n))
		}
	}
}

// newEvents returns the events of a mutation that are not there. One that is there and says something
// else refuses the mutation.
func (g *group) newEvents(m *driver.Mutation) (fresh []events.Record, err error) {
	said := map[eventName]storedEvent{}
	for i := range m.Events {
		r := &m.Events[i]
		n, e := eventName{r.RunID, r.ID}, payloadOf(r)
		there, known := g.events[n]
		switch {
		case known && there != e:
			return nil, errTaken
		case !known:
			fresh, said[n] = append(fresh, *r), e
		}
	}
	maps.Copy(g.events, said)
	return fresh, nil
}
