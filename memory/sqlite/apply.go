package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Put inserts e if the scope has no entry of that id.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	_, err := st.db.change(ctx, s.Tenant, func(c *change) error {
		fresh, err := c.put(s.Ref, &e)
		if err == nil && !fresh {
			err = errUnchanged
		}
		return err
	})
	return err
}

// errUnchanged rolls back a change that is none, and is no error of it.
var errUnchanged = errors.New("sqlite: nothing to do")

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (live bool, err error) {
	_, err = st.db.change(ctx, s.Tenant, func(c *change) (err error) {
		live, err = c.tx.changed(`UPDATE entries SET died = ?, state = ? WHERE tenant = ? AND ref = ? AND id = ?
			AND died = 9223372036854775807 AND expires > ?`, c.version, driver.Deleted, s.Tenant, s.Ref, id, at.UnixMilli())
		if err == nil && !live {
			err = errUnchanged
		}
		c.journal.add(actRetired, s.Ref, id)
		return err
	})
	return live && err == nil, err
}

// Apply commits m or returns [driver.ErrConflict], or [driver.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened, nor after
// any other error that is not [ErrOutcomeUnknown].
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (done driver.Applied, err error) {
	if err := ctx.Err(); err != nil {
		return driver.Applied{}, err
	}
	if err := m.Validate(tenant); err != nil {
		return driver.Applied{}, err
	}
	if m.Unversioned() {
		err = st.db.write(ctx, func(t *tx) error {
			done.Revs, err = t.swapMachinery(m.Documents)
			return err
		})
	} else {
		done, err = st.db.apply(ctx, tenant, &m)
	}
	if err != nil {
		return driver.Applied{}, err
	}
	return done, nil
}

// apply commits a mutation that makes a version.
func (db *DB) apply(ctx context.Context, tenant string, m *driver.Mutation) (done driver.Applied, err error) {
	encode := encodeEvents
	if m.Log {
		encode = runEvents
	}
	texts, err := encode(m.Events)
	if err != nil {
		return done, err
	}
	done.Version, err = db.change(ctx, tenant, func(c *change) error {
		if err := c.check(m); err != nil {
			return err
		}
		if err := c.commit(m); err != nil {
			return err
		}
		if done.Revs, err = c.swapAll(m.Documents); err != nil {
			return err
		}
		if m.Log {
			return c.tx.log(m.Events, texts)
		}
		return c.tx.queue(m.Events, texts)
	})
	return done, err
}

// change is a transaction that makes the next version of a tenant.
type change struct {
	tx      *tx
	tenant  string
	version int64
	used    driver.Limits // had before
	journal journal
}

// change runs f in a transaction that has taken the tenant's row, so that the order
// of versions is the order of commits, and returns the version that it made.
func (db *DB) change(ctx context.Context, tenant string, f func(*change) error) (driver.Version, error) {
	c := &change{tenant: tenant}
	mark := driver.NewMark()
	err := db.write(ctx, func(t *tx) error {
		c.tx = t
		err := t.get([]any{&c.version, &c.used.Entries, &c.used.Bytes}, `INSERT INTO tenants (tenant, version) VALUES (?, 1)
			ON CONFLICT DO UPDATE SET version = version + 1 RETURNING version, entries, bytes`, tenant)
		if err != nil {
			return wrap(writeFailed, err)
		}
		if err := f(c); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO versions (tenant, version, mark, changes) VALUES (?, ?, ?, ?)`,
			tenant, c.version, mark[:], pack(c.journal.lines))
		return err
	})
	if err != nil {
		return "", err
	}
	return mark.Version(uint64(c.version)), nil
}

// storedEntry is what the database has under an id.
type storedEntry struct {
	driver.Held
	key        int64 // of the row
	born, died int64
}

const getStored = `SELECT ` + entryColumns + `, e.entry, e.born, e.died, e.state, e.erased FROM ` + listed + withText

// find returns what a ref holds of some ids.
func (c *change) find(ref string, ids []string) (map[string]storedEntry, error) {
	found := make(map[string]storedEntry, len(ids))
	var h storedEntry
	row := newScanner(&h.key, &h.born, &h.died, &h.State, &h.Erased)
	err := c.tx.query(func(rows *sql.Rows) (bool, error) {
		e, err := row.read(rows)
		h.Entry = &e
		found[e.ID] = h
		return true, err
	}, getStored, c.tenant, ref, idList(ids))
	return found, err
}

// check asks [driver.Base.Check] about m. The conditions of its puts are left to put if
// nothing else in m can bear on them.
func (c *change) check(m *driver.Mutation) error {
	if len(m.Live)+len(m.MergedInto)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Documents) == 0 && m.Limits == (driver.Limits{}) {
		return nil
	}
	known := map[string]map[string]storedEntry{}
	for ref, ids := range idsByRef(m) {
		var err error
		if known[ref], err = c.find(ref, ids); err != nil {
			return err
		}
	}
	var failed error
	if limit := m.Limits.Waiting; limit > 0 {
		failed = c.tx.get([]any{&c.used.Waiting}, countWaiting, limit, c.tenant)
	}
	base := driver.Base{
		Held: func(ref, id string) driver.Held { return known[ref][id].Held },
		Document: func(ref, kind, key string) (int64, driver.Class) {
			d, err := c.tx.document(c.tenant, ref, kind, key)
			failed = errors.Join(failed, err)
			return d.rev, d.class
		},
		Retired: func(ref, id string) []string {
			ids, err := collect(c.tx.query, func(rows *sql.Rows) (id string, err error) { return id, wrap(readFailed, rows.Scan(&id)) },
				`SELECT id FROM entries INDEXED BY entries_successor WHERE tenant = ? AND ref = ? AND successor = ? AND successor <> ''`, c.tenant, ref, id)
			failed = errors.Join(failed, err)
			return ids
		},
		Used: c.used,
	}
	if err := base.Check(m); failed == nil {
		failed = err
	}
	return failed
}

// idsByRef returns the ids that a mutation names in each ref.
func idsByRef(m *driver.Mutation) map[string][]string {
	ids := map[string][]string{}
	for _, list := range [][]driver.Located{m.Live, m.Restore, m.Erase} {
		for _, l := range list {
			ids[l.Ref] = append(ids[l.Ref], l.ID)
		}
	}
	for i := range m.Put {
		p := &m.Put[i]
		ids[p.Ref] = append(ids[p.Ref], p.Entry.ID)
	}
	for _, x := range m.Retire {
		ids[x.Ref] = append(ids[x.Ref], x.ID)
		if x.For != "" {
			ids[x.Ref] = append(ids[x.Ref], x.For)
		}
	}
	for i := range m.Documents {
		x := &m.Documents[i]
		ids[x.Ref] = append(ids[x.Ref], x.Of...)
	}
	return ids
}
