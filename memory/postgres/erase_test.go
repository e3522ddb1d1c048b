package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
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

// inTables is all that the tables hold, and what the server has gathered about them, as
// text. Names, which are BYTEA, are shown with escapes.
func inTables(t *testing.T, pool *pgxpool.Pool) string {
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, err = tx.Exec(t.Context(), `SET LOCAL bytea_output = 'escape'`) // a pooler hands the session on to others
	require.NoError(t, err)
	var all strings.Builder
	for _, table := range append([]string{"agentmemory.meta", "pg_catalog.pg_statistic"}, securedTables...) {
		if !strings.Contains(table, ".") {
			table = "agentmemory." + table
		}
		var text string
		require.NoError(t, tx.QueryRow(t.Context(), `SELECT COALESCE(string_agg(x::text, E'\n'), '') FROM `+table+` AS x`).Scan(&text))
		all.WriteString(text)
	}
	return all.String()
}

// What was forgotten is in no table after Forget alone, with documents made of it, host
// text about it and events of it that wait; and in no file of the database after VACUUM
// FULL: not in tables, their indexes or statistics. What is another tenant's stays.
func TestM10_ErasureReachesEverything(t *testing.T) {
	ctx := t.Context()
	pool := connect(t, emptyDatabase(t, ctx))
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	st := db.Memory()
	bank, err := memory.New(st, memory.Config{WriteEvents: true, Sink: new(events.Log)})
	require.NoError(t, err)
	job, err := bank.Background(memory.JobConfig{ID: "import", Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	var ids []string
	for _, what := range []string{"goes", "stays"} {
		for range 50 { // enough for samples
			e, err := job.Put(ctx, home.Ref, memory.Draft{Content: "the text that " + what, Tags: []string{"the tag that " + what},
				Subjects: []string{"the subject that " + what}})
			require.NoError(t, err)
			ids = append(ids, e.ID)
		}
	}
	swaps := []driver.DocumentSwap{}
	for i, what := range map[int]string{0: "goes", 50: "stays"} {
		swaps = append(swaps,
			driver.DocumentSwap{Document: driver.Document{Scope: home, Class: driver.Content, Kind: "archive", Key: ids[i], Of: []string{ids[i]},
				Value: []byte("the archive that " + what)}},
			driver.DocumentSwap{Document: driver.Document{Scope: home, Class: driver.HostText, Kind: "file", Key: ids[i], Subjects: []string{"the subject that " + what},
				Value: []byte("the file that " + what)}})
	}
	_, err = st.Apply(ctx, home.Tenant, driver.Mutation{At: bank.Now(), Documents: swaps})
	require.NoError(t, err)
	waiting, err := st.Waiting(ctx, home.Tenant, 1000)
	require.NoError(t, err)
	require.Equal(t, 100, waiting)
	analyze := func(how string) {
		for _, table := range securedTables {
			_, err := pool.Exec(ctx, how+` agentmemory.`+table)
			require.NoError(t, err)
		}
	}
	analyze(`ANALYZE`)

	texts := []string{"the text that ", "the tag that ", "the subject that ", "the archive that ", "the file that "}
	all := inTables(t, pool)
	for _, text := range texts {
		require.Contains(t, all, text+"goes")
		require.Contains(t, all, text+"stays")
	}
	done, err := bank.Forget(ctx, home.Tenant, "the subject that goes")
	require.NoError(t, err)
	require.Len(t, done.Erased, 50)
	all = inTables(t, pool)
	for _, text := range texts {
		require.NotContains(t, all, text+"goes")
		require.Contains(t, all, text+"stays")
	}
	require.Contains(t, all, ids[0]) // of the stub

	if !server.cluster.Owned() {
		t.Skip("the files of the server are not ours to read")
	}
	for _, table := range []string{"entries", "subjects", "documents", "document_subjects"} {
		_, err = pool.Exec(ctx, `VACUUM (FULL, ANALYZE) agentmemory.`+table)
		require.NoError(t, err)
	}
	for _, text := range texts {
		require.Zero(t, onDisk(t, pool, text+"goes"), text)
		require.Positive(t, onDisk(t, pool, text+"stays"), text)
	}
}
