package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// Version returns the version that the tenant's memory has now (M7).
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	const latest = `
		SELECT version, mark FROM agentmemory.versions WHERE tenant = $1 ORDER BY version DESC LIMIT 1`
	var n int64
	mark := driver.FirstMark(st.db.incarnation, tenant)
	err := st.db.query(ctx, tenant, eachRow(func(row pgx.Row) error { return row.Scan(&n, (*markBytes)(&mark)) }), latest, []byte(tenant))
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

// availability is what tells whether a version can be read.
type availability struct {
	version driver.Version
	n       int64
	mark    driver.Mark // that the tenant has for the number
	horizon int64
}

// availabilityOf takes a version apart.
func availabilityOf(v driver.Version) (*availability, error) {
	n, _, err := v.Parse()
	return &availability{version: v, n: int64(n)}, err
}

// queue queues the statement that reads the horizon and the mark.
func (a *availability) queue(b *pgx.Batch, db *DB, tenant string) {
	const look = `
		SELECT COALESCE(t.horizon, 0), v.mark FROM (SELECT) AS one
		LEFT JOIN agentmemory.tenants t ON t.tenant = $1
		LEFT JOIN agentmemory.versions v ON v.tenant = $1 AND v.version = $2`
	a.mark = driver.Mark{}
	if a.n == 0 {
		a.mark = driver.FirstMark(db.incarnation, tenant)
	}
	b.Queue(look, []byte(tenant), a.n).QueryRow(func(row pgx.Row) error {
		return row.Scan(&a.horizon, (*markBytes)(&a.mark))
	})
}

// err is what a read of the version ends with.
func (a *availability) err() error {
	if a.n < a.horizon || a.mark.Version(uint64(a.n)) != a.version {
		return driver.ErrSnapshotUnavailable
	}
	return nil
}

// readAt runs statements about versions. Whether they are available is looked at behind
// them: the horizon only grows, so what was read was whole.
func (db *DB) readAt(ctx context.Context, tenant string, build func(*pgx.Batch), versions ...*availability) error {
	err := db.read(ctx, tenant, func(b *pgx.Batch) {
		build(b)
		for _, a := range versions {
			a.queue(b, db, tenant)
		}
	})
	for _, a := range versions {
		if err == nil {
			err = a.err()
		}
	}
	return err
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	const look = `
		SELECT NOT EXISTS (SELECT FROM agentmemory.erased_spans WHERE tenant = $1 AND ref = $2 AND died > $3 AND born <= $3)`
	at, err := availabilityOf(v)
	if err != nil {
		return false, err
	}
	intact := false
	err = st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(look, []byte(s.Tenant), keyOf(s.Ref), at.n).QueryRow(func(row pgx.Row) error { return row.Scan(&intact) })
	}, at)
	return intact && err == nil, err
}

// Changes returns the ids of the scope that were touched between two versions. Its cost
// grows with the mutations of the tenant between them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	const read = `
		SELECT changes FROM agentmemory.versions WHERE tenant = $1 AND version > $2 AND version <= $3`
	first, err := availabilityOf(from)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	last, err := availabilityOf(to)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	var journals [][]byte
	err = st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(read, []byte(s.Tenant), first.n, last.n).
			Query(rowsInto(&journals, func(row pgx.Row, data *[]byte) error { return row.Scan(data) }))
	}, first, last)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	var changed driver.ChangeSet
	err = changed.Read(func(yield func([]byte, error) bool) {
		for i := 0; i < len(journals) && yield(journals[i], nil); i++ {
		}
	}, s.Ref)
	return changed, err
}
