package crashload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Report tells what a [Log.Verify] has looked at, so that a test can see that there was
// something.
type Report struct {
	Loads        int // that were begun
	Acknowledged int // operations
	Unknown      int // operations of which nobody knows whether they took place
	Entries      int // in whatever state
	Documents    int
	Events       int // delivered, each counted once
	Doubles      int // deliveries of events that had been delivered
	Firings      int // of commitments
	Archives     int // that were loaded
}

// Broken is what [Log.Verify] returns for a store that did not keep what it had
// acknowledged.
type Broken struct{ Problems []string }

// mostProblems are listed in an error.
const mostProblems = 20

func (b *Broken) Error() string {
	text := b.Problems
	if len(text) > mostProblems {
		text = append(text[:mostProblems:mostProblems], fmt.Sprintf("and %d more", len(b.Problems)-mostProblems))
	}
	return "crashload: the store broke its word:\n\t" + strings.Join(text, "\n\t")
}

// A transaction of a process that was killed may be under way in a server still, so that
// a second look sees more than the first.
const (
	looks     = 3
	untilNext = 200 * time.Millisecond
)

// Verify delivers what waits in the outbox and compares the store with the log. No load
// may run meanwhile. It returns a [*Broken] that lists what is wrong, by operation of
// the log, and other errors if it could not look.
func (l *Log) Verify(ctx context.Context, store driver.Adapter) (Report, error) {
	h, err := l.host(store)
	if err != nil {
		return Report{}, err
	}
	for look := 1; ; look++ {
		v := &verifier{host: h}
		if err := v.run(ctx); err != nil {
			return v.report, err
		}
		if len(v.problems) == 0 {
			return v.report, nil
		}
		if look == looks {
			return v.report, &Broken{v.problems}
		}
		pause(ctx, l.untilNext)
	}
}

// verifier is one look.
type verifier struct {
	*host
	report   Report
	problems []string

	ops      []*operation
	swaps    []*operation
	byNumber map[int64]*operation
	author   map[memory.Located]*operation // of acknowledged entries
	deletes  map[memory.Located]bool
	forgets  map[place]bool // whether it was acknowledged, by subject

	records map[memory.Located]memory.Record
	ofRun   map[int64][]memory.Record // those that are not erased
	about   map[place]bool            // subjects that they carry

	documents map[docName]driver.Document
	changes   map[docName][]change // that were intended

	deliveries map[runKey][]*delivered
	impostors  int               // deliveries under the id of another event
	starts     map[place][]start // by commitment
}

// place is an id of a tenant, or a subject, or a path.
type place struct{ tenant, id string }

type runKey struct{ tenant, run string }

func (v *verifier) wrong(op *operation, format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf("operation %d (%s): ", op.N, op.What)+fmt.Sprintf(format, args...))
}

// astray is wrong with something that belongs to no operation.
func (v *verifier) astray(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *verifier) run(ctx context.Context) error {
	if err := v.readLog(); err != nil {
		return err
	}
	if _, err := v.bank.Relay(ctx); err != nil {
		return err
	}
	if err := v.readRecords(ctx); err != nil {
		return err
	}
	if err := v.readDocuments(ctx); err != nil {
		return err
	}
	for _, op := range v.ops {
		v.checkOutcome(op)
	}
	v.checkFates()
	v.checkDocuments()
	v.checkBatches()
	for _, check := range []func(context.Context) error{v.checkDue, v.checkVersions, v.checkArchives} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	fired, err := v.checkCommitments(ctx)
	if err != nil {
		return err
	}
	if err := v.checkEvents(ctx, append(v.expectedOfEntries(), fired...)); err != nil {
		return err
	}
	v.checkFiles()
	return nil
}

// readLog reads the journal and the queue.
func (v *verifier) readLog() error {
	v.byNumber, v.author = map[int64]*operation{}, map[memory.Located]*operation{}
	v.deletes, v.forgets = map[memory.Located]bool{}, map[place]bool{}
	var err error
	if v.ops, err = v.journal.operations(); err != nil {
		return err
	}
	for _, op := range v.ops {
		v.byNumber[op.N] = op
		switch op.What {
		case open:
			v.report.Loads++
		case remove:
			v.deletes[located(op, 0, op.IDs[0])] = true
		case forget:
			v.forgets[place{op.Tenant, op.Subject}] = op.outcome == done
		case put, batch:
			for i, id := range op.out.IDs {
				v.author[located(op, i, id)] = op
			}
		}
		switch {
		case op.outcome == done:
			v.report.Acknowledged++
		case op.unknown():
			v.report.Unknown++
		}
	}
	if v.swaps, err = v.Log.swaps.operations(); err != nil {
		return err
	}
	starts, err := readLines[start](v.queue)
	v.starts = map[place][]start{}
	for _, s := range starts {
		at := place{s.Tenant, s.Commitment}
		v.starts[at] = append(v.starts[at], s)
	}
	return err
}

// authorOf returns the operation that wrote an entry, or nil.
func (v *verifier) authorOf(at memory.Located, rec memory.Record) *operation {
	if op := v.author[at]; op != nil {
		return op
	}
	return v.byNumber[operationOf(rec.Entry.RunID)]
}

// located is where the i-th entry of an operation is.
func located(op *operation, i int, id string) memory.Located {
	ref := op.Ref
	if op.What == batch {
		ref = sideRef(ref, i)
	}
	return memory.Located{Scope: memory.Scope{Tenant: op.Tenant, Ref: ref}, ID: id}
}

func (v *verifier) readRecords(ctx context.Context) error {
	v.records, v.ofRun, v.about = map[memory.Located]memory.Record{}, map[int64][]memory.Record{}, map[place]bool{}
	for _, tenant := range tenants {
		for rec, err := range v.store.History(ctx, tenant, driver.HistoryQuery{}) {
			if err != nil {
				return err
			}
			at := memory.Located{Scope: rec.Scope, ID: rec.Entry.ID}
			v.records[at] = rec
			if rec.Erased {
				continue
			}
			n := operationOf(rec.Entry.RunID)
			if op := v.byNumber[n]; op == nil || op.Tenant != tenant {
				v.astray("an entry is there that no operation wrote")
			}
			v.ofRun[n] = append(v.ofRun[n], rec)
			for _, subject := range rec.Entry.Subjects {
				v.about[place{tenant, subject}] = true
			}
		}
	}
	v.report.Entries = len(v.records)
	return nil
}

// delivered is an event of the sink, however often it came.
type delivered struct {
	delivery
	payload events.Payload
}

func (v *verifier) readDeliveries() error {
	lines, err := readLines[delivery](v.sink)
	if err != nil {
		return err
	}
	v.deliveries = map[runKey][]*delivered{}
	v.report.Events, v.report.Doubles, v.impostors = 0, 0, 0
	known := map[[3]string]*delivered{}
	for _, line := range lines {
		key := [3]string{line.Tenant, line.Run, line.ID}
		if first := known[key]; first != nil {
			v.report.Doubles++
			if !first.isAlso(line) {
				v.impostors++
			}
			continue
		}
		payload, err := events.Decode(line.Type, line.Payload)
		if err != nil {
			return errors.New("crashload: an event in the sink is not readable")
		}
		d := &delivered{line, payload}
		known[key] = d
		run := runKey{line.Tenant, line.Run}
		v.deliveries[run] = append(v.deliveries[run], d)
		v.report.Events++
	}
	return nil
}

// isAlso reports whether a delivery may be the same event. A pass that is repeated counts
// anew what it finds, under the id of the first time.
func (d *delivered) isAlso(again delivery) bool {
	counts := d.Type == events.TypeMemoryConsolidated || d.Type == events.TypeMemoryCompacted
	return d.Type == again.Type && (counts || string(d.Payload) == string(again.Payload))
}
