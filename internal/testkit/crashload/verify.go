package crashload

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Report tells what a [Log.Verify] has looked at, so that a test can see that there was
// something.
type Report struct {
	Loads        int // that were begun
	Acknowledged int // operations
	Unknown      int // operations that may have taken place or not
	Entries      int // in any state
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

	ops       []*operation
	byNumber  map[int64]*operation
	mutations []*operation
	made      map[*operation]bool     // mutations that took place
	restored  map[driver.Located]bool // by any mutation, or perhaps never ended
	forgotten map[place]bool          // subjects whose forgetting was acknowledged
	starts    map[place][]start       // by commitment

	records    map[driver.Located]memory.Record
	documents  map[docName]driver.Document
	changes    map[docName][]change // that were intended
	deliveries map[eventName][]delivery
}

// place is an id of a tenant, or a subject, or a path.
type place struct{ tenant, id string }

type eventName struct{ tenant, run, id string }

func (d *delivery) name() eventName { return eventName{d.Tenant, d.Run, d.ID} }

func (v *verifier) wrong(op *operation, format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf("operation %d (%s): ", op.N, op.What)+fmt.Sprintf(format, args...))
}

// astray is wrong with something that belongs to no operation.
func (v *verifier) astray(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *verifier) run(ctx context.Context) error {
	if _, err := v.bank.Maintain(ctx); err != nil { // what it changes is in the log, too
		return err
	}
	if err := v.readLog(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		v.readRecords, v.readDocuments, v.readDeliveries, v.checkDue, v.checkVersions, v.checkArchives, v.checkCommitments,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	v.checkEntries()
	v.checkMutations()
	v.checkDocuments()
	v.checkEvents()
	return nil
}

// readLog reads the journal, the mutations and the queue.
func (v *verifier) readLog() (err error) {
	if v.ops, err = v.journal.operations(); err != nil {
		return err
	}
	if v.mutations, err = v.Log.mutations.operations(); err != nil {
		return err
	}
	v.byNumber, v.forgotten = map[int64]*operation{}, map[place]bool{}
	for _, op := range v.ops {
		v.byNumber[op.N] = op
		switch {
		case op.What == open:
			v.report.Loads++
		case op.outcome == done:
			v.report.Acknowledged++
		case op.unknown():
			v.report.Unknown++
		}
		if op.What == forget && op.outcome == done {
			v.forgotten[place{op.Tenant, op.Subject}] = true
		}
	}
	starts, err := readLines[start](v.queue)
	v.starts = map[place][]start{}
	for _, s := range starts {
		at := place{s.Tenant, s.Commitment}
		v.starts[at] = append(v.starts[at], s)
	}
	return err
}
