package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// envWorker makes the test binary a worker on a database.
const envWorker = "AGENTMEMORY_POSTGRES_WORKER"

const workers, workPuts = 8, 20

// worker does not return in a process that is to be one.
func worker() {
	connection := os.Getenv(envWorker)
	if connection == "" {
		return
	}
	if err := work(context.Background(), connection); err != nil {
		fmt.Fprintln(os.Stderr, err, errors.Unwrap(err))
		os.Exit(1)
	}
	os.Exit(0)
}

// work opens the database, claims all that is due, prints what it won, and puts entries
// in between.
func work(ctx context.Context, connection string) error {
	pool, err := pgxpool.New(ctx, with(connection, "pool_max_conns", "2"))
	if err != nil {
		return err
	}
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	io.Copy(io.Discard, os.Stdin) // until there is work
	for n := 0; ; n++ {
		due, err := db.Memory().Due(ctx, "lease", now, 256)
		if err != nil {
			return err
		}
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		for _, d := range due[:min(len(due), 64)] {
			d.Due = now.AddDate(1, 0, 0)
			_, err := db.Memory().Apply(ctx, d.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{{Document: d}}})
			if errors.Is(err, driver.ErrConflict) {
				continue
			} else if err != nil {
				return err
			}
			fmt.Println(d.Key)
		}
		if n < workPuts {
			e := entry(fmt.Sprintf("%d-%d", os.Getpid(), n))
			done, err := db.Memory().Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: e}}})
			if err != nil {
				return err
			}
			fmt.Println("version " + done.Version)
		} else if len(due) == 0 {
			return nil
		}
	}
}

// Eight processes open an empty database at once. Of what is due then each claim, and
// each version, is one's alone.
func TestK2_Processes(t *testing.T) {
	ctx := t.Context()
	armed := 1000
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		armed = 20_000
	}
	connection := emptyDatabase(t, ctx)
	self, err := os.Executable()
	require.NoError(t, err)
	start, ready, err := os.Pipe()
	require.NoError(t, err)
	defer start.Close()
	defer ready.Close()
	var running [workers]*exec.Cmd
	var output, complaints [workers]bytes.Buffer
	for i := range running {
		c := exec.CommandContext(ctx, self)
		c.Env = append(os.Environ(), envWorker+"="+connection)
		c.Stdin, c.Stdout, c.Stderr = start, &output[i], &complaints[i]
		require.NoError(t, c.Start())
		running[i] = c
	}
	pool := connect(t, connection)
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	m := driver.Mutation{At: now}
	for i := range armed {
		m.Documents = append(m.Documents, lease(fmt.Sprintf("%05d", i), 0))
	}
	_, err = db.Memory().Apply(ctx, home.Tenant, m)
	require.NoError(t, err)
	require.NoError(t, ready.Close())
	began := time.Now()
	for i, c := range running {
		require.NoError(t, c.Wait(), complaints[i].String())
	}
	t.Logf("%d claims by %d processes in %v", armed, workers, time.Since(began))
	seen := map[string]bool{}
	for i := range output {
		for line := range bytes.Lines(output[i].Bytes()) {
			require.False(t, seen[string(line)], "%s twice", line)
			seen[string(line)] = true
		}
	}
	require.Len(t, seen, armed+workers*workPuts)
	require.Len(t, list(t, db.Memory(), home), workers*workPuts)
}
