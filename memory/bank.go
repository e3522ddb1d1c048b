package memory

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Config sets up a [Bank]. The zero value is a bank without events, in which every
// tenant has a name space of its own for refs.
type Config struct {
	// Resolver tells which tenant a memoryRef belongs to. For a ref that no tenant has it
	// returns an error that matches [ErrNotFound], or an empty tenant. After any other error
	// the call fails with [ErrInternal], so that memory does not seem empty while a directory
	// is down. It must be safe for concurrent use. Nil gives each tenant its own name space:
	// the same ref under two tenants is two scopes.
	Resolver func(ctx context.Context, ref string) (tenant string, err error)
	// Now is the bank's only clock; nil means time.Now. The bank drops what is
	// finer than a millisecond and never lets it run backwards. It is called in place, so it
	// must return promptly. While it panics, operations fail with [ErrInternal].
	Now func() time.Time
	// MaxEntryBytes bounds the redacted content of an entry, as the host
	// advertises it; 0 means [DefaultMaxEntryBytes].
	MaxEntryBytes int
	// Horizon is how long a suspended run may wait before [Bank.Purge] can make
	// its view unavailable; 0 means [DefaultHorizon].
	Horizon time.Duration

	// Limits, if set, returns what bounds a tenant. A put or a rewrite that adds to what is
	// bounded, and ends above the bound, is refused with [ErrStorageLimit], or with [ErrBacklog]
	// for events, and nothing is written. The bound is exact for any number of processes.
	// Counted are the tenant's entries that were not deleted, merged or superseded, and the
	// bytes of their content; expired ones count until they are purged. Writes that free memory
	// are allowed beyond the limits, and so is forgetting. Limits is called before each such
	// write; an error refuses the write. Like every part of the host that may block, it has
	// [PluginTimeout] for a call. It must be safe for concurrent use, and needs a store that is
	// a Transactor.
	Limits func(ctx context.Context, tenant string) (driver.Limits, error)

	// LedgerRetention is how long an erasure is remembered in the ledger, see
	// [Bank.Erasures]: longer than any backup is kept. 0 means [DefaultLedgerRetention].
	LedgerRetention time.Duration
	// Logger, if set, is told what each round of [Bank.Keep], each forgetting, purge and dropped
	// tenant, and each pass of an engine did and how long it took, and what went wrong with a
	// round: counts, and codes and texts of this module's errors, never content, tags, ids or tenants,
	// and nothing that a store or a sink said. What a call returns as an error is the caller's to log.
	Logger *slog.Logger
	// Tracer, if set, is told where each operation of the bank and of its engines begins and
	// ends, how it ended and how much it did, and never what it was about; see package telemetry.
	// Without one it costs nothing.
	Tracer telemetry.Tracer
	// Ranker ranks what [Bank.Search] and the like find, and lists by relevance if it ranks by
	// meaning. Without one a search is a filter; package recall has one.
	Ranker Ranker
	// TokenCounter counts the units of ListOptions.TokenBudget, as the host advertises them
	// (RFC 0113). Its name is "chars" for one that counts characters, or that of a tokenizer;
	// every distill.Tokenizer is one. It is safe for concurrent use. Name is called in place,
	// once, when the bank is made.
	TokenCounter interface {
		Name() string
		Count(text string) int
	}
	// Sink receives the events. Without one there are none, unless KeepEvents is set.
	Sink events.Sink
	// KeepEvents, in place of a Sink, keeps the events of each run in the store, as the log
	// that [Bank.Log] reads: for that long after the run's first and last one. It should be longer
	// than a run may be suspended, since a run that goes on after that begins at sequence 0
	// again. An event has its sequence when the mutation that it tells of commits, and
	// nothing has to relay it. Kept events outlive Forget (RFC 0080 §A), and go with the
	// tenant. It needs a store that is a driver.EventKeeper. Events that wait for an earlier
	// bank's Sink wait on: relay them by a bank with that Sink first.
	KeepEvents time.Duration
	// WriteEvents announces every write by a memory.written event (RFC 0057). It
	// needs a Sink or KeepEvents, and a Transactor.
	WriteEvents bool
	// ReadOnly makes a bank that only reads, runs and their views included: memory that a host
	// lends out, or reads beside the process that fills it. A call that would change the store
	// fails with [ErrNotProvided], and the capability model degrades what needs it. Events that
	// wait are left to the process that fills the store.
	ReadOnly bool
	// MaxUndelivered is how many events of one tenant may wait for the sink. While that many
	// wait, writes of this tenant that would add an event fail with [ErrBacklog], and other
	// tenants are not affected. They succeed again once any process has relayed the events.
	// 0 means [DefaultMaxUndelivered].
	MaxUndelivered int
}

// Bank is the one way to a store: it resolves refs, redacts, validates, stamps
// time and ids, attributes, and shapes errors, so that neither a store nor an
// engine can get them wrong. It is safe for concurrent use, and any number of
// banks, in any number of processes, may share a store.
type Bank struct {
	cfg   Config
	clock clock
	ids   issuer

	// What the store does not offer is nil.
	store     driver.Adapter
	tx        driver.Transactor
	versions  driver.Versioned
	kept      driver.EventKeeper
	scheduler driver.Scheduler
	tenants   driver.Tenants
	changes   driver.Changes
	traits    struct{ Durable, ReadOnly bool }

	// What parts of the host said of themselves when the bank was made.
	counter string // the name of the token counter
	model   string // by which the ranker ranks by meaning

	hooks   telemetry.Hooks
	backlog backlog
	keeper  keeper
	purged  Scope // the last tenant of the purge before, for the next
}

// New returns a bank over the store a. It fails with [ErrValidation] for a
// Config that contradicts itself and with [ErrNotProvided] for one that the store
// cannot bear.
func New(a driver.Adapter, cfg Config) (*Bank, error) {
	if a == nil {
		return nil, fail(ErrValidation, "the store is nil: give New a driver.Adapter, such as inmem.New()")
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxEntryBytes", int64(cfg.MaxEntryBytes)}, {"Horizon", int64(cfg.Horizon)},
		{"MaxUndelivered", int64(cfg.MaxUndelivered)}, {"LedgerRetention", int64(cfg.LedgerRetention)},
		{"KeepEvents", int64(cfg.KeepEvents)},
	} {
		if limit.value < 0 {
			return nil, fail(ErrValidation, "Config."+limit.name+" is below zero: 0 means the default, and for KeepEvents that none are kept")
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxEntryBytes == 0 {
		cfg.MaxEntryBytes = DefaultMaxEntryBytes
	}
	if cfg.Horizon == 0 {
		cfg.Horizon = DefaultHorizon
	}
	if cfg.LedgerRetention == 0 {
		cfg.LedgerRetention = DefaultLedgerRetention
	}
	if cfg.MaxUndelivered == 0 {
		cfg.MaxUndelivered = DefaultMaxUndelivered
	}
	b := &Bank{cfg: cfg, store: a}
	b.hooks.Tracer, b.hooks.Logger = cfg.Tracer, cfg.Logger
	b.hooks.Code = func(err error) string { return string(CodeOf(err)) }
	b.clock.now = cfg.Now
	b.clock.last.Store(math.MinInt64)
	b.tx, _ = driver.As[driver.Transactor](a)
	b.versions, _ = driver.As[driver.Versioned](a)
	b.kept, _ = driver.As[driver.EventKeeper](a)
	b.scheduler, _ = driver.As[driver.Scheduler](a)
	b.tenants, _ = driver.As[driver.Tenants](a)
	b.changes, _ = driver.As[driver.Changes](a)
	if d, ok := driver.As[driver.Describer](a); ok {
		b.traits.Durable, b.traits.ReadOnly = d.Durable(), d.ReadOnly()
	}
	b.traits.ReadOnly = b.traits.ReadOnly || cfg.ReadOnly
	if b.tx == nil && (b.versions != nil || b.scheduler != nil || b.tenants != nil) {
		return nil, fail(ErrValidation, "the store offers driver.Versioned, Scheduler or Tenants and is no driver.Transactor, which these need")
	}
	if cfg.KeepEvents > 0 && cfg.Sink != nil {
		return nil, fail(ErrValidation, "Config.KeepEvents takes the place of Config.Sink: set one of them")
	}
	if cfg.KeepEvents > 0 && b.kept == nil {
		return nil, fail(ErrNotProvided, "Config.KeepEvents needs a store that is a driver.EventKeeper: set Config.Sink instead")
	}
	if cfg.WriteEvents && !b.takesEvents() {
		return nil, fail(ErrValidation, "Config.WriteEvents needs Config.Sink or Config.KeepEvents, which takes the events")
	}
	if cfg.WriteEvents && b.tx == nil {
		return nil, fail(ErrNotProvided, "Config.WriteEvents needs a store that is a driver.Transactor")
	}
	if cfg.Limits != nil && b.tx == nil {
		return nil, fail(ErrNotProvided, "Config.Limits needs a store that is a driver.Transactor")
	}
	if err := b.readNames(); err != nil {
		return nil, err
	}
	b.ownChores()
	if a, ok := cfg.Ranker.(interface{ Attach(*Bank) error }); ok {
		if err := a.Attach(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// readNames asks parts of the host for their names.
func (b *Bank) readNames() (err error) {
	if b.cfg.TokenCounter != nil {
		b.counter, err = hostName("the token counter", b.cfg.TokenCounter.Name)
	}
	if err == nil && b.cfg.Ranker != nil {
		b.model, err = hostName("the ranker", b.cfg.Ranker.Model)
	}
	if err == nil && b.model != "" && b.tx == nil {
		err = fail(ErrNotProvided, "Config.Ranker ranks by meaning, which needs a store that is a driver.Transactor: give it no embedder")
	}
	return err
}

// Offers tells what a bank can do, as its store and its Config really are. The
// capability model is derived from it.
type Offers struct {
	Writes        bool   // the store takes changes
	Durable       bool   // entries outlive the process
	Transactions  bool   // passes, Forget, leases and events
	Schedules     bool   // Due tells what is due
	Views         bool   // runs, tokens and AsOf
	WriteEvents   bool   // memory.written is emitted
	Semantic      bool   // recall ranks by meaning, and lists by relevance
	TokenCounter  string // the name of the units of ListOptions.TokenBudget; empty if there is none
	MaxEntryBytes int
	Horizon       time.Duration
}

// Offers tells what the bank can do.
func (e Engines) Offers() Offers {
	b := e.bank
	return Offers{
		Writes:        !b.traits.ReadOnly,
		Durable:       b.traits.Durable,
		Transactions:  b.tx != nil && !b.traits.ReadOnly,
		Schedules:     b.scheduler != nil,
		Views:         b.versions != nil,
		WriteEvents:   b.cfg.WriteEvents && !b.traits.ReadOnly,
		Semantic:      b.model != "",
		TokenCounter:  b.counter,
		MaxEntryBytes: b.cfg.MaxEntryBytes,
		Horizon:       b.cfg.Horizon,
	}
}

// takesEvents reports whether there is a place for events.
func (b *Bank) takesEvents() bool { return b.cfg.Sink != nil || b.cfg.KeepEvents > 0 }

// Log reads the events that the bank keeps, run by run. Serve a client from it by
// [events.Follow]. Without Config.KeepEvents each Read of it is [ErrNotProvided].
func (b *Bank) Log() events.Reader {
	if b.cfg.KeepEvents == 0 {
		return noLog{}
	}
	return b.kept
}

type noLog struct{}

func (noLog) Read(context.Context, string, string, int64, int) ([]events.RunEvent, error) {
	return nil, fail(ErrNotProvided, "Bank.Log needs Config.KeepEvents")
}

// Now returns the bank's time: whole milliseconds, UTC, never before an earlier
// answer. While Config.Now panics it is the last instant that Config.Now gave.
func (b *Bank) Now() time.Time {
	now, _ := b.clock.read()
	return now
}

// checkClock fails while the host's clock does. Every operation begins with it, so that none
// judges an expiry, or stamps a write, by a clock that stands.
func (b *Bank) checkClock() error {
	if _, err := b.clock.read(); err != nil {
		return failWith(ErrInternal, hostcall.Describe("the clock", err), err)
	}
	return nil
}

// resolve returns the scope of a ref that the tenant may use, or an error for a write.
// It does not tell a ref of another tenant from one that no tenant has (CTI-1).
func (b *Bank) resolve(ctx context.Context, tenant, ref string) (Scope, error) {
	if err := ctx.Err(); err != nil {
		return Scope{}, err
	}
	if err := b.checkClock(); err != nil {
		return Scope{}, err
	}
	if err := checkRef(ref); err != nil {
		return Scope{}, err
	}
	if b.cfg.Resolver != nil {
		owner, err := hostcall.Call(ctx, "the resolver", PluginTimeout, func(ctx context.Context) (string, error) { return b.cfg.Resolver(ctx, ref) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Scope{}, hostFailed(ctx, "the resolver", err)
		}
		if err != nil || owner != tenant {
			return Scope{}, fail(ErrForbidden, "the memoryRef is not the tenant's")
		}
	}
	return Scope{Tenant: tenant, Ref: ref}, nil
}

// visible resolves a ref for a read. ok is false if the tenant has nothing under it;
// malformed, foreign and unknown refs are not told apart. Errors: that of the context, that
// of a resolver that failed, and [ErrValidation] for a malformed tenant.
func (b *Bank) visible(ctx context.Context, tenant, ref string) (s Scope, ok bool, err error) {
	if err := checkTenant(tenant); err != nil {
		return Scope{}, false, err
	}
	if s, err = b.resolve(ctx, tenant, ref); err == nil {
		return s, true, nil
	}
	if errors.Is(err, ErrInternal) {
		return Scope{}, false, err
	}
	return Scope{}, false, ctx.Err()
}
