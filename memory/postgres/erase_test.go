package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// onDisk counts the files of a database that have the text.
func onDisk(t *testing.T, pool *pgxpool.Pool, text string) (n int) {
	_, err := pool.Exec(t.Context(), `CHECKPOINT`)
	require.NoError(t, err)
	const look = `
		SELECT count(*) FROM (
			SELECT 'base/' || oid || '/' AS dir FROM pg_database WHERE datname = current_database()
		) d, pg_ls_dir(dir) AS file WHERE position($1::bytea IN pg_read_binary_file(dir || file, 0, 1 << 28, true)) > 0`
	require.NoError(t, pool.QueryRow(t.Context(), look, []byte(text)).Scan(&n))
	return n
}

// What was erased is in no file of the database after VACUUM FULL: not in tables, their
// indexes or statistics.
func TestM6_ErasureReachesTheFiles(t *testing.T) {
	ctx := t.Context()
	pool := connect(t, emptyDatabase(t, ctx))
	defer pool.Close()
	db, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	if !server.cluster.Owned() {
		t.Skip("the files of the server are not ours to read")
	}
	st := db.Memory()
	e := entry("a")
	e.Content, e.Tags, e.Subjects = "the text that goes", []string{"the tag that goes"}, []string{"the subject that goes"}
	other := entry("b")
	other.Content, other.Subjects = "the text that stays", []string{"the subject that stays"}
	for _, e := range []memory.Entry{e, other} {
		require.NoError(t, st.Put(ctx, home, e))
	}
	_, err = pool.Exec(ctx, `ANALYZE`)
	require.NoError(t, err)
	for _, text := range []string{e.Content, e.Tags[0], e.Subjects[0]} {
		require.Positive(t, onDisk(t, pool, text), text)
	}
	_, err = st.Apply(ctx, home.Tenant, memory.Mutation{At: now, Erase: []memory.Located{{Scope: home, ID: "a"}}})
	require.NoError(t, err)
	for _, table := range []string{"entries", "subjects"} {
		_, err = pool.Exec(ctx, `VACUUM (FULL, ANALYZE) agentmemory.`+table)
		require.NoError(t, err)
	}
	for _, text := range []string{e.Content, e.Tags[0], e.Subjects[0]} {
		require.Zero(t, onDisk(t, pool, text), text)
	}
	require.Positive(t, onDisk(t, pool, other.Content))
}
