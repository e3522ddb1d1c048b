package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

const (
	hostSmall = 1_000
	hostPuts  = 5 // of one run
)

// hostRows measures a whole run as a host makes it, on SQLite, with n entries in its
// scope: it starts with a registry that holds a secret, lists 100 entries, puts five and
// ends; the events of its writes are kept with them. The figures are runs per second; -quick
// has 100,000 entries in place of a million.
//
//	host/run/n=…        against plain tables, see [sqliteTable]: a list, and five transactions
//	                    with an entry and its event. What the peer leaves out is redaction,
//	                    memory as of the run's start, checks, ids that a caller cannot guess, and
//	                    what sqliteRows says
//	host/run/n=…/small  with many entries, against ours with 1,000
//
// Every run leaves its five entries, so that the smaller scope grows by some thousands.
func hostRows() []row {
	ctx := context.Background()
	large := 1_000_000
	if *quick {
		large = 100_000
	}
	type pair struct{ ours, theirs host }
	open := func(n int) func() *pair {
		return sync.OnceValue(func() *pair {
			dir, err := os.MkdirTemp("", "bench-host-")
			must(err)
			db, err := sqlite.Open(ctx, filepath.Join(dir, "ours.db"), sqlite.Options{})
			must(err)
			ours := &hostOfBank{}
			ours.bank, err = memory.New(db.Memory(), memory.Config{
				KeepEvents: time.Hour, WriteEvents: true, Now: func() time.Time { return storeNow },
			})
			must(err)
			theirs := &hostByHand{sqliteTable: openSQLiteTable(ctx, filepath.Join(dir, "theirs.db"))}
			cleanups = append(cleanups, func() { os.RemoveAll(dir) }, func() { db.Close(); theirs.db.Close() })
			const step = 1000
			for i := 0; i < n; i += step {
				batch := storeBatch(i, step)
				_, err := db.Memory().Apply(ctx, storeScope.Tenant, driver.Mutation{At: storeNow, Put: batch})
				must(err)
				theirs.put(batch...)
			}
			return &pair{ours, theirs}
		})
	}
	small, many := open(hostSmall), open(large)
	against := func(n int, full func() *pair) row {
		return row{fmt.Sprintf("host/run/n=%d", n), "plain tables in SQLite", func() (sides, error) {
			p := full()
			return sides{
				check: func() error { return sameRuns(p.ours, p.theirs) },
				items: 1, ours: repeat(func() { KeptList = p.ours.run() }), theirs: repeat(func() { KeptList = p.theirs.run() }),
			}, nil
		}}
	}
	return []row{
		against(hostSmall, small),
		against(large, many),
		{fmt.Sprintf("host/run/n=%d/small", large), fmt.Sprintf("ours, n=%d", hostSmall), func() (sides, error) {
			few, many := small().ours, many().ours
			return sides{items: 1, ours: repeat(func() { KeptList = many.run() }), theirs: repeat(func() { KeptList = few.run() })}, nil
		}},
	}
}

// host is one side of the rows.
type host interface {
	run() []memory.Entry // what it has listed
	told() []toldEvent   // in the last run
}

// toldEvent is what is compared of an event.
type toldEvent struct {
	Sequence       int64
	Ref, Node, Run string
	Time           time.Time
}

// sameRuns compares what three runs of both sides list and tell, but for the ids of entries.
func sameRuns(ours, theirs host) error {
	plain := func(h host) (found []any) {
		for range 3 {
			for _, e := range h.run() {
				e.ID, e.RunID = "", ""
				found = append(found, e)
			}
			found = append(found, h.told())
		}
		return found
	}
	return equal(plain(ours), plain(theirs))
}

var hostDraft = memory.Draft{Content: storeEntry(0).Content, Tags: storeTags, NodeID: "summarise"}

type hostOfBank struct {
	bank *memory.Bank
	runs int
}

func (h *hostOfBank) told() (told []toldEvent) {
	run := fmt.Sprint("run-", h.runs)
	all, err := h.bank.Log().Read(context.Background(), storeScope.Tenant, run, 0, 0)
	must(err)
	for _, e := range all {
		told = append(told, toldEvent{e.Sequence, e.Payload.(events.MemoryWritten).MemoryRef, e.NodeID, run, e.Time})
	}
	return told
}

func (h *hostOfBank) run() []memory.Entry {
	ctx := context.Background()
	h.runs++
	secrets := redact.New(redact.Config{})
	must(secrets.Register("key", []byte("acme-live-7Qm2vT9x")))
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("run-", h.runs), Tenant: storeScope.Tenant, Redactor: secrets})
	must(err)
	listed, err := run.Memory().List(ctx, storeScope.Ref, memory.ListOptions{Limit: pageLimit})
	must(err)
	for range hostPuts {
		_, err := run.Put(ctx, storeScope.Ref, hostDraft)
		must(err)
	}
	must(run.End(ctx))
	return listed
}

// hostByHand is what the author of a host would write who needs such runs only.
type hostByHand struct {
	*sqliteTable
	runs, ids int
}

func (h *hostByHand) run() []memory.Entry {
	h.runs++
	run := fmt.Sprint("run-", h.runs)
	listed := h.list(pageLimit, storeNow)
	for range hostPuts {
		h.ids++
		e := memory.Entry{
			ID: fmt.Sprintf("mem_1%025d", h.ids), Content: hostDraft.Content, Tags: hostDraft.Tags, CreatedAt: storeNow, RunID: run,
		}
		h.change([]driver.Placed{{Scope: storeScope, Entry: e}}, events.Record{
			ID: fmt.Sprintf("evt_1%025d", h.ids), Tenant: storeScope.Tenant, RunID: run, NodeID: hostDraft.NodeID, Time: storeNow,
			Payload: events.MemoryWritten{MemoryRef: storeScope.Ref, MemoryID: e.ID, NodeID: hostDraft.NodeID},
		})
	}
	return listed
}

func (h *hostByHand) told() (told []toldEvent) {
	run := fmt.Sprint("run-", h.runs)
	rows, err := h.db.Query(`SELECT sequence, node, at, payload FROM events WHERE tenant = ? AND run = ? ORDER BY sequence`, storeScope.Tenant, run)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var at int64
		var payload []byte
		var written events.MemoryWritten
		e := toldEvent{Run: run}
		must(rows.Scan(&e.Sequence, &e.Node, &at, &payload))
		must(json.Unmarshal(payload, &written))
		e.Ref, e.Time = written.MemoryRef, time.UnixMilli(at).UTC()
		told = append(told, e)
	}
	must(rows.Err())
	return told
}
