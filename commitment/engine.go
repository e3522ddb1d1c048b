package commitment

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// The values that stand for the zero ones of a [Config].
const (
	DefaultHorizon = 366 * 24 * time.Hour
	DefaultGrace   = time.Minute
	DefaultLease   = time.Minute
	DefaultBackoff = 10 * time.Second
	DefaultTries   = 8
	// MaxBackoff bounds the wait between two tries.
	MaxBackoff = time.Hour
)

// Config sets up an [Engine]. Store and Redactor are required.
type Config struct {
	// Store keeps the commitments.
	Store Store
	// Redactor opens a tenant's secrets for a pass, as a [memory.JobConfig] wants
	// them. If what it returns is an [io.Closer] it is closed after the pass.
	//
	// [io.Closer]: https://pkg.go.dev/io#Closer
	Redactor func(ctx context.Context, tenant string) (memory.Redactor, error)
	// Enqueuer starts the run of a firing. Nil fires as a notification, without a
	// run.
	Enqueuer Enqueuer
	// Inferrer finds intentions in entries; nil is [Dates] in UTC.
	Inferrer Inferrer
	// Predicate tells whether the host has registered a predicate under that name
	// for the tenant. Nil knows none, and predicate arms are refused.
	Predicate func(tenant, name string) bool
	// Schedule reads Arm.Spec; nil is [ParseCron]. It gives the same schedule for
	// the same specification in every process.
	Schedule func(spec string, in *time.Location) (Schedule, error)
	// Missed says what becomes of instants that passed while nobody looked; empty is
	// [FireOnce]. Grace is how late an instant may be seen before it counts as
	// missed, 0 for [DefaultGrace]. It matters to [Skip] only.
	Missed Missed
	Grace  time.Duration
	// Horizon is how far ahead an instant may lie, the protocol's maxFutureHorizon;
	// 0 is [DefaultHorizon].
	Horizon time.Duration
	// Lease is how long one delivery may take before another process takes it over;
	// 0 is [DefaultLease]. An Enqueuer gets half of it.
	Lease time.Duration
	// Tries is how many deliveries are begun before a commitment is [Dead]; 0 is
	// [DefaultTries]. Backoff is the wait after the first one, 0 for
	// [DefaultBackoff]; it doubles from try to try, up to [MaxBackoff].
	Tries   int
	Backoff time.Duration
}

// Engine infers, arms and fires the standing commitments of a bank's memory (RFC
// 0068 §C, §D). It keeps nothing itself: any number of engines, in any number of
// processes, may share a store and a memory. It is safe for concurrent use.
type Engine struct {
	bank  *memory.Bank
	cfg   Config
	zones sync.Map // name to *time.Location

	predicates bool // the host has registered some
}

// New returns an engine over the bank's memory. It fails with [memory.ErrValidation]
// for a Config that lacks something or contradicts itself, and with
// [memory.ErrNotProvided] if the bank's store is not a [memory.Transactor].
func New(bank *memory.Bank, cfg Config) (*Engine, error) {
	switch {
	case bank == nil || cfg.Store == nil || cfg.Redactor == nil:
		return nil, invalid("an engine needs a bank, a store and a redactor")
	case cfg.Grace < 0 || cfg.Horizon < 0 || cfg.Lease < 0 || cfg.Backoff < 0 || cfg.Tries < 0:
		return nil, invalid("a limit is below zero")
	case cfg.Missed != "" && cfg.Missed != FireOnce && cfg.Missed != Skip:
		return nil, invalid("unknown policy for missed instants")
	case !bank.Offers().Transactions:
		return nil, &refusal{memory.ErrNotProvided, "commitments need a Transactor", nil}
	}
	predicates := cfg.Predicate != nil
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&cfg.Grace, DefaultGrace)
	set(&cfg.Horizon, DefaultHorizon)
	set(&cfg.Lease, DefaultLease)
	set(&cfg.Backoff, DefaultBackoff)
	if cfg.Tries == 0 {
		cfg.Tries = DefaultTries
	}
	if cfg.Missed == "" {
		cfg.Missed = FireOnce
	}
	if cfg.Inferrer == nil {
		cfg.Inferrer = Dates{}
	}
	if cfg.Schedule == nil {
		cfg.Schedule = ParseCron
	}
	if cfg.Predicate == nil {
		cfg.Predicate = func(string, string) bool { return false }
	}
	return &Engine{bank: bank, cfg: cfg, predicates: predicates}, nil
}

// Conditions are the kinds of arms that the engine takes, the capability's
// fireConditions (RFC 0068 §A). A predicate needs a Config.Predicate.
func (e *Engine) Conditions() []events.Condition {
	out := []events.Condition{events.ConditionTime}
	if e.predicates {
		out = append(out, events.ConditionPredicate)
	}
	return out
}

// Horizon is how far ahead an instant may lie.
func (e *Engine) Horizon() time.Duration { return e.cfg.Horizon }

// Missed is the policy for instants that passed while nobody looked.
func (e *Engine) Missed() Missed { return e.cfg.Missed }

// Commitments yields the tenant's commitments by id, whatever their state: also those
// that lapsed or are dead. It stops after an error.
func (e *Engine) Commitments(ctx context.Context, tenant string) iter.Seq2[Commitment, error] {
	return func(yield func(Commitment, error) bool) {
		for c, err := range e.cfg.Store.OfTenant(ctx, tenant, "") {
			if !yield(c, storeFailed(err)) || err != nil {
				return
			}
		}
	}
}

// Cancel ends a commitment, unless it has ended already, and returns what became of
// it. A delivery that is under way is not called back: the commitment then is
// Canceled, its firing is completed, and nothing follows.
func (e *Engine) Cancel(ctx context.Context, tenant, id string) (Commitment, error) {
	return e.update(ctx, tenant, id, func(c *Commitment) (bool, error) {
		switch {
		case c.State.Final() || c.Canceled:
			return false, nil
		case c.State == Delivered || c.busy(e.bank.Now()):
			c.Canceled, c.Waiting = true, nil
		default:
			c.end(Lapsed, ReasonCanceled)
		}
		return true, nil
	})
}

// update changes a commitment by as many swaps as it takes for one to succeed, and
// returns it as stored. change may be called again, and reports whether there is
// anything to store.
func (e *Engine) update(ctx context.Context, tenant, id string, change func(*Commitment) (bool, error)) (Commitment, error) {
	for {
		c, err := e.cfg.Store.Get(ctx, tenant, id)
		if err != nil {
			return Commitment{}, storeFailed(err)
		}
		if ok, err := change(&c); !ok || err != nil {
			return c, err
		}
		if ok, err := e.swap(ctx, &c); ok || err != nil {
			return c, err
		}
	}
}

// swap stores c and reports false if somebody else was faster.
func (e *Engine) swap(ctx context.Context, c *Commitment) (bool, error) {
	rev, err := e.cfg.Store.Swap(ctx, *c)
	if errors.Is(err, memory.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, storeFailed(err)
	}
	c.Rev = rev
	return true, nil
}
