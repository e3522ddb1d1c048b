package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// Put inserts e if the scope has no entry of that id. It is repeated if the
// connection is lost, so that its outcome is known unless the database stays away.
func (st *Store) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
	_, err := st.db.apply(ctx, s.Tenant, &memory.Mutation{Put: []memory.Placed{{Scope: s, Entry: e}}}, idempotent)
	return err
}

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	const retire = `
		WITH hit AS (
			SELECT FROM agentmemory.entries
			WHERE tenant = $1 AND ref = $2 AND id = $3 AND died = 9223372036854775807 AND NOT erased AND expires_at > $4
		), t AS (
			UPDATE agentmemory.tenants SET version = version + 1
			WHERE tenant = $1 AND EXISTS (SELECT FROM hit) RETURNING version
		)
		UPDATE agentmemory.entries e SET died = t.version, state = $5 FROM t
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3 AND e.died = 9223372036854775807 AND NOT e.erased AND e.expires_at > $4`
	deleted := false
	err := st.db.write(ctx, tenantSetting(s.Tenant), unsent, func(b *pgx.Batch) {
		b.Queue(retire, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli(), int16(memory.Deleted)).Exec(affects(&deleted))
	})
	return deleted && err == nil, err
}

// Apply commits m or returns [memory.ErrConflict], or [memory.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened. If the
// connection is lost while it commits the error is [ErrOutcomeUnknown].
func (st *Store) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	return st.db.apply(ctx, tenant, &m, unsent)
}

func (db *DB) apply(ctx context.Context, tenant string, m *memory.Mutation, allows func(error) bool) (memory.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !storerules.WellFormed(tenant, m) || !valid(tenant, m) {
		return "", memory.ErrValidation
	}
	w := &writes{db: db, tenant: tenant, m: m}
	if onlyAdds(m) {
		err := w.add(ctx, allows)
		if codeOf(err) != uniqueViolation {
			return w.version, err
		}
		// One of the ids is there. The long way tells whether by the same entry.
	}
	err := repeat(ctx, allows, func() error {
		conn, err := db.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return w.transact(ctx, conn, allows)
	})
	return w.version, err
}

// valid reports whether the tables can hold what m puts and queues.
func valid(tenant string, m *memory.Mutation) bool {
	ok := len(tenant) <= maxTenant
	for i := range m.Put {
		ok = ok && storable(m.Put[i].Scope, &m.Put[i].Entry)
	}
	for _, c := range m.Cells {
		ok = ok && fits(c.Scope)
	}
	for i := range m.Events {
		ok = ok && m.Events[i].Payload != nil
	}
	return ok
}

// onlyAdds reports whether m has no condition but that its ids are new, so that it can
// be committed without a look at what is there.
func onlyAdds(m *memory.Mutation) bool {
	return len(m.Live)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Cells) == 0
}

// writes is a mutation on its way into the tables.
type writes struct {
	db      *DB
	tenant  string
	m       *memory.Mutation
	held    map[place]*heldEntry
	cells   map[place][]byte
	version memory.Version // that the mutation makes
}

// place names an entry or a cell within a tenant.
type place struct{ ref, id string }

// heldEntry is an entry as a mutation meets it.
type heldEntry struct {
	storerules.Held
	born, died int64
}

// add commits a mutation that only adds, in one round trip.
func (w *writes) add(ctx context.Context, allows func(error) bool) error {
	return w.db.write(ctx, tenantSetting(w.tenant), allows, func(b *pgx.Batch) {
		w.bump(b)
		w.insert(b, w.m.Put, "")
		w.queueEvents(b)
	})
}

// bump takes the row of the tenant, which the transaction holds until it ends, and
// makes the next version. Every transaction that changes entries begins with it, so
// that versions are committed in their order.
func (w *writes) bump(b *pgx.Batch) {
	const bump = `
		INSERT INTO agentmemory.tenants AS t (tenant, version) VALUES ($1, 1)
		ON CONFLICT (tenant) DO UPDATE SET version = t.version + 1
		RETURNING version, (SELECT incarnation FROM agentmemory.meta)`
	b.Queue(bump, []byte(w.tenant)).QueryRow(func(row pgx.Row) error {
		var n int64
		var incarnation string
		if err := row.Scan(&n, &incarnation); err != nil {
			return err
		}
		w.version = storerules.MarkOf(incarnation, w.tenant).Version(uint64(n))
		return nil
	})
}

// transact commits any mutation, in two round trips: one that takes the tenant's row
// and reads what the mutation names, and one that writes and commits.
func (w *writes) transact(ctx context.Context, conn *pgxpool.Conn, allows func(error) bool) error {
	w.held, w.cells = map[place]*heldEntry{}, map[place][]byte{}
	b := new(pgx.Batch)
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	w.db.prelude(b, tenantSetting(w.tenant))
	w.bump(b)
	w.loadEntries(b)
	w.loadCells(b)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		undo(ctx, conn)
		return again(err)
	}
	if !w.hold() {
		undo(ctx, conn)
		return memory.ErrConflict
	}
	b = new(pgx.Batch)
	w.queueAll(b)
	b.Queue(`COMMIT`)
	err := settle(ctx, conn, func(ctx context.Context) error { return conn.SendBatch(ctx, b).Close() })
	if open(err) {
		_ = conn.Conn().Close(ctx)
		if !allows(err) {
			return unknown(err)
		}
	} else if err != nil {
		undo(ctx, conn)
	}
	return err
}

// undo ends a transaction that is not to be committed. A connection on which that
// fails is not used again, which ends it as well.
func undo(ctx context.Context, conn *pgxpool.Conn) {
	if _, err := conn.Exec(context.WithoutCancel(ctx), `ROLLBACK`); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}

// early is an error before anything was written, which therefore can be repeated if it
// may pass.
type early struct{ error }

func (e early) Unwrap() error     { return e.error }
func (e early) SafeToRetry() bool { return true }

func again(err error) error {
	if idempotent(err) {
		return early{err}
	}
	return err
}

// hold reports whether every condition of the mutation does.
func (w *writes) hold() bool {
	base := storerules.Base{
		Held: func(ref, id string) storerules.Held {
			if h := w.held[place{ref, id}]; h != nil {
				return h.Held
			}
			return storerules.Held{}
		},
		Cell: func(ref, name string) []byte { return w.cells[place{ref, name}] },
	}
	return base.Hold(w.m)
}

// named are the entries that the mutation names.
func (w *writes) named() (refs, ids [][]byte) {
	seen := map[place]bool{}
	name := func(ref, id string) {
		if p := (place{ref, id}); id != "" && !seen[p] {
			seen[p] = true
			refs, ids = append(refs, keyOf(ref)), append(ids, []byte(id))
		}
	}
	for _, ls := range [][]memory.Located{w.m.Live, w.m.Restore, w.m.Erase} {
		for _, l := range ls {
			name(l.Ref, l.ID)
		}
	}
	for i := range w.m.Put {
		name(w.m.Put[i].Ref, w.m.Put[i].Entry.ID)
	}
	for _, x := range w.m.Retire {
		name(x.Ref, x.ID)
		name(x.Ref, x.For)
	}
	return refs, ids
}

func (w *writes) loadEntries(b *pgx.Batch) {
	refs, ids := w.named()
	if len(ids) == 0 {
		return
	}
	const load = `
		SELECT COALESCE(e.long_ref, e.ref), e.born, e.died, e.state, e.erased, ` + entryColumns + `
		FROM unnest($2::bytea[], $3::bytea[]) AS n (ref, id)
		JOIN agentmemory.entries e ON e.tenant = $1 AND e.ref = n.ref AND e.id = n.id`
	b.Queue(load, []byte(w.tenant), refs, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			h := &heldEntry{Held: storerules.Held{Entry: new(memory.Entry)}}
			var ref name
			var state int16
			if err := scanEntry(rows, h.Entry, &ref, &h.born, &h.died, &state, &h.Erased); err != nil {
				return err
			}
			h.State = memory.State(state)
			w.held[place{string(ref), h.Entry.ID}] = h
		}
		return rows.Err()
	})
}

func (w *writes) loadCells(b *pgx.Batch) {
	for _, c := range w.m.Cells {
		at := place{c.Ref, c.Name}
		b.Queue(selectCell, []byte(w.tenant), keyOf(c.Ref), keyOf(c.Name)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				value := []byte{}
				if err := rows.Scan(&value); err != nil {
					return err
				}
				w.cells[at] = value
			}
			return rows.Err()
		})
	}
}

// affects stores whether a statement changed a row.
func affects(changed *bool) func(tag commandTag) error {
	return func(tag commandTag) error {
		*changed = tag.RowsAffected() > 0
		return nil
	}
}
