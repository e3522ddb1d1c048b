package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A process with this variable is a program of the next release, which knows one script more.
const envNextRelease = "AGENTMEMORY_SQLITE_NEXT_RELEASE"

const madeUpScript = `ALTER TABLE versions ADD COLUMN made_up TEXT; CREATE TABLE made_up (n INTEGER) STRICT; INSERT INTO made_up VALUES (1);`

func init() {
	if os.Getenv(envNextRelease) != "" {
		migrations = append(migrations, madeUpScript)
	}
}

// A script that fails leaves the database as it was, and the release that made it goes on.
func TestMigrations_FailedScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	older, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer older.Close()
	defer func(before []string) { migrations = before }(migrations)
	migrations = append(migrations[:len(migrations):len(migrations)], madeUpScript+`SELECT no_such_column FROM versions`)
	_, err = Open(t.Context(), path, Options{})
	require.ErrorIs(t, err, driver.ErrInternal)
	migrations = migrations[:len(migrations)-1]
	require.NoError(t, older.Memory().Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then}))
	var tables, version int
	require.NoError(t, first(older.reads(t.Context()), []any{&tables, &version},
		`SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'made_up'), user_version FROM pragma_user_version`))
	require.Zero(t, tables)
	require.Equal(t, len(migrations), version)
}

// A write says that another release has migrated the database, also if it has made the tables anew.
func TestMigrations_OtherShape(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then}))
	require.NoError(t, db.tx(t.Context(), func(t *tx) error {
		t.exec(`ALTER TABLE versions RENAME COLUMN entries TO number`)
		t.exec(`UPDATE meta SET value = 2 WHERE key = 'schema'`)
		t.exec(`PRAGMA user_version = 2`)
		return nil
	}))
	for _, id := range []string{"a", "b"} {
		require.ErrorIs(t, st.Put(t.Context(), here, driver.Entry{ID: id, CreatedAt: then}), ErrNewerSchema)
	}
}
