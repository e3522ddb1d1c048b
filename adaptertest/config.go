package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Config says how the kit gets at a store.
type Config struct {
	// New returns a fresh, empty store. It is called for every case, and several
	// times by some. A store that is an io.Closer is closed after its case. New is
	// required.
	New func(ctx context.Context) (memory.Adapter, error)

	// Reopen opens the data of a again, as another process would. The kit calls it
	// while a is open, and after it closed a (if a is an io.Closer). A store whose
	// data only one process can have open returns [memory.ErrNotProvided] in the
	// first case. Nil means that nothing outlives the store.
	Reopen func(ctx context.Context, a memory.Adapter) (memory.Adapter, error)

	// Require are the abilities that the store must have: a missing one is a
	// failure, not a remark.
	Require []Offer

	// Seed chooses the random steps. The same seed gives the same steps.
	Seed uint64
}

// Offer is an ability of a store beyond the four operations.
type Offer string

// The abilities that the kit knows.
const (
	Transactor Offer = "transactor" // memory.Transactor
	Versioned  Offer = "versioned"  // memory.Versioned
	Searcher   Offer = "searcher"   // memory.Searcher
	Scanner    Offer = "scanner"    // memory.Scanner
	Durable    Offer = "durable"    // Config.Reopen finds the data of a closed store
	Shared     Offer = "shared"     // Config.Reopen finds the data of an open store
)

// caseTimeout ends a case whose store does not answer. No store comes near it.
const caseTimeout = time.Minute

// Run proves the store in a test, by one subtest for each case. A case for which
// the store does not offer the means is skipped with the reason.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	found, err := inspect(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range found.missing(cfg.Require) {
		t.Errorf("the store does not offer %s, which is required: %s", missing, found.reason(missing))
	}
	report := newReport(&cfg, found)
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			for _, c := range l.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Helper()
					t.Attr("law", l.name)
					t.Attr("number", l.number)
					result := runCase(t.Context(), &cfg, found, &l, &c)
					report.add(&l, result)
					switch result.Status {
					case Broken:
						t.Error("\n" + result.Failure)
					case NotOffered:
						t.Skip(result.Reason)
					}
				})
			}
		})
	}
	report.finish()
	t.Log("\n" + report.String())
}

// Check proves the store without a test. Broken laws are in the report, see
// [Report.OK]. The error tells that the store could not be looked at, or that ctx
// was done before all cases were run; the report has those that were.
func Check(ctx context.Context, cfg Config) (*Report, error) {
	return check(ctx, cfg, func(string) bool { return true })
}

// check runs the cases that wanted lets through, by their names "LAW/case".
func check(ctx context.Context, cfg Config, wanted func(name string) bool) (*Report, error) {
	found, err := inspect(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	report := newReport(&cfg, found)
	defer report.finish()
	for _, l := range laws() {
		for _, c := range l.cases {
			if !wanted(l.name + "/" + c.name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return report, err
			}
			report.add(&l, runCase(ctx, &cfg, found, &l, &c))
		}
	}
	return report, nil
}

// findings are what a store offers, and why not for the rest.
type findings struct {
	offers  []Offer
	reasons map[Offer]string
	traits  memory.Traits
}

func (f *findings) offer(o Offer, ok bool, reason string) {
	if ok {
		f.offers = append(f.offers, o)
	} else {
		f.reasons[o] = reason
	}
}

func (f *findings) missing(wanted []Offer) []Offer {
	return slices.DeleteFunc(slices.Clone(wanted), func(o Offer) bool { return slices.Contains(f.offers, o) })
}

func (f *findings) reason(o Offer) string {
	if reason, known := f.reasons[o]; known {
		return reason
	}
	return "the kit does not know this ability"
}

// inspect opens a store to see what it offers.
func inspect(ctx context.Context, cfg *Config) (found *findings, err error) {
	if cfg.New == nil {
		return nil, errors.New("adaptertest: Config.New is not set")
	}
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("adaptertest: opening a store panicked: %v", r)
		}
	}()
	store, err := cfg.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("adaptertest: Config.New failed: %w", err)
	}
	if store == nil {
		return nil, errors.New("adaptertest: Config.New gave no store")
	}
	defer closeStore(store)
	found = &findings{reasons: map[Offer]string{}}
	if d, ok := memory.As[memory.Describer](store); ok {
		found.traits = d.Traits()
	}
	if found.traits.ReadOnly {
		return nil, errors.New("adaptertest: the store says that it is read-only: prove the one that fills it")
	}
	_, tx := memory.As[memory.Transactor](store)
	found.offer(Transactor, tx, "it has no memory.Transactor")
	_, versioned := memory.As[memory.Versioned](store)
	found.offer(Versioned, versioned, "it has no memory.Versioned")
	_, searcher := memory.As[memory.Searcher](store)
	found.offer(Searcher, searcher, "it has no memory.Searcher")
	_, scanner := memory.As[memory.Scanner](store)
	found.offer(Scanner, scanner, "it has no memory.Scanner")
	if cfg.Reopen == nil {
		found.offer(Durable, false, "Config.Reopen is not set")
		found.offer(Shared, false, "Config.Reopen is not set")
		return found, nil
	}
	found.offer(Durable, true, "")
	second, err := cfg.Reopen(ctx, store)
	switch {
	case err == nil:
		defer closeStore(second)
		found.offer(Shared, true, "")
	case errors.Is(err, memory.ErrNotProvided):
		found.offer(Shared, false, "only one process at a time can have its data open")
	default:
		return nil, fmt.Errorf("adaptertest: Config.Reopen failed: %w", err)
	}
	return found, nil
}
