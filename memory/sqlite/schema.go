package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed" // the schema
	"fmt"
)

//go:embed migrations/0001.sql
var firstSchema string

// migrations are the scripts that make the schema, in their order. A database knows how many
// of them it has had by its user_version. One that was released is never changed.
var migrations = []string{firstSchema}

// applicationID tells our files from other databases.
const applicationID = 0x41674d65

// migrate brings the schema up to date, and learns the incarnation and what is to be emptied.
func (db *DB) migrate(ctx context.Context) error {
	w := &db.writer
	if err := w.connect(ctx); err != nil {
		return err
	}
	version, err := schemaVersion(w.conn)
	if err == nil && version < len(migrations) {
		err = w.run(ctx, &call{do: (*tx).upgrade}, alone)
	}
	if err != nil {
		return err
	}
	// What a process that was killed has left in the log is unclean, whether there is a note or not.
	err = w.conn.QueryRowContext(background, `SELECT value, ifnull((SELECT value FROM meta WHERE key = 'unclean'), 'unknown')
		FROM meta WHERE key = 'incarnation'`).Scan(&db.dialect.Incarnation, &w.unclean)
	return wrap(openFailed, err)
}

// schemaVersion returns how many migrations a database of ours has had: none if it is
// empty.
func schemaVersion(c *sql.Conn) (int, error) {
	var version, application, objects int
	err := c.QueryRowContext(background, `SELECT v.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version v, pragma_application_id a`).Scan(&version, &application, &objects)
	switch {
	case noDatabase(err):
		return 0, ErrForeignFile
	case err != nil:
		return 0, wrap(openFailed, err)
	case version < 0, application != applicationID && (application != 0 || version != 0 || objects != 0):
		return 0, ErrForeignFile
	case version > len(migrations):
		return 0, ErrNewerSchema
	}
	return version, nil
}

// upgrade runs in a transaction, so that of several processes one does the work.
func (t *tx) upgrade() error {
	c := t.w.conn
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	for _, script := range migrations[version:] {
		if _, err := c.ExecContext(background, script); err != nil {
			return wrap(openFailed, err)
		}
	}
	// The version is in a table too, where a transaction finds it at no cost.
	_, err = c.ExecContext(background, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %[2]d;
		INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', %[2]d);
		INSERT INTO meta (key, value) VALUES ('incarnation', ?) ON CONFLICT DO NOTHING`, applicationID, len(migrations)), rand.Text())
	return wrap(openFailed, err)
}
