package crashload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// EnvLogDir tells a process that it is the child of [LogRounds], and where its journal is.
const EnvLogDir = "AGENTMEMORY_CRASHLOAD_LOG_DIR"

// LogOpener opens the store whose kept events are put under load, over the same data each
// time. Shut, if it is not nil, closes what was opened.
type LogOpener func(ctx context.Context) (store driver.EventKeeper, shut func() error, err error)

// LogRounds kill a load of kept events over and over, on the same data, and verify after
// each time (E3): what was acknowledged is there, what was not is there whole or not at all,
// the events of a run have sequences from 0 without gaps, none comes twice, those of one
// writer are in its order, an entry is there if and only if its events are, and
// what a round has found stays where it was.
type LogRounds struct {
	Dir  string // an empty directory for the journal; the store may be there too
	Seed uint64
	N    int
	Open LogOpener
	Env  []string // added to the child's environment
	// Strike, if set, happens in the midst of the load, see [Rounds].
	Strike func(ctx context.Context, round int) error
	// Seen, if set, is told how many events each round has found.
	Seen func(round, events int)
}

// logNote is a line of the journal: a batch before it is emitted, or that it was.
type logNote struct {
	N      string   `json:"n"` // the batch
	Done   bool     `json:"done,omitempty"`
	Writer string   `json:"writer,omitempty"`
	Run    string   `json:"run,omitempty"`
	IDs    []string `json:"ids,omitempty"`
	Entry  string   `json:"entry,omitempty"` // that the mutation puts; empty if there is none
}

// logInstant is the time of every event.
var logInstant = time.UnixMilli(1_777_636_800_000).UTC()

var logScope = driver.Scope{Tenant: "acme", Ref: "notes"}

// logRuns is how many runs the writers share.
const logRuns = 3

// Run makes the rounds. It returns the first error with the number of its round. No process
// is left behind.
func (r LogRounds) Run(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(r.Seed, 1))
	before := map[string][]string{}
	for round := range r.N {
		if err := r.round(ctx, round, rng); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		store, shut, err := r.Open(ctx)
		if err == nil {
			// See the looks of [Log.Verify].
			for look := 1; look == 1 || err != nil && look <= looks; look++ {
				if look > 1 {
					pause(ctx, untilNext)
				}
				err = r.verify(ctx, store, before)
			}
			if shut != nil {
				err = errors.Join(err, shut())
			}
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		if r.Seen != nil {
			n := 0
			for _, ids := range before {
				n += len(ids)
			}
			r.Seen(round, n)
		}
	}
	return nil
}

func (r LogRounds) round(ctx context.Context, round int, rng *rand.Rand) error {
	env := append(slices.Clone(r.Env), fmt.Sprintf("%s_ROUND=%d", EnvLogDir, round))
	c, err := startChild(ctx, EnvLogDir, r.Dir, env)
	if err != nil {
		return err
	}
	defer c.kill()
	if err := c.grow(ctx, rng); err != nil || r.Strike == nil {
		return err
	}
	if err := r.Strike(ctx, round); err != nil {
		return err
	}
	return c.grow(ctx, rng)
}

// verify compares the kept events with the journal, and with the ids that it had before by run, to
// which it adds those that are new.
func (r LogRounds) verify(ctx context.Context, store driver.EventKeeper, before map[string][]string) error {
	journal, err := openLines(filepath.Join(r.Dir, journalFile))
	if err != nil {
		return err
	}
	notes, err := readLines[logNote](journal)
	if err = errors.Join(err, journal.f.Close()); err != nil {
		return err
	}
	at := map[string]int{} // by run and id
	size := 0
	for i := range logRuns {
		run := fmt.Sprint("run-", i)
		var ids []string
		for {
			page, err := store.Read(ctx, logScope.Tenant, run, int64(len(ids)), 0)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, ev := range page {
				if _, twice := at[run+ev.ID]; twice || ev.Sequence != int64(len(ids)) {
					return fmt.Errorf("crashload: run %s has as number %d an event with sequence %d, twice: %v", run, len(ids), ev.Sequence, twice)
				}
				at[run+ev.ID] = len(ids)
				ids = append(ids, ev.ID)
			}
		}
		if n := len(before[run]); n > len(ids) || !slices.Equal(before[run], ids[:n]) {
			return fmt.Errorf("crashload: the first %d events of run %s are not what they were", n, run)
		}
		before[run] = ids
		size += len(ids)
	}
	done, there, last := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, n := range notes {
		done[n.N] = done[n.N] || n.Done
	}
	for _, n := range notes {
		if n.Done {
			continue
		}
		first, known := at[n.Run+n.IDs[0]]
		for i, id := range n.IDs {
			if where, held := at[n.Run+id]; held != known || held && where != first+i {
				return fmt.Errorf("crashload: batch %s is there by half, or not in a row", n.N)
			}
			if known {
				size--
			}
		}
		switch before, wrote := last[n.Writer+n.Run]; {
		case done[n.N] && !known:
			return fmt.Errorf("crashload: batch %s was acknowledged and is not there", n.N)
		case known && wrote && first < before:
			return fmt.Errorf("crashload: batch %s is before an earlier one of its writer", n.N)
		case known:
			last[n.Writer+n.Run] = first
		}
		if n.Entry != "" {
			there[n.Entry] = known
		}
	}
	if size != 0 {
		return fmt.Errorf("crashload: %d events are there that nobody emitted", size)
	}
	return sameEntries(ctx, store, there)
}

// sameEntries expects that just those entries are there whose events are.
func sameEntries(ctx context.Context, store driver.EventKeeper, there map[string]bool) error {
	entries, err := store.List(ctx, logScope, driver.Query{})
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !there[e.ID] {
			return fmt.Errorf("crashload: the entry %s is there and its events are not", e.ID)
		}
		delete(there, e.ID)
	}
	for id, has := range there {
		if has {
			return fmt.Errorf("crashload: the events of %s are there and the entry is not", id)
		}
	}
	return nil
}

// ChildLog is what a process runs that [LogRounds] has started, see [Child].
func ChildLog(open LogOpener) {
	runChild(EnvLogDir, func(ctx context.Context, dir string) error {
		store, shut, err := open(ctx)
		if err == nil {
			err = loadLog(ctx, dir, store)
			if shut != nil {
				err = errors.Join(err, shut())
			}
		}
		return err
	})
}

// loadLog has writers keep batches of events until ctx is done.
func loadLog(ctx context.Context, dir string, store driver.EventKeeper) error {
	journal, err := openLines(filepath.Join(dir, journalFile))
	if err != nil {
		return err
	}
	defer journal.f.Close()
	round, _ := strconv.ParseUint(os.Getenv(EnvLogDir+"_ROUND"), 10, 64)
	var wg sync.WaitGroup
	failed := make([]error, 4)
	for w := range failed {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(round, uint64(w)))
			name := fmt.Sprintf("%d-%d", round, w)
			var last []events.Record
			for n := int64(0); ctx.Err() == nil && failed[w] == nil; n++ {
				if len(last) > 0 && rng.IntN(4) == 0 {
					_, _ = store.Apply(ctx, logScope.Tenant, driver.Mutation{Events: last, Keep: true}) // which the store has
				}
				last, failed[w] = writeLog(ctx, journal, store, rng, name, n)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// writeLog keeps one batch with its lines in the journal, and returns it if it was
// acknowledged. Every second batch is that of an entry.
func writeLog(ctx context.Context, journal *lines, store driver.EventKeeper, rng *rand.Rand, writer string, n int64) ([]events.Record, error) {
	intent := logNote{N: fmt.Sprintf("%s-%d", writer, n), Writer: writer, Run: fmt.Sprint("run-", rng.IntN(logRuns))}
	var recs []events.Record
	at := events.Record{Tenant: logScope.Tenant, RunID: intent.Run, Time: logInstant, Payload: events.HostPayload{Type: "node.completed", JSON: []byte(`{"output":"x"}`)}}
	for i := range 1 + rng.IntN(4) {
		at.ID = fmt.Sprintf("%s-%d-%d", writer, n, i)
		recs, intent.IDs = append(recs, at), append(intent.IDs, at.ID)
	}
	m := driver.Mutation{Events: recs, Keep: true}
	if n%2 == 0 {
		intent.Entry = recs[0].ID
		m.Put = []driver.Placed{{Scope: logScope, Entry: driver.Entry{ID: intent.Entry, Content: "x", CreatedAt: logInstant}}}
	}
	if err := journal.add(intent); err != nil {
		return nil, err
	}
	if _, err := store.Apply(ctx, logScope.Tenant, m); err != nil {
		return nil, nil // the outcome is unknown
	}
	return recs, journal.add(logNote{N: intent.N, Done: true})
}
