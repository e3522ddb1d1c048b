package main

import (
	"context"
	"database/sql"
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
// ends, by which the events of its writes are delivered to a sink that counts them. The
// figures are runs per second; -quick has 100,000 entries in place of a million.
//
//	host/run/n=…        against the same statements by hand, as in sqliteRows: the
//	                    version of the tenant; the list as of that version; five
//	                    transactions with the tenant's counter, the version, an entry and
//	                    its event; the events of the run, and their removal. What the peer
//	                    leaves out is redaction, checks, ids that nobody can guess, and
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
				Sink: &ours.lastEvent, WriteEvents: true, Now: func() time.Time { return storeNow },
			})
			must(err)
			theirs := newHostByHand(ctx, filepath.Join(dir, "theirs.db"))
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
		return row{fmt.Sprintf("host/run/n=%d", n), "modernc.org/sqlite by hand", func() (sides, error) {
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
	delivered() lastEvent
}

// lastEvent is a sink that keeps a count and the last event.
type lastEvent struct {
	count int
	last  events.Record
}

func (s *lastEvent) Emit(_ context.Context, recs ...events.Record) error {
	s.count += len(recs)
	s.last = recs[len(recs)-1]
	return nil
}

// sameRuns compares what three runs of both sides list and deliver, but for the ids.
func sameRuns(ours, theirs host) error {
	plain := func(h host) (found []any) {
		for range 3 {
			for _, e := range h.run() {
				e.ID, e.RunID = "", ""
				found = append(found, e)
			}
		}
		d := h.delivered()
		p := d.last.Payload.(events.MemoryWritten)
		return append(found, d.count, d.last.Tenant, d.last.NodeID, d.last.Time, p.MemoryRef, p.NodeID)
	}
	return equal(plain(ours), plain(theirs))
}

var hostDraft = memory.Draft{Content: storeEntry(0).Content, Tags: storeTags, NodeID: "summarise"}

type hostOfBank struct {
	bank *memory.Bank
	lastEvent
	runs int
}

func (h *hostOfBank) delivered() lastEvent { return h.lastEvent }

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

// hostByHand is what somebody would write who needs such runs only.
type hostByHand struct {
	*sqliteByHand
	current, listAt, waiting, remove *sql.Stmt
	lastEvent
	runs, ids int
}

func newHostByHand(ctx context.Context, path string) *hostByHand {
	b := openSQLiteByHand(ctx, path)
	const (
		shown = ` WHERE e.tenant = ?1 AND e.ref = ?2 AND e.expires > ?3 AND (e.born <= ?4
			OR EXISTS (SELECT 1 FROM former f WHERE f.entry = e.entry AND f.born <= ?4 AND ?4 < f.died))`
		live = ` AND e.died = 9223372036854775807`
		gone = ` AND e.died > ?4 AND e.died < 9223372036854775807`
	)
	return &hostByHand{
		sqliteByHand: b,
		current:      prepare(b.reads, `SELECT version FROM tenants WHERE tenant = ?`),
		listAt: prepare(b.reads, `SELECT `+entryByHand+shown+live+` UNION ALL
			SELECT * FROM (SELECT `+entryByHand+shown+gone+` ORDER BY e.created DESC, e.id DESC LIMIT ?5 + 0)
			ORDER BY 4 DESC, 1 DESC LIMIT ?5 + 0`),
		waiting: prepare(b.reads, `SELECT seq, event, node, at, payload FROM outbox WHERE tenant = ? AND run = ? ORDER BY seq`),
		remove:  prepare(b.writes, `DELETE FROM outbox WHERE tenant = ? AND run = ? AND seq <= ?`),
	}
}

func (h *hostByHand) delivered() lastEvent { return h.lastEvent }

func (h *hostByHand) run() []memory.Entry {
	ctx := context.Background()
	h.runs++
	run := fmt.Sprint("run-", h.runs)
	var version int64
	must(h.current.QueryRowContext(ctx, storeScope.Tenant).Scan(&version))
	listed := h.read(h.listAt, storeScope.Tenant, storeScope.Ref, storeNow.UnixMilli(), version, pageLimit)
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
	h.deliver(run)
	return listed
}

// deliver gives the sink the events of a run, and removes them.
func (h *hostByHand) deliver(run string) {
	ctx := context.Background()
	rows, err := h.waiting.QueryContext(ctx, storeScope.Tenant, run)
	must(err)
	var found []events.Record
	var seq, at int64
	for rows.Next() {
		r := events.Record{Tenant: storeScope.Tenant, RunID: run}
		var payload sql.RawBytes
		must(rows.Scan(&seq, &r.ID, &r.NodeID, &at, &payload))
		var p events.MemoryWritten
		must(json.Unmarshal(payload, &p))
		r.Payload, r.Time = p, time.UnixMilli(at).UTC()
		found = append(found, r)
	}
	must(rows.Err())
	must(rows.Close())
	must(h.Emit(ctx, found...))
	_, err = h.begin.ExecContext(ctx)
	must(err)
	_, err = h.remove.ExecContext(ctx, storeScope.Tenant, run, seq)
	must(err)
	_, err = h.commit.ExecContext(ctx)
	must(err)
}
