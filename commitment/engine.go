package commitment

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"reflect"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The values that a [Config] has where it names none.
const (
	DefaultHorizon = 366 * 24 * time.Hour
	DefaultGrace   = time.Minute
	DefaultLease   = time.Minute
	DefaultBackoff = 10 * time.Second
	// DefaultGiveUpAfter outlasts a night in which no person sees that the host's queue is down.
	DefaultGiveUpAfter = 24 * time.Hour
	// DefaultRetention is for commitments without an entry, see [Engine.Sweep].
	DefaultRetention = 30 * 24 * time.Hour
	// MaxBackoff bounds the wait between two tries.
	MaxBackoff = time.Hour
)

// Config sets up an [Engine]. Redactor is required.
type Config struct {
	// Redactor opens a tenant's secrets, as a [memory.JobConfig] wants them. If what it
	// returns is an [io.Closer] it is closed when a tick has done with the tenant.
	//
	// [io.Closer]: https://pkg.go.dev/io#Closer
	Redactor func(ctx context.Context, tenant string) (memory.Redactor, error)
	// Enqueuer starts the run of a firing. Nil fires as a notification, without a
	// run.
	Enqueuer Enqueuer
	// Inferrer finds intentions in entries; nil is [Tagged].
	Inferrer Inferrer
	// Predicate tells whether the host has registered a predicate under that name
	// for the tenant. Nil knows none, and predicate arms are refused.
	Predicate func(tenant, name string) bool
	// Schedule reads Arm.Spec, in any notation, with the time zone if it has one. It gives the same
	// schedule for the same specification in every process. Nil refuses every Spec.
	Schedule func(spec string) (Schedule, error)
	// Missed says what becomes of instants that passed between two ticks; empty is
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
	// GiveUpAfter is how long one firing is tried: the waits between its tries, added up, so
	// that time without any process does not count. 0 is [DefaultGiveUpAfter]. An event that memory
	// refuses is tried for as long again. Backoff is the wait after the first try, 0 for
	// [DefaultBackoff]; it doubles from try to try, up to [MaxBackoff].
	GiveUpAfter time.Duration
	Backoff     time.Duration
	// Retention is how long [Engine.Sweep] leaves an ended commitment that has no entry;
	// 0 is [DefaultRetention].
	Retention time.Duration
}

// Engine infers, arms and fires the standing commitments of a bank's memory (RFC
// 0068 §C, §D). It keeps nothing itself: commitments are documents of the bank's store,
// and any number of engines, in any number of processes, may share it. It is safe for
// concurrent use.
type Engine struct {
	bank  *memory.Bank
	cfg   Config
	tries int // deliveries that are begun before a firing is given up

	mu    sync.Mutex
	last  memory.Scope // the tenant that was swept last
	sweep time.Time    // when the next sweep of all tenants begins
}

// New returns an engine over the bank's memory, which memory.Bank.Keep ticks and sweeps. A bank has
// one: another of the same Config, functions aside, is as good as the first, and one of another
// Config, or with another Enqueuer or Inferrer, fails with [memory.ErrConflict]. New fails with [memory.ErrValidation]
// for a Config that lacks something or contradicts itself, and with
// [memory.ErrNotProvided] if the bank's store does not take transactions or does not tell
// what is due.
func New(bank *memory.Bank, cfg Config) (*Engine, error) {
	switch {
	case bank == nil:
		return nil, invalid("the bank is nil")
	case cfg.Redactor == nil:
		return nil, invalid("Config.Redactor is nil: it opens a tenant's secrets for each pass, and gives redact.New if there are none")
	case cfg.Grace < 0 || cfg.Horizon < 0 || cfg.Lease < 0 || cfg.Backoff < 0 || cfg.GiveUpAfter < 0 || cfg.Retention < 0:
		return nil, invalid("Grace, Horizon, Lease, Backoff, GiveUpAfter or Retention of the Config is below zero: 0 means the default")
	case cfg.Missed != "" && cfg.Missed != FireOnce && cfg.Missed != Skip:
		return nil, invalid("Config.Missed is neither FireOnce nor Skip nor empty")
	case !bank.Engines().Offers().Transactions || !bank.Engines().Offers().Schedules:
		return nil, memory.ErrNotProvided.In(pkg, "commitments need a bank over a store that is a driver.Transactor and a driver.Scheduler, and not read-only", nil)
	}
	cfg.Grace = cmp.Or(cfg.Grace, DefaultGrace)
	cfg.Horizon = cmp.Or(cfg.Horizon, DefaultHorizon)
	cfg.Lease = cmp.Or(cfg.Lease, DefaultLease)
	cfg.Backoff = cmp.Or(cfg.Backoff, DefaultBackoff)
	cfg.Retention = cmp.Or(cfg.Retention, DefaultRetention)
	cfg.GiveUpAfter = cmp.Or(cfg.GiveUpAfter, DefaultGiveUpAfter)
	cfg.Missed = cmp.Or(cfg.Missed, FireOnce)
	cfg.Inferrer = cmp.Or[Inferrer](cfg.Inferrer, Tagged{})
	e := &Engine{bank: bank, cfg: cfg, tries: triesWithin(cfg.GiveUpAfter, cfg.Backoff)}
	if err := bank.Engines().Register("commitment", cfg.identity(), e.tick, e.sweepNext); err != nil {
		return nil, err
	}
	return e, nil
}

// identity is what two configurations have in common if one engine serves for both. Functions
// cannot be compared: it says whether they are set.
func (c *Config) identity() any {
	type identity struct {
		enqueuer, inferrer                      any
		predicates, schedules                   bool
		missed                                  Missed
		grace, horizon, lease, backoff, retains time.Duration
		givesUpAfter                            time.Duration
	}
	return identity{
		comparableOf(c.Enqueuer), comparableOf(c.Inferrer), c.Predicate != nil, c.Schedule != nil,
		c.Missed, c.Grace, c.Horizon, c.Lease, c.Backoff, c.Retention, c.GiveUpAfter,
	}
}

// comparableOf returns a part of the host, or its type if it cannot be compared.
func comparableOf(part any) any {
	if part == nil || reflect.ValueOf(part).Comparable() {
		return part
	}
	return reflect.TypeOf(part)
}

// Conditions are the kinds of arms that the engine takes, the capability's
// fireConditions (RFC 0068 §A). A predicate needs a Config.Predicate.
func (e *Engine) Conditions() []events.Condition {
	if e.cfg.Predicate == nil {
		return []events.Condition{events.ConditionTime}
	}
	return []events.Condition{events.ConditionTime, events.ConditionPredicate}
}

// Commitments yields the tenant's commitments by id, in any state: also those
// that lapsed or were given up. In the place of one that it cannot read it yields an error,
// such as [ErrNewerFormat], with the Tenant and ID, and goes on; it stops after an error of
// the store, which comes with neither.
func (e *Engine) Commitments(ctx context.Context, tenant string) iter.Seq2[Commitment, error] {
	return e.each(ctx, tenant, driver.DocumentQuery{})
}

// Cancel ends a commitment, unless it has ended already, and returns what became of
// it. A delivery that is under way is not called back: the commitment then is
// Canceled, its firing is completed, and nothing follows. One that lapsed because its entry
// was merged or superseded does not come back, and a firing that was given up is settled.
func (e *Engine) Cancel(ctx context.Context, tenant, id string) (Commitment, error) {
	c, err := e.load(ctx, tenant, id)
	if err != nil {
		return Commitment{}, err
	}
	err = e.update(ctx, &c, func(c *Commitment) (bool, error) {
		switch {
		case c.Canceled || c.State.Final() && !c.isReplaced() && c.GivenUp == (Claim{}):
			return false, nil
		case c.isReplaced():
			c.Canceled = true // it does not come back
		case c.State == Delivered || c.Lease.After(e.bank.Now()):
			c.Canceled, c.Waiting = true, nil
		default:
			c.end(Lapsed, ReasonCanceled, e.bank.Now())
		}
		return true, nil
	})
	return c, err
}

// each yields the tenant's commitments among the documents that q asks for.
func (e *Engine) each(ctx context.Context, tenant string, q driver.DocumentQuery) iter.Seq2[Commitment, error] {
	q.Kind = documentKind
	return func(yield func(Commitment, error) bool) {
		for d, err := range e.bank.Engines().Documents(ctx, tenant, q) {
			if err != nil {
				yield(Commitment{}, err)
				return
			}
			if c, err := fromDocument(&d); !yield(c, err) {
				return
			}
		}
	}
}

// load returns a commitment, or [memory.ErrNotFound].
func (e *Engine) load(ctx context.Context, tenant, id string) (Commitment, error) {
	if !validName(id) {
		return Commitment{}, errUnknown
	}
	for c, err := range e.each(ctx, tenant, driver.DocumentQuery{Key: id}) {
		return c, err
	}
	return Commitment{}, errUnknown
}

// update changes a commitment by as many swaps as it takes for one to succeed, so that c
// is as stored. change may be called again, and reports whether there is anything to
// store.
func (e *Engine) update(ctx context.Context, c *Commitment, change func(*Commitment) (bool, error)) error {
	for {
		if ok, err := change(c); !ok || err != nil {
			return err
		}
		if ok, err := e.swap(ctx, c); ok || err != nil {
			return err
		}
		now, err := e.load(ctx, c.Tenant, c.ID)
		if err != nil {
			return err
		}
		*c = now
	}
}

// swap stores commitments of a tenant, all or none of them, and reports false if another
// process was faster.
func (e *Engine) swap(ctx context.Context, cs ...*Commitment) (bool, error) {
	swaps := make([]driver.DocumentSwap, len(cs))
	for i, c := range cs {
		swaps[i].Document = c.document()
	}
	revs, err := e.bank.Engines().Swap(ctx, cs[0].Tenant, swaps...)
	return e.stored(revs, err, cs...)
}

// stored gives commitments the revisions that they were stored under, and reports false
// if another process was faster.
func (e *Engine) stored(revs []int64, err error, cs ...*Commitment) (bool, error) {
	if errors.Is(err, memory.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i, c := range cs {
		c.Rev = revs[i]
	}
	return true, nil
}
