package adaptertest

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Config says how the kit gets at a store.
type Config struct {
	// New returns a fresh, empty store. It is called for every case, and several
	// times by some. A store that is an io.Closer is closed after its case. New is
	// required.
	New func(ctx context.Context) (driver.Adapter, error)

	// Reopen opens the data of a again, as another process would. The kit calls it
	// while a is open, and after it closed a (if a is an io.Closer). A store whose
	// data only one process can have open returns [driver.ErrNotProvided] in the
	// first case. Nil means that nothing outlives the store.
	Reopen func(ctx context.Context, a driver.Adapter) (driver.Adapter, error)

	// Crash opens the data of a again as they are where a keeps them, as after a kill of
	// its process: a is not closed before, and nothing of what it still holds back is
	// written. A store with files opens a copy of them; where its engine removes files meanwhile,
	// a checkpoint of the engine's that writes nothing of what is held back. The kit goes on with the store
	// that Crash returns, and only closes a. Nil means that the report cannot
	// say more of a durable store than that its durability is not proven: one that writes
	// only as it is closed would pass.
	Crash func(ctx context.Context, a driver.Adapter) (driver.Adapter, error)

	// Require are the abilities that the store must have: a missing one is a
	// failure, not a remark.
	Require []Offer

	// Certificate is the path of the store's certificate, without an extension: Run fails if
	// the two forms of [Report.Certificate] are not what is in the files PATH.txt and
	// PATH.json, and writes them instead if AGENTMEMORY_CERTIFY is in the environment. It
	// does neither if a law is broken, or if not all cases ran. Empty means that there is none.
	Certificate string

	// Progress is told which law is looked at, of how many, and how long the rest takes if it
	// goes on like that, by a line each. Nil means that nothing is.
	Progress io.Writer

	// Short takes fewer names, sizes and random steps, as -short in a test does.
	Short bool

	// Seed chooses the random steps. The same seed gives the same steps and texts. 0 is another one in each
	// run with AGENTMEMORY_LONG in the environment, unless Short is set; the report says which.
	Seed uint64

	// Parallel is how many cases run side by side, each on stores of its own, so that New, Reopen and
	// Crash are called at once. Run then runs all cases before its subtests tell of them, those
	// too that -run leaves out. 0 means one after the other.
	Parallel int

	unshrunk bool // a failure stays as long as it was found
}

// Offer is an ability of a store beyond the four operations.
type Offer string

// The abilities that the kit knows.
const (
	Transactor Offer = "transactor" // driver.Transactor
	Versioned  Offer = "versioned"  // driver.Versioned
	Scheduler  Offer = "scheduler"  // driver.Scheduler
	Changes    Offer = "changes"    // driver.Changes
	Tenants    Offer = "tenants"    // driver.Tenants
	Events     Offer = "events"     // driver.EventKeeper
	Durable    Offer = "durable"    // Reopen finds the data of a closed store
	Shared     Offer = "shared"     // Reopen finds the data of an open store
	Killed     Offer = "killed"     // Crash finds the data of a store that was not closed
)

// Run proves the store in a test, by one subtest for each case. A case for which
// the store does not offer the means is skipped with the reason.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Short = cfg.Short || testing.Short()
	cfg = cfg.seeded()
	report, err := cfg.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range report.Missing {
		t.Errorf("the store does not offer %s, which is required: %s", missing, report.reason(missing))
	}
	run := cfg.runner(t.Context(), report, everything)
	for l, c := range everyCase() {
		t.Run(l.name+"/"+c.name, func(t *testing.T) {
			t.Helper()
			t.Attr("law", l.name)
			t.Attr("number", l.number)
			result := run(l, c)
			report.add(l, &result)
			switch {
			case result.Cause != "":
				t.Errorf("fails most likely for the same reason as %s", result.Cause)
			case result.Status == Broken:
				t.Error("\n" + result.Failure)
			case result.Status == NotOffered:
				t.Skip(result.Reason)
			}
		})
	}
	report.finish()
	t.Log("\n" + report.String())
	switch {
	case cfg.Certificate == "" || !report.OK():
	case !report.whole():
		t.Log("not all cases ran: the certificate was not looked at")
	default:
		if err := report.certify(cfg.Certificate); err != nil {
			t.Error(err)
		}
	}
}

// everyCase yields all cases with their laws.
func everyCase() iter.Seq2[*law, *testCase] {
	return func(yield func(*law, *testCase) bool) {
		all := laws()
		for i := range all {
			for k := range all[i].cases {
				if !yield(&all[i], &all[i].cases[k]) {
					return
				}
			}
		}
	}
}

// teller tells the progress that a case comes next, by a line for the first one of each law.
func (cfg Config) teller() func(l *law) {
	var mu sync.Mutex
	began, done, told := time.Now(), 0, map[string]bool{}
	_, all := new(Report).cases()
	return func(l *law) {
		mu.Lock()
		defer mu.Unlock()
		if cfg.Progress != nil && !told[l.name] {
			told[l.name] = true
			line := fmt.Sprintf("law %d of %d: %s: %s", len(told), len(laws()), l.name, l.says)
			if done > 0 {
				rest := time.Since(began) / time.Duration(done) * time.Duration(all-done)
				line += fmt.Sprintf("; about %s left", rest.Round(time.Second))
			}
			fmt.Fprintln(cfg.Progress, line)
		}
		done++
	}
}

// runner returns what gives the result of a case. If cases run side by side, all are run before it
// returns: first, one after the other, those that count what the process has, then the rest, the
// last laws first, as the longest cases are theirs.
func (cfg Config) runner(ctx context.Context, found *Report, wanted func(name string) bool) func(l *law, c *testCase) Case {
	tell := cfg.teller()
	run := func(l *law, c *testCase) Case {
		tell(l)
		return cfg.runCase(ctx, found, l, c)
	}
	if cfg.Parallel < 2 {
		return run
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	results, free := map[string]Case{}, make(chan struct{}, cfg.Parallel)
	for _, alone := range []bool{true, false} {
		for _, l := range slices.Backward(laws()) {
			for _, c := range l.cases {
				name := l.name + "/" + c.name
				if c.countsResources() != alone || !wanted(name) {
					continue
				}
				free <- struct{}{}
				wait.Go(func() {
					result := run(&l, &c)
					mu.Lock()
					defer mu.Unlock()
					results[name] = result
					<-free
				})
				if alone {
					wait.Wait()
				}
			}
		}
	}
	wait.Wait()
	return func(l *law, c *testCase) Case { return results[l.name+"/"+c.name] }
}

// Check proves the store without a test. Broken laws are in the report, see
// [Report.OK]. The error tells that the store could not be looked at, or that ctx
// was done before all cases were run; the report has those that were.
func Check(ctx context.Context, cfg Config) (*Report, error) {
	return cfg.seeded().check(ctx, everything)
}

// long reports whether AGENTMEMORY_LONG asks for what other runs have not tried.
func (cfg Config) long() bool { return !cfg.Short && os.Getenv("AGENTMEMORY_LONG") != "" }

// seeded is cfg with a seed of this run's own, if it has none and the run is long.
func (cfg Config) seeded() Config {
	if cfg.Seed == 0 && cfg.long() {
		cfg.Seed = rand.Uint64()
	}
	return cfg
}

// everything lets all cases through.
func everything(string) bool { return true }

// check proves the store by the cases that wanted lets through, by their names
// "LAW/case".
func (cfg Config) check(ctx context.Context, wanted func(name string) bool) (*Report, error) {
	report, err := cfg.look(ctx)
	if err != nil {
		return nil, err
	}
	defer report.finish()
	run := cfg.runner(ctx, report, wanted)
	for l, c := range everyCase() {
		if !wanted(l.name + "/" + c.name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
		result := run(l, c)
		report.add(l, &result)
	}
	return report, nil
}
