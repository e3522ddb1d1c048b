package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// envWorker makes the test binary a worker on a file.
const envWorker = "AGENTMEMORY_SQLITE_WORKER"

const workers, workDue, workPuts = 4, 300, 50

// work claims all that is due and prints what it won, and puts entries in between.
func work(ctx context.Context, file string) error {
	db, err := sqlite.Open(ctx, file, sqlite.Options{Relaxed: true})
	if err != nil {
		return err
	}
	defer db.Close()
	io.Copy(io.Discard, os.Stdin) // until all have started
	for n := 0; ; n++ {
		due, err := db.Memory().Due(ctx, "claim", now, 8)
		if err != nil {
			return err
		}
		for _, d := range due {
			d.Due = now.AddDate(1, 0, 0)
			swap := driver.Mutation{Documents: []driver.DocumentSwap{{Document: d, Act: driver.Retain}}}
			if _, err := db.Memory().Apply(ctx, d.Tenant, swap); errors.Is(err, driver.ErrConflict) {
				continue
			} else if err != nil {
				return err
			}
			fmt.Println(d.Key)
		}
		if n < workPuts {
			e := entry(fmt.Sprintf("%d-%d", os.Getpid(), n), "x")
			v, err := db.Memory().Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: e}}})
			if err != nil {
				return err
			}
			fmt.Println("version " + v.Version)
		} else if len(due) == 0 {
			return nil
		}
	}
}

// Of several processes on one file each claim and each version is one's alone.
func TestK2_Processes(t *testing.T) {
	db, path := fresh(t)
	var m driver.Mutation
	for i := range workDue {
		d := driver.Document{Scope: driver.Scope{Tenant: "acme"}, Kind: "claim", Key: fmt.Sprintf("c%03d", i), Due: now}
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: d})
	}
	_, err := db.Memory().Apply(t.Context(), "acme", m)
	require.NoError(t, err)
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
		c.Env = append(os.Environ(), envWorker+"="+path)
		c.Stdin, c.Stdout, c.Stderr = start, &output[i], &complaints[i]
		require.NoError(t, c.Start())
		running[i] = c
	}
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
	require.Len(t, seen, workDue+workers*workPuts)
	entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, entries, workers*workPuts)
}
