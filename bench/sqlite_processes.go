package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const databaseProcesses = 4

// processes puts entries by four processes that have the same file open, each for a tenant of its
// own. Each commits every entry, and waits for the others as SQLite lets it.
func processes() row {
	return row{"sqlite/processes", "a plain table in SQLite", func() (sides, error) {
		dir, err := os.MkdirTemp("", "bench-sqlite-processes-")
		must(err)
		ours, theirs := filepath.Join(dir, "ours.db"), filepath.Join(dir, "theirs.db")
		db, table := openStore(ours), openSQLiteTable(context.Background(), theirs)
		cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { must(db.Close()); must(table.db.Close()) })
		putOurs, putTheirs := atOnce("ours", ours), atOnce("theirs", theirs)
		check := func() error {
			putOurs()
			putTheirs()
			s := driver.Scope{Tenant: processTenant(0), Ref: storeScope.Ref}
			entries, err := db.Memory().List(context.Background(), s, driver.Query{At: storeNow})
			must(err)
			return equal(entries, read(table.selectFirst, s.Tenant, s.Ref, storeNow.UnixMilli(), putsEach))
		}
		return sides{items: databaseProcesses * putsEach, check: check, ours: repeat(putOurs), theirs: repeat(putTheirs)}, nil
	}}
}

func processTenant(i int) string { return fmt.Sprint("process-", i) }

func openStore(path string) *sqlite.DB {
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	must(err)
	return db
}

// atOnce starts the processes, and returns what has each of them put entries at the same time.
func atOnce(side, path string) func() {
	var orders []io.Writer
	var answers []*bufio.Reader
	program, err := os.Executable()
	must(err)
	for i := range databaseProcesses {
		c := exec.Command(program, "-worker", side, path, processTenant(i))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		must(err)
		out, err := c.StdoutPipe()
		must(err)
		must(c.Start())
		cleanups = append(cleanups, func() { in.Close(); c.Wait() })
		orders, answers = append(orders, in), append(answers, bufio.NewReader(out))
	}
	return func() {
		for _, order := range orders {
			_, err := fmt.Fprintln(order)
			must(err)
		}
		for _, answer := range answers {
			_, err := answer.ReadString('\n')
			must(err)
		}
	}
}

// work is one of the processes: it puts some entries for each line of its input.
func work(side, path, tenant string) {
	var put func(x driver.Placed)
	if side == "ours" {
		db := openStore(path)
		defer db.Close()
		put = func(x driver.Placed) { must(db.Memory().Put(context.Background(), x.Scope, x.Entry)) }
	} else {
		table := openSQLiteTable(context.Background(), path)
		defer table.db.Close()
		put = func(x driver.Placed) { table.put(x) }
	}
	next := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println("done") {
		for range putsEach {
			put(driver.Placed{Scope: driver.Scope{Tenant: tenant, Ref: storeScope.Ref}, Entry: storeEntry(next)})
			next++
		}
	}
}
