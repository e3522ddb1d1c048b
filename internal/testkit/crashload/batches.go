package crashload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// batchWorker commits several entries of two refs at once, by the store's own primitive,
// with all that can go with them: they replace entries of the batch before, count in a
// document, have a document made of the first of them, and announce themselves.
type batchWorker struct {
	ref     string
	last    []string // entries of the last batch in the first ref, all live
	subject string   // of the first of them
}

// The documents of the first ref of a worker's batches: machinery that counts them, and for
// each of them content.
const (
	countKind   = "load/count"
	countKey    = "batches"
	contentKind = "load/content"
)

// countTo is where the document that counts is removed, and begins again.
const countTo = 4

func (b *batchWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, breath)
	if b.ref == "" {
		b.ref = w.ref("batch")
	}
	merges, subject := b.last[:min(len(b.last), w.rng.IntN(3))], b.subject
	b.subject, b.last = "", nil
	if subject != "" && w.rng.IntN(6) == 0 {
		return w.forget(ctx, subject)
	}
	n := note{What: batch, Ref: b.ref, Subject: w.ref("matter")}
	size := 2 + w.rng.IntN(4)
	err := w.do(n, func(_ *memory.Job, numbered note) error {
		n = numbered
		return w.commit(ctx, n, size, merges)
	})
	if err != nil {
		return err
	}
	b.subject = n.Subject
	for i := 0; i < size; i += 2 {
		b.last = append(b.last, batchID(n, i))
	}
	return nil
}

// commit commits a batch of so many entries.
func (w *worker) commit(ctx context.Context, n note, size int, merges []string) error {
	now := w.bank.Now()
	first := memory.Scope{Tenant: n.Tenant, Ref: sideRef(n.Ref, 0)}
	count := driver.DocumentSwap{Document: driver.Document{Scope: first, Kind: countKind, Key: countKey}}
	for d, err := range w.store.Documents(ctx, driver.DocumentQuery{Tenant: n.Tenant, Ref: first.Ref, Kind: countKind}) {
		if err != nil {
			return err
		}
		count.Document = d
	}
	before, _ := strconv.Atoi(string(count.Value))
	count.Value = strconv.AppendInt(nil, int64(before)+1, 10)
	if before+1 == countTo {
		count.Act = driver.Remove
	}
	long := 1
	if w.rng.IntN(32) == 0 {
		long = 2000 // so that the store has to keep it in pieces
	}
	m := driver.Mutation{At: now, Documents: []driver.DocumentSwap{count, {Document: driver.Document{
		Scope: first, Class: driver.Content, Kind: contentKind, Key: runOf(n.N),
		Value: []byte(strings.Repeat(w.text(n, 0), long)), Of: []string{batchID(n, 0)},
	}}}}
	announce := func(id string, p events.Payload) {
		m.Events = append(m.Events, events.Record{ID: id, Tenant: n.Tenant, RunID: runOf(n.N), Time: now, Payload: p})
	}
	for i := range size {
		e := memory.Entry{
			ID: batchID(n, i), Content: w.text(n, i), Tags: []string{fmt.Sprintf("member %d of %d", i+1, size)},
			CreatedAt: now.Add(time.Duration(i) * time.Millisecond), RunID: runOf(n.N),
		}
		if i == 0 {
			e.Subjects = []string{n.Subject}
		}
		s := memory.Scope{Tenant: n.Tenant, Ref: sideRef(n.Ref, i)}
		m.Put = append(m.Put, driver.Placed{Scope: s, Entry: e})
		announce("evt_"+e.ID, events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID})
	}
	for _, id := range merges {
		l := driver.Located{Scope: first, ID: id}
		m.Retire = append(m.Retire, driver.Retirement{Located: l, State: memory.Merged, For: batchID(n, 0)})
	}
	announce("batch-"+strconv.FormatInt(n.N, 10), events.MemoryConsolidated{
		MemoryRef: n.Ref, InputCount: int64(size), OutputCount: int64(size), Trigger: events.ConsolidationOnDemand,
	})
	_, err := w.store.Apply(ctx, n.Tenant, m)
	return err
}

func batchID(n note, i int) string { return fmt.Sprintf("own_%d_%d", n.N, i) }

// sideRef is where the i-th entry of a batch goes.
func sideRef(ref string, i int) string { return fmt.Sprintf("%s/%d", ref, i%2) }

func idsOf(entries []memory.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}
