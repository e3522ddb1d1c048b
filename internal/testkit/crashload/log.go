package crashload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Log is what outlives a load: the journal of its operations, the events that its sink
// has taken, and the runs that its queue has started. It is all in one directory. One
// Log of a directory is open at a time.
type Log struct {
	seed  uint64
	epoch time.Time

	// The mutations of the store have a file of their own, so that the journal grows by
	// operations alone, however much was due when a load began.
	journal, mutations, sink, queue *lines

	speed     int           // of its clock
	untilNext time.Duration // look, if the first finds something wrong

	next atomic.Int64 // the number of the operation before
	mu   sync.Mutex
	runs map[string]string // by idempotency key
}

const (
	journalFile   = "journal.jsonl"
	mutationsFile = "mutations.jsonl"
	sinkFile      = "events.jsonl"
	queueFile     = "runs.jsonl"
)

// what is the kind of an operation, or what came of one.
type what string

const (
	begin what = "begin" // of the journal: its seed and its epoch
	open  what = "open"  // a load begins

	put         what = "put"
	batch       what = "batch"
	remove      what = "delete"
	forget      what = "forget"
	consolidate what = "consolidate"
	distil      what = "distill"
	arm         what = "arm"
	observe     what = "observe"
	write       what = "write"
	version     what = "version" // a reading, which has no outcome
	mutate      what = "mutate"  // of the store, by any operation

	done    what = "done"    // the store acknowledged the operation
	refused what = "refused" // the store said that nothing happened
	failed  what = "failed"  // the outcome is unknown
)

// note is a line of the journal: what was intended, or what came of it. An intention is
// there before the operation begins, an outcome after it was acknowledged.
type note struct {
	N    int64 `json:"n"`
	What what  `json:"what"`

	Tenant  string   `json:"tenant,omitempty"`
	Ref     string   `json:"ref,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Version string   `json:"version,omitempty"`
	IDs     []string `json:"ids,omitempty"` // of the entries at a version

	// Of a mutation: what it puts, ends, restores, erases, swaps (with the sum of a value
	// in its place) and announces, and how it was acknowledged.
	Puts     []summed              `json:"puts,omitempty"`
	Ends     []driver.Retirement   `json:"ends,omitempty"`
	Restores []driver.Located      `json:"restores,omitempty"`
	Erases   []driver.Located      `json:"erases,omitempty"`
	Swaps    []driver.DocumentSwap `json:"swaps,omitempty"`
	Events   []delivery            `json:"events,omitempty"`
	Revs     []int64               `json:"revs,omitempty"`
	Missed   bool                  `json:"missed,omitempty"` // a deletion of what was not live

	Seed  uint64 `json:"seed,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
}

// summed is the place of an entry, and the sum of what it says.
type summed struct {
	driver.Located
	Sum string
}

// delivery is a line of the sink.
type delivery struct {
	Tenant  string          `json:"tenant"`
	Run     string          `json:"run"`
	ID      string          `json:"id"`
	Type    events.Type     `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// start is a line of the queue: a call, whether or not it started the run.
type start struct {
	Key        string `json:"key"`
	Tenant     string `json:"tenant"`
	Commitment string `json:"commitment"`
	Fence      int64  `json:"fence"`
	Run        string `json:"run"`
}

// Open opens the log in a directory, or makes one there. The seed decides what the loads
// do; one that is there keeps its own.
func Open(dir string, seed uint64) (*Log, error) {
	l := &Log{speed: speed, untilNext: untilNext, runs: map[string]string{}}
	for name, to := range map[string]**lines{journalFile: &l.journal, mutationsFile: &l.mutations, sinkFile: &l.sink, queueFile: &l.queue} {
		f, err := openLines(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		*to = f
	}
	if err := l.load(seed); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) load(seed uint64) error {
	notes, err := readLines[note](l.journal)
	if err != nil {
		return err
	}
	if len(notes) == 0 {
		first := note{What: begin, Seed: seed, Epoch: time.Now().UnixMilli()}
		if err := l.journal.add(first); err != nil {
			return err
		}
		notes = []note{first}
	}
	l.seed, l.epoch = notes[0].Seed, time.UnixMilli(notes[0].Epoch).UTC()
	mutations, err := readLines[note](l.mutations)
	if err != nil {
		return err
	}
	for _, n := range append(notes, mutations...) {
		l.next.Store(max(l.next.Load(), n.N))
	}
	starts, err := readLines[start](l.queue)
	for _, s := range starts {
		l.runs[s.Key] = s.Run
	}
	return err
}

// Close closes the files.
func (l *Log) Close() error {
	var failed error
	for _, f := range []*lines{l.journal, l.mutations, l.sink, l.queue} {
		if f != nil {
			failed = errors.Join(failed, f.f.Close())
		}
	}
	return failed
}

// speed is how much faster than a wall clock the load's runs, so that leases end and
// commitments fall due within a round.
const speed = 100

// Now is the clock of the load. It goes on from one process to the next.
func (l *Log) Now() time.Time { return l.epoch.Add(time.Duration(l.speed) * time.Since(l.epoch)) }

// intend writes down an operation in one of the files, and numbers it.
func (l *Log) intend(in *lines, n note) (note, error) {
	n.N = l.next.Add(1)
	return n, in.add(n)
}

// brokenLoad is an error of the load itself.
type brokenLoad struct{ error }

// perform is an operation with its lines in one of the files.
func (l *Log) perform(in *lines, n note, act func(note) (note, error)) error {
	n, err := l.intend(in, n)
	if err != nil {
		return brokenLoad{err}
	}
	return in.conclude(n, act)
}

// conclude does what was intended, and writes down what came of it.
func (l *lines) conclude(n note, act func(note) (note, error)) error {
	out, err := act(n)
	switch {
	case err == nil:
		out.What = done
	case errors.Is(err, driver.ErrConflict), errors.Is(err, driver.ErrBacklog):
		out = note{What: refused}
	default:
		out = note{What: failed}
	}
	out.N = n.N
	if broken := l.add(out); broken != nil {
		return brokenLoad{broken}
	}
	return err
}

// Emit implements [events.Sink]: it writes down every record that comes.
func (l *Log) Emit(ctx context.Context, recs ...events.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	taken := make([]any, len(recs))
	for i, r := range recs {
		var err error
		if taken[i], err = deliveryOf(r); err != nil {
			return err
		}
	}
	return l.sink.add(taken...)
}

func deliveryOf(r events.Record) (delivery, error) {
	payload, err := json.Marshal(r.Payload)
	return delivery{r.Tenant, r.RunID, r.ID, r.Payload.EventType(), payload}, err
}

// Enqueue implements [commitment.Enqueuer]: a table of keys that the death of a process
// does not reach.
func (l *Log) Enqueue(ctx context.Context, f commitment.Firing) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	run, known := l.runs[f.Key]
	if !known {
		run = fmt.Sprintf("fired-%d", len(l.runs)+1)
	}
	if err := l.queue.add(start{f.Key, f.Tenant, f.CommitmentID, f.Fence, run}); err != nil {
		return "", err
	}
	l.runs[f.Key] = run
	return run, nil
}
