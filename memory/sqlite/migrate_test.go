package sqlite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// A new release brings the schema up to date while processes of the old one and of its own have
// the file open: one of its processes runs the script, once; those of the old one write nothing
// more and read on; and everything that any of them acknowledged is there.
func TestMigrations_NextRelease(t *testing.T) {
	const size = 500
	db, path := fresh(t)
	st := db.Memory()
	older := startLoad(t, path, size, 0, map[string]string{})
	older.until(t, 20)
	t.Setenv("AGENTMEMORY_SQLITE_NEXT_RELEASE", "1")
	var newer []*loading
	for i := range 4 {
		newer = append(newer, startLoad(t, path, size, 1+i, map[string]string{}))
	}
	for _, l := range newer {
		l.until(t, 20)
	}
	for lines := 0; ; lines++ {
		if _, more := <-older.lines; !more {
			break
		}
		require.Less(t, lines, 10_000, "it writes on")
	}
	require.Error(t, older.over())
	require.Contains(t, older.stderr.String(), sqlite.ErrNewerSchema.Error())
	require.ErrorIs(t, st.Put(t.Context(), home, entry("late", "x")), sqlite.ErrNewerSchema)
	_, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: driver.Document{Scope: home, Kind: "k", Key: "k"}}}})
	require.ErrorIs(t, err, sqlite.ErrNewerSchema)
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrNewerSchema)

	gone := map[string]bool{}
	all := append(newer, older)
	for _, l := range newer {
		require.NoError(t, l.stdin.Close())
		require.NoError(t, l.over(), l.stderr.String())
	}
	for _, l := range all {
		for id, word := range l.said {
			gone[id] = gone[id] || word != "put"
		}
	}
	entries, err := st.List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	there := map[string]bool{}
	for _, e := range entries {
		require.True(t, e.Content == valueOf(e.ID, size))
		there[e.ID] = true
	}
	for id, gone := range gone {
		require.True(t, gone || there[id], "%s was acknowledged and is lost", id)
	}
	tool := raw(t, path)
	var ran, inTable, ofFile int
	require.NoError(t, tool.QueryRow(`SELECT (SELECT count(*) FROM made_up), (SELECT value FROM meta WHERE key = 'schema'), user_version
		FROM pragma_user_version`).Scan(&ran, &inTable, &ofFile))
	require.Equal(t, []int{1, 2, 2}, []int{ran, inTable, ofFile})
	sound(t, path)
}
