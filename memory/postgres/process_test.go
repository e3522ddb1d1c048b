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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
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
	db, err := Open(ctx, pool, Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	io.Copy(io.Discard, os.Stdin) // until there is work
	for n := 0; ; n++ {
		due, err := db.Commitments().Due(ctx, now, 256)
		if err != nil {
			return err
		}
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		for _, c := range due[:min(len(due), 64)] {
			c.State, c.Due = commitment.Claimed, now.AddDate(1, 0, 0)
			if _, err := db.Commitments().Swap(ctx, c); errors.Is(err, memory.ErrConflict) {
				continue
			} else if err != nil {
				return err
			}
			fmt.Println(c.ID)
		}
		if n < workPuts {
			e := entry(fmt.Sprintf("%d-%d", os.Getpid(), n))
			v, err := db.Memory().Apply(ctx, home.Tenant, memory.Mutation{At: now, Put: []memory.Placed{{Scope: home, Entry: e}}})
			if err != nil {
				return err
			}
			fmt.Println("version " + v)
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
	db, err := Open(ctx, pool, Options{})
	require.NoError(t, err)
	b := new(pgx.Batch)
	for i := range armed {
		b.Queue(`INSERT INTO agentmemory.commitments (`+commitmentColumns+`) VALUES (`+commitmentParameters+`)`, commitmentRow(&commitment.Commitment{
			Tenant: "acme", ID: fmt.Sprintf("cmt_%05d", i), Arm: commitment.Arm{At: now}, State: commitment.Armed, Due: now})...)
	}
	require.NoError(t, pool.SendBatch(ctx, b).Close())
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
