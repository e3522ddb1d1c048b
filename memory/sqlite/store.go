package sqlite

import (
	"context"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

var (
	_ driver.Versioned   = (*Store)(nil)
	_ driver.EventKeeper = (*Store)(nil)
	_ driver.Scheduler   = (*Store)(nil)
	_ driver.Tenants     = (*Store)(nil)
	_ driver.Changes     = (*Store)(nil)
	_ driver.Describer   = (*Store)(nil)
)

// shared has the methods that are the same over any SQL database.
type shared = sqlstore.Store

// Store is the memory in a database: a [driver.Adapter] that offers everything a
// store can offer. It has no state of its own.
type Store struct {
	*shared
	db *DB
}

// Memory returns the memory in the database.
func (db *DB) Memory() *Store { return &Store{sqlstore.New(&db.dialect), db} }

// dialectOf returns how memory is kept in a database, but for its incarnation.
func dialectOf(db *DB) sqlstore.Dialect {
	return sqlstore.Dialect{
		Read: func(ctx context.Context, _ string, queries func() []sqlstore.Query) error {
			for _, q := range queries() {
				if err := db.reads(ctx)(q.Row, q.Text, q.Args...); err != nil {
					return err
				}
			}
			return nil
		},
		Commit:  db.apply,
		Name:    func(s string) any { return s },
		Names:   func(list []string) any { return hexList(list) },
		Damaged: func(cause error) error { return fail(damaged, cause) },

		Version:   getVersion,
		Available: isAvailable,
		Intact:    isIntact,
		Changes:   `SELECT journal FROM versions WHERE tenant = ? AND version > ? AND version <= ?`,
		Lookup:    lookup,
		NextScope: nextScope,
		List:      listOf,
		Entries:   func() func(sqlstore.Row) (driver.Entry, error) { return newScanner().read },
		Records: func(tenant string) func(sqlstore.Row) (driver.Record, error) {
			scan := rowScanner(tenant)
			return func(rows sqlstore.Row) (driver.Record, error) {
				r, err := scan(rows)
				return r.Record, err
			}
		},
		History: sqlstore.History{OfTenant: historyOfTenant, OfRef: historyOfRef, OfSuccessors: historyOfSuccessors, OfSubject: historyOfSubject},
		Documents: sqlstore.Documents{
			Page: documentPage, Parameter: `?`, KindInGroup: `d.kind`, Due: dueDocuments, Value: unsummed,
			Of: ``, OfTenant: `d.tenant = ?1`,
			// The label leads: the sign keeps the tenant's other documents from being read.
			OfLabel: ``, OfTenantAndLabel: `+d.tenant = ?1 AND d.rev IN (SELECT rev FROM document_labels WHERE label = ?2)`,
		},
		Events: sqlstore.Events{Waiting: waitingEvents, WaitingOfRun: waitingOfRun, Count: countAll, CountOfTenant: countWaiting, Kept: keptEvents},
	}
}

const (
	getVersion = `SELECT version, mark FROM versions WHERE tenant = ? ORDER BY version DESC LIMIT 1`

	// isAvailable: version 0 has no row, and is there until a purge has passed it.
	isAvailable = `SELECT CASE WHEN ?4 THEN ifnull((SELECT version = 1 AND journal IS NOT NULL FROM versions WHERE tenant = ?1 ORDER BY version LIMIT 1), 1)
		ELSE EXISTS (SELECT 1 FROM versions WHERE tenant = ?1 AND version = ?2 AND mark = ?3) END`

	// isIntact looks at the spans that end behind a version.
	isIntact = `SELECT NOT EXISTS (SELECT 1 FROM erased_spans WHERE tenant = ?1 AND ref = ?2 AND until > ?3 AND since <= ?3)`
)
