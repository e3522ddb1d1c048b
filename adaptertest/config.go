package adaptertest

import (
	"context"
	"errors"
	"testing"

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

	// Seed chooses the random steps. The same seed gives the same steps and texts.
	Seed uint64
}

// Offer is an ability of a store beyond what every store of its kind has.
type Offer string

// The abilities that the kit knows. Every kind of store can be durable and shared.
const (
	Transactor Offer = "transactor" // memory.Transactor
	Versioned  Offer = "versioned"  // memory.Versioned
	Searcher   Offer = "searcher"   // memory.Searcher
	Scanner    Offer = "scanner"    // memory.Scanner
	Durable    Offer = "durable"    // Reopen finds the data of a closed store
	Shared     Offer = "shared"     // Reopen finds the data of an open store
	Damageable Offer = "damageable" // the kit can damage what an archive store holds
)

// Run proves the store in a test, by one subtest for each case. A case for which
// the store does not offer the means is skipped with the reason.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	cfg.proof().run(t)
}

// Check proves the store without a test. Broken laws are in the report, see
// [Report.OK]. The error tells that the store could not be looked at, or that ctx
// was done before all cases were run; the report has those that were.
func Check(ctx context.Context, cfg Config) (*Report, error) {
	return cfg.proof().check(ctx, everything)
}

func (cfg Config) proof() *proof[memory.Adapter, *world] {
	return &proof[memory.Adapter, *world]{
		config: "Config", create: cfg.New, again: cfg.Reopen, require: cfg.Require, seed: cfg.Seed,
		laws: laws(), enter: newWorld, climbs: true,
		inspect: func(store memory.Adapter, found *findings) error { return inspect(store, found, cfg.Reopen != nil) },
	}
}

// inspect finds what a store offers beyond the four operations.
func inspect(store memory.Adapter, found *findings, reopened bool) error {
	if d, ok := memory.As[memory.Describer](store); ok {
		found.traits = d.Traits()
	}
	if found.traits.ReadOnly {
		return errors.New("adaptertest: the store says that it is read-only: prove the one that fills it")
	}
	_, tx := memory.As[memory.Transactor](store)
	found.offer(Transactor, tx, "it has no memory.Transactor")
	_, versioned := memory.As[memory.Versioned](store)
	found.offer(Versioned, versioned, "it has no memory.Versioned")
	_, searcher := memory.As[memory.Searcher](store)
	found.offer(Searcher, searcher, "it has no memory.Searcher")
	_, scanner := memory.As[memory.Scanner](store)
	found.offer(Scanner, scanner, "it has no memory.Scanner")
	if found.traits.Durable && !reopened {
		found.remarks = append(found.remarks, "the store says that it outlives its process; without Config.Reopen that is not proven")
	}
	if !found.traits.Durable && reopened {
		found.remarks = append(found.remarks, "the store does not say that it outlives its process (memory.Describer), so hosts take it as volatile")
	}
	return nil
}

// laws are all laws of a store of entries with all cases, in the order in which they
// run.
func laws() []law {
	return []law{
		isolationLaw(), redactionLaw(), expiryLaw(), orderLaw(), recordLaw(), idempotenceLaw(),
		batchLaw(), outboxLaw(), viewLaw(), forgetLaw(), searchLaw(), durableLaw(),
		consolidationLaw(), compactionLaw(), faultLaw(), modelLaw(),
	}
}

type (
	law      = lawOf[*world]
	testCase = caseOf[*world]
)

// world is what a case about a store of entries works in.
type world struct {
	*stage[memory.Adapter]
	held memory.Version // of cases that hold a view

	tx       memory.Transactor // nil if the store does not offer it
	versions memory.Versioned  // nil if the store does not offer it
	searcher memory.Searcher   // nil if the store does not offer it
	scanner  memory.Scanner    // nil if the store does not offer it
}

func newWorld(st *stage[memory.Adapter]) *world {
	w := &world{stage: st}
	st.used = func(store memory.Adapter) {
		w.tx, _ = memory.As[memory.Transactor](store)
		w.versions, _ = memory.As[memory.Versioned](store)
		w.searcher, _ = memory.As[memory.Searcher](store)
		w.scanner, _ = memory.As[memory.Scanner](store)
	}
	return w
}
