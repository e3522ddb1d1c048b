package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A process with this variable is a program of the next release, which knows one script more.
const envNextRelease = "AGENTMEMORY_POSTGRES_NEXT_RELEASE"

// madeUpScript counts the rows that it sees.
const madeUpScript = `
	ALTER TABLE agentmemory.tenants ADD COLUMN made_up text;
	CREATE TABLE agentmemory.made_up AS SELECT count(*) AS seen FROM agentmemory.tenants`

func init() {
	if os.Getenv(envNextRelease) != "" {
		migrations = append(migrations, madeUpScript)
	}
}

// A new release brings the schema up to date while a process of the old one has the database
// open and writes: one of its own processes runs the script, once, and they go on; the old one
// writes nothing more and reads on; and everything that any of them acknowledged is there.
func TestMigrations_NextRelease(t *testing.T) {
	ctx := t.Context()
	connection := emptyDatabase(t, ctx)
	pool := connect(t, connection)
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	st := db.Memory()
	require.NoError(t, st.Put(ctx, home, entry("first")))
	self, err := os.Executable()
	require.NoError(t, err)
	start, ready, err := os.Pipe()
	require.NoError(t, err)
	defer start.Close()
	defer ready.Close()
	var newer [4]*exec.Cmd
	var complaints [len(newer)]bytes.Buffer
	for i := range newer {
		c := exec.CommandContext(ctx, self)
		c.Env = append(os.Environ(), envWorker+"="+connection, envNextRelease+"=1")
		c.Stdin, c.Stderr = start, &complaints[i]
		require.NoError(t, c.Start())
		newer[i] = c
	}
	put := 0
	for ; err == nil; put++ {
		require.Less(t, put, 100_000, "it writes on")
		err = st.Put(ctx, home, entry(fmt.Sprint("old", put)))
	}
	require.ErrorIs(t, err, ErrNewerSchema)
	require.NoError(t, ready.Close())
	for i, c := range newer {
		require.NoError(t, c.Wait(), complaints[i].String())
	}
	_, err = opened(ctx, pool, Options{})
	require.ErrorIs(t, err, ErrNewerSchema)
	require.Len(t, list(t, st, home), 1+put-1+len(newer)*workPuts)
	var seen, schema int
	require.NoError(t, pool.QueryRow(ctx, `SELECT seen, schema FROM agentmemory.made_up, agentmemory.meta`).Scan(&seen, &schema))
	require.Equal(t, []int{1, 2}, []int{seen, schema})
}

// A script of the next release sees the rows of all tenants under row security, which hides them
// again afterwards; one that fails leaves the database as it was.
func TestMigrations_RowSecurity(t *testing.T) {
	ctx := t.Context()
	pool := securePool(t)
	defer pool.Close()
	db, err := opened(ctx, pool, Options{RowSecurity: true})
	require.NoError(t, err, "%v", errors.Unwrap(err))
	for _, tenant := range []string{"acme", "globex"} {
		require.NoError(t, db.Memory().Put(ctx, driver.Scope{Tenant: tenant, Ref: "r"}, entry("a")))
	}
	defer func(before []string) { migrations = before }(migrations)
	released := migrations
	migrations = append(released[:len(released):len(released)], madeUpScript+`; SELECT no_such_column FROM agentmemory.tenants`)
	_, err = opened(ctx, pool, Options{RowSecurity: true})
	require.ErrorIs(t, err, driver.ErrInternal)
	migrations = released
	require.NoError(t, db.Memory().Put(ctx, home, entry("b")))

	migrations = append(released[:len(released):len(released)], madeUpScript)
	next, err := opened(ctx, pool, Options{RowSecurity: true})
	require.NoError(t, err, "%v", errors.Unwrap(err))
	require.NoError(t, next.Memory().Put(ctx, home, entry("c")))
	var seen, open int
	require.NoError(t, pool.QueryRow(ctx, `SELECT seen, (SELECT count(*) FROM pg_class WHERE relnamespace = 'agentmemory'::regnamespace AND relkind = 'r'
		AND relname NOT IN ('meta', 'made_up') AND NOT (relrowsecurity AND relforcerowsecurity)) FROM agentmemory.made_up`).Scan(&seen, &open))
	require.Equal(t, []int{2, 0}, []int{seen, open})
}
