package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// What another process has erased while the log was emptied is noted still.
func TestM10_ErasureMeanwhile(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	for _, id := range []string{"a", "b"} {
		require.NoError(t, st.Put(t.Context(), here, driver.Entry{ID: id, Content: "x", CreatedAt: then}))
	}
	other, err := Open(t.Context(), db.writer.path, Options{})
	require.NoError(t, err)
	defer other.Close()
	reader, err := other.readers.BeginTx(t.Context(), nil) // in the way of emptying the log
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow(`SELECT count(*) FROM entries`).Scan(&n))
	noted := func() (note string) {
		require.NoError(t, first(db.reads(t.Context()), []any{&note}, `SELECT value FROM meta WHERE key = 'unclean'`))
		return note
	}
	erase := func(st *Store, id string) (note string) {
		_, err := st.Apply(t.Context(), here.Tenant, driver.Mutation{At: then, Erase: []driver.Located{{Scope: here, ID: id}}})
		require.NoError(t, err)
		return noted()
	}
	require.Equal(t, erase(st, "a"), db.writer.unclean)
	last := erase(other.Memory(), "b")
	db.writer.unclean, db.writer.cleaned = "", db.writer.unclean // as if the reader had been gone for a moment
	require.NoError(t, st.Put(t.Context(), here, driver.Entry{ID: "c", CreatedAt: then}))
	require.Equal(t, last, noted())
	require.Equal(t, last, db.writer.unclean)
	require.NoError(t, reader.Rollback())
}

// A connection that was made while the disk could not be written is read-only for ever. It is left for
// another one.
func TestWritesGoOnWhenTheDiskIsNoLongerReadOnly(t *testing.T) {
	db := openFresh(t)
	put := func(id string) error {
		return db.Memory().Put(t.Context(), here, driver.Entry{ID: id, Content: "x", CreatedAt: then})
	}
	require.NoError(t, put("a"))
	writable := db.writer.dsn
	db.writer.abandonConn()
	require.NoError(t, db.writer.db.Close())
	db.writer.db, db.writer.dsn = nil, strings.Replace(writable, "mode=rw", "mode=ro", 1)
	err := put("b")
	require.ErrorIs(t, err, driver.ErrInternal)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	require.NoError(t, db.writer.db.Close())
	db.writer.db, db.writer.dsn = nil, writable
	require.NoError(t, put("b"))
	entries, err := db.Memory().List(t.Context(), here, driver.Query{At: then})
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
