package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
)

// Put inserts e if the scope has no entry of that id. It is repeated if the
// connection is lost, so that its outcome is known unless the database stays away.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	_, err := st.db.apply(ctx, &writes{tenant: s.Tenant, m: &driver.Mutation{Put: []driver.Placed{{Scope: s, Entry: e}}}, lone: true}, idempotent)
	return err
}

// Delete ends the life of an entry and reports whether it was live at the instant
// at. If it was not, nothing changes.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	const retire = `
		WITH hit AS (
			SELECT octet_length(content) AS size FROM agentmemory.entries
			WHERE tenant = $1 AND ref = $2 AND id = $3 AND died >= 9223372036854775807 AND NOT erased AND expires_at > $4
		), noted AS (
			INSERT INTO agentmemory.versions AS made (tenant, version, mark, changes, entries, bytes)
			SELECT $1, v.version + 1, $6, $7, v.entries - 1, v.bytes - hit.size FROM hit, ` + newestVersion + ` v RETURNING made.version
		)
		UPDATE agentmemory.entries e SET died = noted.version, state = $5 FROM noted
		WHERE e.tenant = $1 AND e.ref = $2 AND e.id = $3`
	plan := driver.Plan{Retire: []driver.Retirement{{Located: driver.Located{Scope: s, ID: id}, State: driver.Deleted}}}
	mark := driver.NewMark()
	deleted := false
	err := st.db.write(ctx, tenantSetting(s.Tenant), unsent, func(b *pgx.Batch) {
		b.Queue(lockTenant, []byte(s.Tenant))
		b.Queue(retire, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli(), int16(driver.Deleted), mark[:], plan.Journal()).
			Exec(func(tag pgconn.CommandTag) error {
				deleted = tag.RowsAffected() > 0
				return nil
			})
	})
	return err == nil && deleted, err
}

// Apply commits m or returns [driver.ErrConflict], or [driver.ErrValidation] for a
// mutation that could never be committed; in both cases nothing happened. If the
// connection is lost while it commits the error is [ErrOutcomeUnknown].
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	return st.db.apply(ctx, &writes{tenant: tenant, m: &m}, unsent)
}

func (db *DB) apply(ctx context.Context, w *writes, allows func(error) bool) (driver.Applied, error) {
	if err := ctx.Err(); err != nil {
		return driver.Applied{}, err
	}
	if err := w.m.Validate(w.tenant); err != nil {
		return driver.Applied{}, err
	}
	if !storable(w.m) {
		return driver.Applied{}, driver.ErrValidation.With("the content or a tag of an entry is not UTF-8 or has U+0000, which PostgreSQL cannot hold", nil)
	}
	payloads, err := payloadsOf(w.m.Events)
	if err != nil {
		return driver.Applied{}, err
	}
	w.db, w.payloads, w.mark = db, payloads, driver.NewMark()
	err = w.commit(ctx, allows)
	if err != nil {
		return driver.Applied{}, err
	}
	return w.done, nil
}

// storable reports whether the tables can hold what m puts: text must be UTF-8 without
// U+0000.
func storable(m *driver.Mutation) bool {
	ok := true
	for i := range m.Put {
		ok = ok && isText(m.Put[i].Entry.Content) && !slices.ContainsFunc(m.Put[i].Entry.Tags, isNoText)
	}
	return ok
}

// commit commits the mutation by the shortest way that there is for it.
func (w *writes) commit(ctx context.Context, allows func(error) bool) error {
	switch {
	case w.m.Unversioned() && len(w.m.Events) > 0:
		// A snapshot from before the lock of a run, as some isolation levels have, meets a
		// sequence that is taken meanwhile. What is kept already is not kept again.
		allows := func(err error) bool { return idempotent(err) || codeOf(err) == uniqueViolation }
		return w.db.write(ctx, tenantSetting(w.tenant), allows, w.queueEvents)
	case w.m.Unversioned() && len(w.m.Documents) == 1:
		return w.swapAlone(ctx, allows)
	case w.m.OnlyPuts():
		err := w.add(ctx, allows)
		if codeOf(err) != uniqueViolation {
			return err
		}
		// One of the ids is there. The long way tells whether by the same entry.
	}
	return repeat(ctx, allows, func() error {
		return w.db.withPoolConn(ctx, func(conn *pgxpool.Conn) error { return w.transact(ctx, conn, allows) })
	})
}

// writes is a mutation on its way into the tables.
type writes struct {
	db       *DB
	tenant   string
	m        *driver.Mutation
	lone     bool        // it is a Put, which makes no version if the entry is there
	mark     driver.Mark // of the version that it makes, if it makes one
	stored   driver.Stored
	plan     driver.Plan
	payloads []string // of its events
	done     driver.Applied
}

// add commits a mutation that only adds, in one round trip.
func (w *writes) add(ctx context.Context, allows func(error) bool) error {
	var err error
	if w.plan, err = new(driver.Stored).Plan(w.m); err != nil {
		return err
	}
	return w.db.write(ctx, tenantSetting(w.tenant), allows, func(b *pgx.Batch) {
		b.Queue(takeTenant, []byte(w.tenant))
		w.addVersion(b)
		w.insert(b, "")
		w.queueEvents(b)
	})
}

// takeTenant takes the row of the tenant, which the transaction holds until it ends, and
// makes it if there is none. Every transaction that changes more than machinery does so
// first, so that versions are committed in their order. What is there is only locked.
const takeTenant = `
	INSERT INTO agentmemory.tenants AS t (tenant) VALUES ($1)
	ON CONFLICT (tenant) DO UPDATE SET horizon = t.horizon WHERE false`

// current is the version that the transaction has made or, before that, the one it met.
const current = `COALESCE((SELECT max(version) FROM agentmemory.versions WHERE tenant = $1), 0)`

// newestVersion is the newest version of the tenant $1 with what its entries come to, all 0
// before the first.
const newestVersion = `(
	(SELECT version, entries, bytes FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1)
	UNION ALL SELECT 0, 0, 0 LIMIT 1)`

// addVersion queues the next version with its mark, what it touches, and by how much what the
// tenant has grows.
func (w *writes) addVersion(b *pgx.Batch) {
	const note = `
		INSERT INTO agentmemory.versions AS made (tenant, version, mark, changes, entries, bytes)
		SELECT t.tenant, COALESCE(v.version, 0) + 1, $2, $3, COALESCE(v.entries, 0) + $4, COALESCE(v.bytes, 0) + $5
		FROM agentmemory.tenants t LEFT JOIN LATERAL (
			SELECT version, entries, bytes FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1) v ON true
		WHERE t.tenant = $1 RETURNING made.version`
	b.Queue(note, []byte(w.tenant), w.mark[:], w.plan.Journal(), w.plan.Grows.Entries, w.plan.Grows.Bytes).QueryRow(func(row pgx.Row) error {
		var n int64
		err := row.Scan(&n)
		w.done.Version = w.mark.Version(uint64(n))
		return err
	})
}

// transact commits any mutation, in two round trips: one that takes the tenant's row and
// the documents and reads what the mutation names, and one that writes and commits.
func (w *writes) transact(ctx context.Context, conn *pgxpool.Conn, allows func(error) bool) error {
	raw := conn.Conn()
	w.stored = w.m.Needs()
	w.done = driver.Applied{Revs: make([]int64, len(w.m.Documents))}
	b := new(pgx.Batch)
	b.Queue(begin)
	w.db.checkSchema(b)
	w.db.prelude(b, tenantSetting(w.tenant))
	if !w.m.Unversioned() {
		w.stage(b)
		b.Queue(takeTenant, []byte(w.tenant))
	}
	w.loadEntries(b)
	w.loadMergedInto(b)
	w.loadDocuments(b)
	w.loadUsage(b)
	if err := raw.SendBatch(w.db.withoutCancelIfPooled(ctx), b).Close(); err != nil {
		rollback(ctx, raw)
		return retryable(err)
	}
	var err error
	if w.plan, err = w.stored.Plan(w.m); err != nil || w.lone && w.plan.Empty() {
		rollback(ctx, raw)
		return err
	}
	b = new(pgx.Batch)
	w.queueAll(b)
	b.Queue(commit)
	err = w.db.awaitOutcome(ctx, conn, func(ctx context.Context, conn *pgx.Conn) error { return conn.SendBatch(ctx, b).Close() })
	switch {
	case w.db.outcomeUnknown(err):
		if !errors.Is(err, ErrOutcomeUnknown) {
			_ = raw.Close(ctx)
		}
		if !allows(err) {
			return ErrOutcomeUnknown.With("", err)
		}
	case err != nil:
		rollback(ctx, raw)
		if codeOf(err) == uniqueViolation {
			return driver.ErrConflict // another caller made the machinery
		}
	}
	return err
}

// rollback ends a transaction that is not to be committed. A connection on which that does not
// succeed in time is not used again, which ends it as well.
func rollback(ctx context.Context, conn *pgx.Conn) {
	brief, end := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer end()
	if _, err := conn.Exec(brief, `ROLLBACK`); err != nil {
		_ = conn.Close(brief)
	}
}

// loadMergedInto queues what finds the entries that were merged into those that the mutation
// names.
func (w *writes) loadMergedInto(b *pgx.Batch) {
	if len(w.stored.MergedInto) == 0 {
		return
	}
	named := slices.Collect(maps.Keys(w.stored.MergedInto))
	refs, ids := namesOf(named)
	const load = `
		SELECT h.number, e.id FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS h (ref, id, number), LATERAL (
			SELECT e.id FROM agentmemory.entries e
			WHERE e.tenant = $1 AND e.ref = h.ref AND sha256(e.successor) = sha256(h.id) AND e.successor = h.id OFFSET 0) e`
	b.Queue(load, []byte(w.tenant), refs, ids).Query(eachRow(func(row pgx.Row) error {
		var number int64
		var id name
		err := row.Scan(&number, &id)
		if err == nil {
			into := named[number-1]
			w.stored.MergedInto[into] = append(w.stored.MergedInto[into], string(id))
		}
		return err
	}))
}

// namesOf are the keys of the refs of entries, and their ids.
func namesOf(entries []driver.Located) (refs, ids [][]byte) {
	for _, l := range entries {
		refs, ids = append(refs, keyOf(l.Ref)), append(ids, []byte(l.ID))
	}
	return refs, ids
}

// loadUsage queues what the limits of the mutation are held against.
func (w *writes) loadUsage(b *pgx.Batch) {
	if w.m.Limits == (driver.Limits{}) || w.m.Unversioned() {
		return
	}
	const load = `
		SELECT v.entries, v.bytes, (SELECT count(*) FROM (
			SELECT 1 FROM agentmemory.events WHERE tenant = $1 AND sequence IS NULL LIMIT $2) x)
		FROM ` + newestVersion + ` v`
	used := &w.stored.Used
	b.Queue(load, []byte(w.tenant), max(0, w.m.Limits.Waiting)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&used.Entries, &used.Bytes, &used.Waiting)
	})
}

// loadEntries queues what reads the entries that the mutation names.
func (w *writes) loadEntries(b *pgx.Batch) {
	if len(w.stored.Entries) == 0 {
		return
	}
	refs, ids := namesOf(slices.Collect(maps.Keys(w.stored.Entries)))
	clear(w.stored.Entries)
	const load = `
		SELECT ` + recordColumns + `
		FROM unnest($2::bytea[], $3::bytea[]) AS n (ref, id), LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = n.ref AND e.id = n.id OFFSET 0) e`
	b.Queue(load, []byte(w.tenant), refs, ids).Query(eachRow(func(row pgx.Row) error {
		var r driver.Record
		err := scanRecord(row, w.tenant, &r)
		w.stored.Entries[driver.Located{Scope: r.Scope, ID: r.Entry.ID}] = r
		return err
	}))
}
