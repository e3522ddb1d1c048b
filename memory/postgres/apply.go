package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/groupcommit"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// writes is a mutation on its way into the tables.
type writes struct {
	sqlstore.Call
	db *DB
}

// apply commits a mutation by the shortest way that there is for it, and again if an error
// allows that. One that only puts can be repeated if the connection is lost, so that its outcome is
// known unless the database stays away.
func (db *DB) apply(ctx context.Context, tenant string, m *driver.Mutation, onlyPut bool) (driver.Applied, error) {
	if onlyPut { // longer names than a bank has would not fit into an index
		if err := m.Validate(tenant); err != nil {
			return driver.Applied{}, err
		}
	}
	if !storable(m) {
		return driver.Applied{}, driver.ErrValidation.With("the content or a tag of an entry is not UTF-8 or has U+0000, which PostgreSQL cannot hold", nil)
	}
	w := &writes{sqlstore.Call{Ctx: ctx, Tenant: tenant, M: m, IsPut: onlyPut}, db}
	rand.Read(w.Mark[:])
	allows := unsent
	if onlyPut {
		allows = idempotent
	}
	commit := func() error { return db.counters.Do(ctx, w.Tenant, w, w.sizeOf()) }
	switch {
	case !w.M.Unversioned():
	case len(w.M.Events) > 0:
		commit = func() error {
			return db.writeOnce(ctx, tenantSetting(w.Tenant), func(b *pgx.Batch) {
				lockRuns(b, w.M.Events)
				w.queueEvents(b)
			})
		}
		// A snapshot from before the lock of a run, as some isolation levels have, meets a
		// sequence that is taken meanwhile. What is kept already is not kept again.
		allows = func(err error) bool { return idempotent(err) || codeOf(err) == uniqueViolation }
	case len(w.M.Documents) == 1:
		commit = func() error { return w.swapAlone(ctx) }
	default:
		commit = func() error {
			return db.commitGroup(ctx, func() (context.Context, []*writes) { return ctx, []*writes{w} })
		}
	}
	err := repeat(ctx, allows, commit)
	if err == nil {
		err = w.Refused
	}
	if err != nil {
		return driver.Applied{}, err
	}
	return w.Done, nil
}

// storable reports whether the tables can hold what m puts: text must be UTF-8 without
// U+0000.
func storable(m *driver.Mutation) bool {
	return !slices.ContainsFunc(m.Put, func(p driver.Placed) bool {
		return isNoText(p.Entry.Content) || slices.ContainsFunc(p.Entry.Tags, isNoText)
	})
}

// sizeOf is what a mutation takes of a transaction that it shares, in bytes. One that erases or
// restores shares none: the documents and the lineage that this changes are not looked up. Nor does
// one with a value that is staged, which would be committed although the mutation is refused.
func (w *writes) sizeOf() (size int) {
	if len(w.M.Erase)+len(w.M.Restore)+len(w.M.MergedInto)+len(w.InOrder(w.staged)) > 0 {
		return groupcommit.MaxBytes + 1
	}
	for i := range w.M.Put {
		size += len(w.M.Put[i].Entry.Content)
	}
	for i := range w.M.Documents {
		size += len(w.M.Documents[i].Value)
	}
	return size
}

// takeTenant takes the row of the tenant, which the transaction holds until it ends, and
// makes it if there is none. Every transaction that changes more than machinery does so
// first, so that versions are committed in their order. What is there is only locked.
const takeTenant = `
	INSERT INTO agentmemory.tenants AS t (tenant) VALUES ($1)
	ON CONFLICT (tenant) DO UPDATE SET horizon = t.horizon WHERE false`

// current is the version that the transaction has made or, before that, the one it met.
const current = `COALESCE((SELECT max(version) FROM agentmemory.versions WHERE tenant = $1), 0)`

// addVersionSQL is a statement that makes the next version. Its parameters are the tenant and, from $n
// on, the mark, what it touches, and by how much what the tenant has grows.
func addVersionSQL(n int) string {
	return fmt.Sprintf(`
		INSERT INTO agentmemory.versions AS made (tenant, version, mark, changes, entries, bytes)
		SELECT t.tenant, COALESCE(v.version, 0) + 1, $%d, $%d, COALESCE(v.entries, 0) + $%d, COALESCE(v.bytes, 0) + $%d
		FROM agentmemory.tenants t LEFT JOIN LATERAL (
			SELECT version, entries, bytes FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1) v ON true
		WHERE t.tenant = $1 RETURNING made.version`, n, n+1, n+2, n+3)
}

var addVersionAlone = addVersionSQL(2)

// addVersion queues a statement that makes the next version, with its parameters between the tenant and
// those of the version.
func (w *writes) addVersion(b *pgx.Batch, sql string, args ...any) {
	args = append([]any{[]byte(w.Tenant)}, args...)
	b.Queue(sql, append(args, w.Mark[:], w.Plan.Journal(), w.Plan.Grows.Entries, w.Plan.Grows.Bytes)...).QueryRow(func(row pgx.Row) error {
		var n int64
		err := row.Scan(&n)
		w.Done.Version = w.Mark.Version(uint64(n))
		return err
	})
}
