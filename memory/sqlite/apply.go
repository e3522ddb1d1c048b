package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// Put inserts e if the scope has no entry of that id.
func (st *Store) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
	err := st.db.change(ctx, s.Tenant, func(c *change) error {
		fresh, err := c.put(s.Ref, &e)
		if err == nil && !fresh {
			err = errUnchanged
		}
		return err
	})
	if err == errUnchanged {
		return nil
	}
	return err
}

// errUnchanged rolls back a change that is none.
var errUnchanged = errors.New("sqlite: nothing to do")

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	err := st.db.change(ctx, s.Tenant, func(c *change) error {
		live, err := c.tx.changed(`UPDATE entries SET died = ?, state = ? WHERE tenant = ? AND ref = ? AND id = ?
			AND died = 9223372036854775807 AND expires > ?`, c.version, memory.Deleted, s.Tenant, s.Ref, id, at.UnixMilli())
		if err == nil && !live {
			err = errUnchanged
		}
		return err
	})
	if err == errUnchanged {
		return false, nil
	}
	return err == nil, err
}

// Apply commits m or returns [memory.ErrConflict], or [memory.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened, nor after
// any other error that is not [ErrOutcomeUnknown].
func (st *Store) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !storerules.WellFormed(tenant, &m) {
		return "", memory.ErrValidation
	}
	payloads, err := encodeEvents(m.Events)
	if err != nil {
		return "", err
	}
	var version int64
	err = st.db.change(ctx, tenant, func(c *change) error {
		version = c.version
		if err := c.check(&m); err != nil {
			return err
		}
		if err := c.commit(&m); err != nil {
			return err
		}
		return c.tx.queue(m.Events, payloads)
	})
	if err != nil {
		return "", err
	}
	return st.db.mark(tenant).Version(uint64(version)), nil
}

// change is a transaction that makes the next version of a tenant.
type change struct {
	tx      *tx
	tenant  string
	version int64
}

// change runs f in a transaction that has taken the tenant's row, so that the order
// of versions is the order of commits.
func (db *DB) change(ctx context.Context, tenant string, f func(*change) error) error {
	return db.write(ctx, func(t *tx) error {
		c := &change{tx: t, tenant: tenant}
		err := t.get([]any{&c.version}, `INSERT INTO tenants (tenant, version) VALUES (?, 1)
			ON CONFLICT DO UPDATE SET version = version + 1 RETURNING version`, tenant)
		if err != nil {
			return wrap(writeFailed, err)
		}
		return f(c)
	})
}

// held is what the database has under an id.
type held struct {
	storerules.Held
	key        int64 // of the row
	born, died int64
}

const getHeld = `SELECT ` + entryColumns + `, e.entry, e.born, e.died, e.state, e.erased FROM entries e
	WHERE e.tenant = ? AND e.ref = ? AND e.id = ?`

// find returns nothing held if the scope has no record of that id.
func (c *change) find(ref, id string) (h held, err error) {
	err = c.tx.query(func(rows *sql.Rows) (bool, error) {
		e, err := newScanner(&h.key, &h.born, &h.died, &h.State, &h.Erased).read(rows)
		h.Entry = &e
		return false, err
	}, getHeld, c.tenant, ref, id)
	return h, err
}

// check returns [memory.ErrConflict] unless every condition of a well-formed m holds.
// Those of its puts are left to put if nothing else in m can bear on them.
func (c *change) check(m *memory.Mutation) error {
	var failed error
	base := storerules.Base{
		Held: func(ref, id string) storerules.Held {
			h, err := c.find(ref, id)
			failed = errors.Join(failed, err)
			return h.Held
		},
		Cell: func(ref, name string) []byte {
			value, err := cell(c.tx.query, memory.Scope{Tenant: c.tenant, Ref: ref}, name)
			failed = errors.Join(failed, err)
			return value
		},
	}
	var holds bool
	if len(m.Live)+len(m.Retire)+len(m.Restore) == 0 {
		holds = base.SwapsHold(m.Cells)
	} else {
		holds = base.Hold(m)
	}
	if failed == nil && !holds {
		failed = memory.ErrConflict
	}
	return failed
}
