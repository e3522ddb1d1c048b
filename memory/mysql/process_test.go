package mysql

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

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// envWorker makes the test binary a worker on a database.
const envWorker = "AGENTMEMORY_MYSQL_WORKER"

const workers, workPuts = 4, 20

// worker does not return in a process that is to be one.
func worker() {
	dsn := os.Getenv(envWorker)
	if dsn == "" {
		return
	}
	if err := work(context.Background(), dsn); err != nil {
		fmt.Fprintln(os.Stderr, err, errors.Unwrap(err))
		os.Exit(1)
	}
	os.Exit(0)
}

// work opens the database, claims all that is due, prints what it won, and puts entries in between.
func work(ctx context.Context, dsn string) error {
	db, err := Open(ctx, dsn, Options{MaxConns: 2})
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

// Processes open an empty database at once. Of what is due then each claim, and each version, is one's
// alone.
func TestK2_Processes(t *testing.T) {
	const armed = 500
	dsn := emptyDatabase(t)
	self, err := os.Executable()
	require.NoError(t, err)
	start, ready, err := os.Pipe()
	require.NoError(t, err)
	defer start.Close()
	defer ready.Close()
	var running [workers]*exec.Cmd
	var output, complaints [workers]bytes.Buffer
	for i := range running {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), envWorker+"="+dsn)
		c.Stdin, c.Stdout, c.Stderr = start, &output[i], &complaints[i]
		require.NoError(t, c.Start())
		running[i] = c
	}
	st := opened(t, dsn).Memory()
	m := driver.Mutation{At: now}
	for i := range armed {
		d := driver.Document{Scope: driver.Scope{Tenant: home.Tenant}, Kind: "lease", Key: fmt.Sprintf("%05d", i), Due: now}
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: d})
	}
	apply(t, st, m)
	require.NoError(t, ready.Close())
	for i, c := range running {
		require.NoError(t, c.Wait(), complaints[i].String())
	}
	seen := map[string]bool{}
	for i := range output {
		for line := range bytes.Lines(output[i].Bytes()) {
			require.False(t, seen[string(line)], "%s twice", line)
			seen[string(line)] = true
		}
	}
	require.Len(t, seen, armed+workers*workPuts)
	require.Len(t, list(t, st, home), workers*workPuts)
}

// Two mutations that each rest on the absence of what the other makes do not both succeed.
func TestK2_AbsentMachinery(t *testing.T) {
	dsn := freshDatabase(t)
	stores := [2]*Store{opened(t, dsn).Memory(), opened(t, dsn).Memory()}
	for i := range 50 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		race := [2]driver.Mutation{
			{Documents: append(swapOf(a, 0, driver.Check).Documents, swapOf(b, 0, driver.Set).Documents...)},
			{Documents: append(swapOf(b, 0, driver.Check).Documents, swapOf(a, 0, driver.Set).Documents...)},
		}
		answers := make(chan error, 2)
		for i := range race {
			go func() {
				_, err := stores[i].Apply(context.Background(), home.Tenant, race[i])
				answers <- err
			}()
		}
		require.ElementsMatch(t, []error{nil, driver.ErrConflict}, []error{<-answers, <-answers})
	}
}
