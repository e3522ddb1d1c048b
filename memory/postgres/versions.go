package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// Version returns the version that the tenant's memory has now (M7).
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	const latest = `
		SELECT version, mark FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1`
	var n int64
	mark := driver.FirstMark(st.db.incarnation, tenant)
	err := st.db.query(ctx, tenantSetting(tenant), eachRow(func(row pgx.Row) error { return row.Scan(&n, (*markBytes)(&mark)) }), latest, []byte(tenant))
	if err != nil {
		return "", err
	}
	return mark.Version(uint64(n)), nil
}

// markBytes is a mark that is read as BYTEA. NULL leaves it as it was.
type markBytes driver.Mark

// ScanBytes implements pgtype.BytesScanner.
func (m *markBytes) ScanBytes(v []byte) error {
	copy(m[:], v)
	return nil
}

// look queues the statement that tells whether a version can be read.
func (db *DB) look(b *pgx.Batch, tenant string, v driver.Version, available *bool) {
	const look = `
		SELECT $2 >= COALESCE((SELECT horizon FROM agentmemory.tenants WHERE tenant = $1), 0) AND ($4 OR EXISTS (
			SELECT FROM agentmemory.versions WHERE tenant = $1 AND version = $2 AND mark = $3))`
	n, mark, _ := v.Parse()
	first := n == 0 && mark == driver.FirstMark(db.incarnation, tenant)
	b.Queue(look, []byte(tenant), int64(n), mark[:], first).QueryRow(func(row pgx.Row) error { return row.Scan(available) })
}

// readAt runs statements about versions. Whether they are available is looked at behind
// them: the horizon only grows, so what was read was whole.
func (db *DB) readAt(ctx context.Context, tenant string, build func(b *pgx.Batch, numbers []int64), versions ...driver.Version) error {
	numbers, available := make([]int64, len(versions)), make([]bool, len(versions))
	for i, v := range versions {
		n, _, err := v.Parse()
		if err != nil {
			return err
		}
		numbers[i] = int64(n)
	}
	err := db.read(ctx, tenantSetting(tenant), func(b *pgx.Batch) {
		build(b, numbers)
		for i, v := range versions {
			db.look(b, tenant, v, &available[i])
		}
	})
	if err == nil && slices.Contains(available, false) {
		err = driver.ErrSnapshotUnavailable
	}
	return err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	const look = `
		SELECT NOT EXISTS (SELECT FROM agentmemory.erased_spans WHERE tenant = $1 AND ref = $2 AND died > $3 AND born <= $3)`
	intact := false
	err := st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch, at []int64) {
		b.Queue(look, []byte(s.Tenant), keyOf(s.Ref), at[0]).QueryRow(func(row pgx.Row) error { return row.Scan(&intact) })
	}, v)
	return intact && err == nil, err
}

// Changes returns the ids of the scope that were touched between two versions. Its cost
// grows with the mutations of the tenant between them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	const read = `
		SELECT changes FROM agentmemory.versions WHERE tenant = $1 AND version > $2 AND version <= $3`
	var journals [][]byte
	err := st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch, at []int64) {
		b.Queue(read, []byte(s.Tenant), at[0], at[1]).
			Query(rowsInto(&journals, func(row pgx.Row, data *[]byte) error { return row.Scan(data) }))
	}, from, to)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	return driver.ReadJournals(func(yield func([]byte, error) bool) {
		for i := 0; i < len(journals) && yield(journals[i], nil); i++ {
		}
	}, s.Ref)
}
