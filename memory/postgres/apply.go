package postgres

import (
	"context"
	"errors"
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
	var j journal
	j.add(wasRetired, s.Ref, id)
	mark := driver.NewMark()
	deleted := false
	err := st.db.write(ctx, tenantSetting(s.Tenant), unsent, func(b *pgx.Batch) {
		b.Queue(lockTenant, []byte(s.Tenant))
		b.Queue(retire, []byte(s.Tenant), keyOf(s.Ref), []byte(id), at.UnixMilli(), int16(driver.Deleted), mark[:], j.data).
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
	var err error
	if w.m.Log {
		w.docs, err = runEvents(w.m.Events)
	} else {
		w.docs, err = payloads(w.m.Events)
	}
	if err != nil {
		return driver.Applied{}, err
	}
	w.db, w.machinery, w.mark = db, w.m.Unversioned(), driver.NewMark()
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
	case w.machinery && len(w.m.Documents) == 1:
		return w.swapAlone(ctx, allows)
	case onlyAdds(w.m):
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

// onlyAdds reports whether m has no condition but that its ids are new, so that it can
// be committed without reading what is there.
func onlyAdds(m *driver.Mutation) bool {
	return len(m.Live)+len(m.MergedInto)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Documents) == 0 && m.Limits == (driver.Limits{})
}

// writes is a mutation on its way into the tables.
type writes struct {
	db        *DB
	tenant    string
	m         *driver.Mutation
	lone      bool          // it is a Put, which makes no version if the entry is there
	machinery bool          // it changes nothing else
	mark      driver.Mark   // of the version that it makes, if it makes one
	used      driver.Limits // before; known if the mutation has limits
	entries   map[entryName]*storedEntry
	retired   map[entryName][]string // by the entry that they were merged into
	documents map[documentName]storedDocument
	docs      []string // of the events that are to be logged, or the payloads of those that are to wait
	done      driver.Applied
}

// entryName names an entry within a tenant.
type entryName struct{ ref, id string }

// storedEntry is an entry as a mutation meets it.
type storedEntry struct {
	driver.Held
	born, died int64
}

// add commits a mutation that only adds, in one round trip.
func (w *writes) add(ctx context.Context, allows func(error) bool) error {
	return w.db.write(ctx, tenantSetting(w.tenant), allows, func(b *pgx.Batch) {
		b.Queue(takeTenant, []byte(w.tenant))
		w.addVersion(b, w.m.Put, usageOf(w.m.Put))
		w.insert(b, w.m.Put, "")
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

// addVersion queues the next version with its mark, what it touches, of which fresh are the
// entries that are put, and by how much what the tenant has grows.
func (w *writes) addVersion(b *pgx.Batch, fresh []driver.Placed, growth driver.Limits) {
	const note = `
		INSERT INTO agentmemory.versions AS made (tenant, version, mark, changes, entries, bytes)
		SELECT t.tenant, COALESCE(v.version, 0) + 1, $2, $3, COALESCE(v.entries, 0) + $4, COALESCE(v.bytes, 0) + $5
		FROM agentmemory.tenants t LEFT JOIN LATERAL (
			SELECT version, entries, bytes FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1) v ON true
		WHERE t.tenant = $1 RETURNING made.version`
	b.Queue(note, []byte(w.tenant), w.mark[:], w.journal(fresh), growth.Entries, growth.Bytes).QueryRow(func(row pgx.Row) error {
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
	w.retired = map[entryName][]string{}
	w.entries, w.documents = map[entryName]*storedEntry{}, map[documentName]storedDocument{}
	w.done = driver.Applied{Revs: make([]int64, len(w.m.Documents))}
	b := new(pgx.Batch)
	b.Queue(begin)
	w.db.checkSchema(b)
	w.db.prelude(b, tenantSetting(w.tenant))
	if !w.machinery {
		w.stage(b)
		b.Queue(takeTenant, []byte(w.tenant))
	}
	w.loadEntries(b)
	w.loadRetired(b)
	w.loadDocuments(b)
	w.loadUsage(b)
	if err := raw.SendBatch(w.db.withoutCancelIfPooled(ctx), b).Close(); err != nil {
		rollback(ctx, raw)
		return retryable(err)
	}
	if err := w.state().Check(w.m); err != nil {
		rollback(ctx, raw)
		return err
	}
	if w.lone && len(w.fresh()) == 0 {
		rollback(ctx, raw)
		return nil
	}
	b = new(pgx.Batch)
	w.queueAll(b)
	b.Queue(commit)
	err := w.db.awaitOutcome(ctx, conn, func(ctx context.Context, conn *pgx.Conn) error { return conn.SendBatch(ctx, b).Close() })
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

// loadRetired queues what finds the entries that were merged into those that the mutation names.
func (w *writes) loadRetired(b *pgx.Batch) {
	if len(w.m.MergedInto) == 0 {
		return
	}
	var successors []entryName
	var refs, ids [][]byte
	for h := range w.m.MergedInto {
		successors, refs, ids = append(successors, entryName{h.Ref, h.ID}), append(refs, keyOf(h.Ref)), append(ids, []byte(h.ID))
	}
	const load = `
		SELECT h.number, e.id FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS h (ref, id, number), LATERAL (
			SELECT e.id FROM agentmemory.entries e
			WHERE e.tenant = $1 AND e.ref = h.ref AND sha256(e.heir) = sha256(h.id) AND e.heir = h.id OFFSET 0) e`
	b.Queue(load, []byte(w.tenant), refs, ids).Query(func(rows pgx.Rows) error {
		var number int64
		var id name
		_, err := pgx.ForEachRow(rows, []any{&number, &id}, func() error {
			successor := successors[number-1]
			w.retired[successor] = append(w.retired[successor], string(id))
			return nil
		})
		return err
	})
}

// loadUsage queues what the limits of the mutation are held against.
func (w *writes) loadUsage(b *pgx.Batch) {
	if w.m.Limits == (driver.Limits{}) || w.machinery {
		return
	}
	const load = `
		SELECT v.entries, v.bytes, (SELECT count(*) FROM (SELECT 1 FROM agentmemory.outbox WHERE tenant = $1 LIMIT $2) x)
		FROM ` + newestVersion + ` v`
	b.Queue(load, []byte(w.tenant), max(0, w.m.Limits.Waiting)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&w.used.Entries, &w.used.Bytes, &w.used.Waiting)
	})
}

// state gives Check read access to what was loaded before the mutation.
func (w *writes) state() driver.Base {
	return driver.Base{
		Held: func(ref, id string) driver.Held {
			if h := w.entries[entryName{ref, id}]; h != nil {
				return h.Held
			}
			return driver.Held{}
		},
		Document: func(ref, kind, key string) (int64, driver.Class) {
			d := w.documents[documentName{ref, kind, key}]
			return d.rev, d.class
		},
		Retired: func(ref, id string) []string { return w.retired[entryName{ref, id}] },
		Used:    w.used,
	}
}

// named are the entries that the mutation names.
func (w *writes) named() (refs, ids [][]byte) {
	seen := map[entryName]bool{}
	name := func(ref, id string) {
		if p := (entryName{ref, id}); id != "" && !seen[p] {
			seen[p] = true
			refs, ids = append(refs, keyOf(ref)), append(ids, []byte(id))
		}
	}
	for _, ls := range [][]driver.Located{w.m.Live, w.m.Restore, w.m.Erase} {
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
	for i := range w.m.Documents {
		for _, id := range w.m.Documents[i].Of {
			name(w.m.Documents[i].Ref, id)
		}
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
		FROM unnest($2::bytea[], $3::bytea[]) AS n (ref, id), LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = n.ref AND e.id = n.id OFFSET 0) e`
	b.Queue(load, []byte(w.tenant), refs, ids).Query(eachRow(func(row pgx.Row) error {
		h := &storedEntry{Held: driver.Held{Entry: new(driver.Entry)}}
		var ref name
		var state int16
		err := scanEntry(row, h.Entry, &ref, &h.born, &h.died, &state, &h.Erased)
		h.State = driver.State(state)
		w.entries[entryName{string(ref), h.Entry.ID}] = h
		return err
	}))
}
