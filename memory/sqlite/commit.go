package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// errThere says that an entry is there already, which was not looked up.
var errThere = errors.New("sqlite: the entry is there")

// apply commits a mutation; one that only puts what is there is not committed.
func (db *DB) apply(ctx context.Context, tenant string, m *driver.Mutation, onlyPut bool) (driver.Applied, error) {
	done, err := db.try(ctx, tenant, m, onlyPut, !m.OnlyPuts())
	if err == errThere {
		done, err = db.try(ctx, tenant, m, onlyPut, true)
	}
	if err != nil {
		return driver.Applied{}, err
	}
	return done, nil
}

// try is apply, without looking up what is stored unless look is set.
func (db *DB) try(ctx context.Context, tenant string, m *driver.Mutation, onlyPut, look bool) (done driver.Applied, err error) {
	return done, db.writer.run(ctx, &call{do: func(t *tx) error {
		done = driver.Applied{}
		c := &change{tx: t, tenant: tenant, rows: map[driver.Located]*row{}}
		if err := c.begin(tenant); err != nil {
			return err
		}
		if look {
			c.load(m)
		}
		plan, err := c.stored.Plan(m)
		if err != nil {
			return err
		}
		if plan.Empty() && onlyPut {
			return errUnchanged
		}
		for i := range plan.Insert {
			if !c.insert(&plan.Insert[i]) {
				return errThere
			}
		}
		if !m.Unversioned() {
			done.Version = c.makeVersion(plan.Grows, append([]byte{}, plan.Journal()...)) // which is not NULL
		}
		c.changeEntries(&plan)
		for i := range m.Documents {
			done.Revs = append(done.Revs, c.swap(&m.Documents[i], &c.documents[i]))
		}
		return c.addEvents(m)
	}}, sizeOf(m))
}

// sizeOf is about how much a mutation writes, in bytes.
func sizeOf(m *driver.Mutation) (n int) {
	const row = 512
	n = row * (len(m.Put) + len(m.Retire) + len(m.Restore) + len(m.Erase) + len(m.Documents) + len(m.Events))
	for i := range m.Put {
		n += len(m.Put[i].Entry.Content)
	}
	for i := range m.Documents {
		n += len(m.Documents[i].Value)
	}
	return n
}

// change is a mutation under way.
type change struct {
	*tx
	tenant    string
	stored    driver.Stored
	rows      map[driver.Located]*row // that it names, as its parts have left them
	documents []storedDocument
}

const (
	getMergedInto = `SELECT e.ref, e.successor, e.id FROM json_each(?2) j CROSS JOIN entries e INDEXED BY entries_successor
		ON e.tenant = ?1 AND e.ref = ` + name0 + ` AND e.successor = ` + name1 + ` AND e.successor <> ''`

	addVersion = `INSERT INTO versions (tenant, version, mark, entries, bytes, journal) VALUES (?, ?, ?, ?, ?, ?)`
)

// load looks up what a mutation names.
func (c *change) load(m *driver.Mutation) {
	c.stored = m.Needs()
	if places := slices.Collect(maps.Keys(c.stored.Entries)); len(places) > 0 {
		rows, _ := collect(c.query, rowScanner(c.tenant), getRows, c.tenant, placesIn(places))
		for i := range rows {
			c.rows[rows[i].Located()] = &rows[i]
			c.stored.Entries[rows[i].Located()] = rows[i].Record
		}
	}
	if places := slices.Collect(maps.Keys(c.stored.MergedInto)); len(places) > 0 {
		c.query(func(rows sqlstore.Row) (bool, error) {
			at := driver.Located{Scope: driver.Scope{Tenant: c.tenant}}
			var id string
			err := rows.Scan(&at.Ref, &at.ID, &id)
			c.stored.MergedInto[at] = append(c.stored.MergedInto[at], id)
			return true, err
		}, getMergedInto, c.tenant, placesIn(places))
	}
	c.stored.Used = c.used
	if m.Limits.Waiting > 0 {
		first(c.query, []any{&c.stored.Used.Waiting}, countWaiting, m.Limits.Waiting, c.tenant)
	}
	c.loadDocuments(m.Documents)
}

// placesIn are the refs and ids of entries, for named.
func placesIn(places []driver.Located) string {
	rows := make([][2]string, len(places))
	for i, l := range places {
		rows[i] = [2]string{inHex(l.Ref), inHex(l.ID)}
	}
	return inJSON(rows)
}

// makeVersion adds the next version of the tenant. The transaction has the database's only write
// lock, so that the order of versions is the order of commits.
func (c *change) makeVersion(grows driver.Limits, journal []byte) driver.Version {
	var mark driver.Mark
	rand.Read(mark[:])
	c.exec(addVersion, c.tenant, c.version, mark[:], c.used.Entries+grows.Entries, c.used.Bytes+grows.Bytes, journal)
	return mark.Version(uint64(c.version))
}

const (
	// The key of a new text is one more than the largest, which addText leaves to SQLite.
	addEntry = `INSERT INTO entries (tenant, ref, id, created, expires, born, entry)
		VALUES (?, ?, ?, ?, ?, ?, 1 + ifnull((SELECT max(entry) FROM texts), 0)) ON CONFLICT DO NOTHING`
	addText  = `INSERT INTO texts (head, content) VALUES (?, ?)`
	addLabel = `INSERT OR IGNORE INTO labels (label, ref, created, id) VALUES (?, ?, ?, ?)`

	setEntry = `UPDATE entries SET born = ?, died = ?, state = ?, successor = ?, former = ? WHERE tenant = ? AND ref = ? AND id = ?`
)

// insert inserts an entry, unless there is one of its id.
func (c *change) insert(x *driver.Placed) bool {
	e := &x.Entry
	created, expires := e.CreatedAt.UnixMilli(), sqlstore.Expiry(e.ExpiresAt)
	_, n := c.exec(addEntry, c.tenant, x.Ref, e.ID, created, expires, c.version)
	if n == 0 {
		return false
	}
	fields := [4][]byte{[]byte(e.RunID), sqlstore.Pack(e.Tags), sqlstore.Pack(e.Subjects), sqlstore.Pack(e.Sources)}
	key, _ := c.exec(addText, headOf(e.ID, created, expires, fields, e.Content), e.Content)
	for _, subject := range e.Subjects {
		c.exec(addLabel, sqlstore.Label(c.tenant, subject), x.Ref, created, e.ID)
	}
	r := &row{Record: driver.Record{Scope: x.Scope, Entry: *e}, key: key, life: span{c.version, never}}
	c.rows[r.Located()] = r
	return true
}

// changeEntries does to entries that are there what a plan says.
func (c *change) changeEntries(p *driver.Plan) {
	var erased []*row
	for _, x := range p.Retire {
		r := c.rows[x.Located]
		r.life[1], r.State, r.For = c.version, x.State, x.For
		c.set(r)
	}
	for _, l := range p.Restore {
		r := c.rows[l]
		r.former = append(r.former, r.life)
		r.life, r.State, r.For = span{c.version, never}, driver.Live, ""
		c.set(r)
	}
	for _, l := range p.Erase {
		erased = append(erased, c.rows[l])
	}
	c.erase(erased)
}

// set writes when an entry was live and what became of it.
func (c *change) set(r *row) {
	var former any
	if r.former != nil {
		former = inJSON(r.former)
	}
	c.exec(setEntry, r.life[0], r.life[1], r.State, r.For, former, c.tenant, r.Ref, r.Entry.ID)
}

// labelsOf are the rows that entries have in the index of subjects.
func labelsOf(tenant string, entries ...*row) string {
	labels := [][4]any{}
	for _, r := range entries {
		for _, subject := range r.Entry.Subjects {
			labels = append(labels, [4]any{inHex(r.Ref), inHex(r.Entry.ID), r.Entry.CreatedAt.UnixMilli(), hex.EncodeToString(sqlstore.Label(tenant, subject))})
		}
	}
	return inJSON(labels)
}
