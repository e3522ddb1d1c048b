package adaptertest

import (
	"context"
	"testing"

	"github.com/openwop/agentmemory/commitment"
)

// CommitmentConfig says how the kit gets at a [commitment.Store].
type CommitmentConfig struct {
	// New returns a fresh, empty store. It is called for every case, and by the one
	// that crashes engines for every crash. A store that is an io.Closer is closed
	// when it is done with. New is required.
	New func(ctx context.Context) (commitment.Store, error)

	// Reopen opens the data of s again, as another process would. The kit calls it
	// while s is open, and after it closed s (if s is an io.Closer). A store whose
	// data only one process can have open returns [memory.ErrNotProvided] in the
	// first case. Nil means that nothing outlives the store.
	Reopen func(ctx context.Context, s commitment.Store) (commitment.Store, error)

	// Require are the abilities that the store must have, of [Durable] and [Shared]: a
	// missing one is a failure, not a remark.
	Require []Offer

	// Seed chooses the random steps. The same seed gives the same steps.
	Seed uint64
}

// RunCommitmentStore proves a commitment store in a test, by one subtest for each
// case. What engines rest on to fire once (K2) and to lose no firing (K3) is
// proven both of the store alone and with engines that crash at every call of it.
// A case for which the store does not offer the means is skipped with the reason.
func RunCommitmentStore(t *testing.T, cfg CommitmentConfig) {
	t.Helper()
	cfg.proof().run(t)
}

// CheckCommitmentStore proves a commitment store without a test, as [Check] does for
// a store of entries.
func CheckCommitmentStore(ctx context.Context, cfg CommitmentConfig) (*Report, error) {
	return cfg.proof().check(ctx, everything)
}

func (cfg CommitmentConfig) proof() *proof[commitment.Store, *commitmentWorld] {
	return &proof[commitment.Store, *commitmentWorld]{
		config: "CommitmentConfig", create: cfg.New, again: cfg.Reopen, require: cfg.Require, seed: cfg.Seed,
		laws: commitmentLaws(), enter: func(st *stage[commitment.Store]) *commitmentWorld { return &commitmentWorld{st} },
	}
}

func commitmentLaws() []commitmentLaw {
	return []commitmentLaw{
		commitmentTenantLaw(), commitmentRecordLaw(), commitmentClaimLaw(), commitmentDueLaw(),
		commitmentListLaw(), commitmentFaultLaw(), commitmentDurableLaw(), commitmentEngineLaw(),
	}
}

type (
	commitmentLaw  = lawOf[*commitmentWorld]
	commitmentCase = caseOf[*commitmentWorld]
)

// commitmentWorld is what a case about a commitment store works in.
type commitmentWorld struct{ *stage[commitment.Store] }
