package sqlite

import (
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
	erase := func(st *Store, id string) (note string) {
		_, err := st.Apply(t.Context(), here.Tenant, driver.Mutation{At: then, Erase: []driver.Located{{Scope: here, ID: id}}})
		require.NoError(t, err)
		note, err = db.writer.lastErasure()
		require.NoError(t, err)
		require.NotEmpty(t, note)
		return note
	}
	first := erase(st, "a")
	last := erase(other.Memory(), "b")
	require.NoError(t, db.writer.forgetErasure(first))
	note, err := db.writer.lastErasure()
	require.NoError(t, err)
	require.Equal(t, last, note)
	require.NoError(t, reader.Rollback())
}
