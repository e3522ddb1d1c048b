package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
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

	// Seed chooses the random steps. The same seed gives the same steps.
	Seed uint64
}

// CommitmentReport tells what is known about a commitment store. Its JSON form is
// stable in so far as fields are only added.
type CommitmentReport struct {
	// NotOffered are the abilities that the store lacks, [Durable] and [Shared],
	// with the reason.
	NotOffered map[Offer]string `json:"notOffered"`
	// Seed is the seed of the random steps.
	Seed uint64 `json:"seed"`
	// Laws have the cases, in the order in which they ran.
	Laws []Law `json:"laws"`
}

// OK reports whether no law is broken.
func (r *CommitmentReport) OK() bool { return r.frame().OK() }

// Failures are the texts of all failures.
func (r *CommitmentReport) Failures() []string { return r.frame().Failures() }

// String is the report as text: a line for each law and for what is not offered,
// then the failures.
func (r *CommitmentReport) String() string {
	var b strings.Builder
	for _, l := range r.Laws {
		fmt.Fprintf(&b, "%-12s %-7s %-12s %3d cases\n", l.Name, l.Number, l.Status, len(l.Cases))
	}
	for _, o := range slices.Sorted(maps.Keys(r.NotOffered)) {
		fmt.Fprintf(&b, "not offered: %s: %s\n", o, r.NotOffered[o])
	}
	fmt.Fprintf(&b, "seed: %d\n", r.Seed)
	for _, text := range r.Failures() {
		b.WriteString("\n" + text)
	}
	return b.String()
}

func (r *CommitmentReport) frame() *Report { return &Report{Laws: r.Laws} }

func (r *CommitmentReport) add(l *law, c Case) {
	frame := r.frame()
	frame.add(l, c)
	r.Laws = frame.Laws
}

// RunCommitmentStore proves a commitment store in a test, by one subtest for each
// case. What engines rest on to fire once (K2) and to lose no firing (K3) is
// proven both of the store alone and with engines that crash at every call of it.
// A case for which the store does not offer the means is skipped with the reason.
func RunCommitmentStore(t *testing.T, cfg CommitmentConfig) {
	t.Helper()
	found, err := inspectCommitments(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	report := &CommitmentReport{NotOffered: found.reasons, Seed: cfg.Seed, Laws: []Law{}}
	for _, l := range commitmentLaws() {
		t.Run(l.name, func(t *testing.T) {
			for _, c := range l.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Helper()
					t.Attr("law", l.name)
					t.Attr("number", l.number)
					result := runCommitmentCase(t.Context(), &cfg, found, &l, &c)
					report.add(&l.law, result)
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
	t.Log("\n" + report.String())
}

// CheckCommitmentStore proves a commitment store without a test. Broken laws are in
// the report, see [CommitmentReport.OK]. The error tells that the store could not be
// looked at, or that ctx was done before all cases were run; the report has those
// that were.
func CheckCommitmentStore(ctx context.Context, cfg CommitmentConfig) (*CommitmentReport, error) {
	return checkCommitments(ctx, cfg, func(string) bool { return true })
}

// checkCommitments runs the cases that wanted lets through, by their names
// "LAW/case".
func checkCommitments(ctx context.Context, cfg CommitmentConfig, wanted func(name string) bool) (*CommitmentReport, error) {
	found, err := inspectCommitments(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	report := &CommitmentReport{NotOffered: found.reasons, Seed: cfg.Seed, Laws: []Law{}}
	for _, l := range commitmentLaws() {
		for _, c := range l.cases {
			if !wanted(l.name + "/" + c.name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return report, err
			}
			report.add(&l.law, runCommitmentCase(ctx, &cfg, found, &l, &c))
		}
	}
	return report, nil
}

// inspectCommitments opens a store to see what it offers.
func inspectCommitments(ctx context.Context, cfg *CommitmentConfig) (found *findings, err error) {
	if cfg.New == nil {
		return nil, errors.New("adaptertest: CommitmentConfig.New is not set")
	}
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("adaptertest: opening a store panicked: %v", r)
		}
	}()
	store, err := cfg.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("adaptertest: CommitmentConfig.New failed: %w", err)
	}
	if store == nil {
		return nil, errors.New("adaptertest: CommitmentConfig.New gave no store")
	}
	defer closeCommitments(store)
	found = &findings{reasons: map[Offer]string{}}
	if cfg.Reopen == nil {
		found.offer(Durable, false, "CommitmentConfig.Reopen is not set")
		found.offer(Shared, false, "CommitmentConfig.Reopen is not set")
		return found, nil
	}
	found.offer(Durable, true, "")
	second, err := cfg.Reopen(ctx, store)
	switch {
	case err == nil:
		defer closeCommitments(second)
		found.offer(Shared, true, "")
	case errors.Is(err, memory.ErrNotProvided):
		found.offer(Shared, false, "only one process at a time can have its data open")
	default:
		return nil, fmt.Errorf("adaptertest: CommitmentConfig.Reopen failed: %w", err)
	}
	return found, nil
}
