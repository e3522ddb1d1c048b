package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/telemetry"
)

// Maintained tells what a [Bank.Maintain] did.
type Maintained struct {
	// Delivered events are in the sink's log.
	Delivered int
	// Stuck are the runs whose events the sink refused, by tenant. Their order is kept: none
	// of a run's events overtakes another.
	Stuck map[string][]string
	// Waiting events are left in the outbox, counted up to one more than the
	// bank's MaxUndelivered.
	Waiting int
	// Oldest is the age of the oldest event that this relay had in hand and could not deliver; zero
	// if there is none.
	Oldest time.Duration
	// Tenants were looked at in this round, and Purged records removed of them.
	Tenants, Purged int
	// Trimmed erasures are out of the ledger, since their retention was over.
	Trimmed int
}

// roundTenants bounds the tenants that a round looks at for their own sake, so that any number of
// them shares the work over many rounds.
const roundTenants = 16

// roundRefs is how many refs of a tenant a round reads before it goes to the next tenant by name.
const roundRefs = 64

// roundRuns bounds the runs whose kept events a round removes.
const roundRuns = 1000

// roundDocuments bounds the documents of a kind that a round removes.
const roundDocuments = 1000

// patience is how long a Maintain waits for a chore before it begins the next one beside it.
const patience = 10 * time.Second

// Maintain does one bounded round of what memory and the engines over it need from time to time: it
// relays events to the sink, each at least once and under one id (E3), and removes kept ones after
// Config.KeepEvents; it removes erasures from the ledger, and machinery [RemoveWhenDue], whose time is
// over; it fires what is due, and embeds what has no vector, if the host has such engines; and it
// purges what no view within the horizon can show, of the next tenants in their order.
//
// What is due is found over all tenants, so that a round costs what is due, not how much there is.
// What has ended goes a horizon later and little more; of a tenant that nothing is written to,
// what has expired goes up to a quarter of the horizon after that. Trouble with one tenant or one
// run holds up no other; the errors come together at the end. Any number of
// processes may do it. If the store does not offer driver.Tenants, the host calls [Bank.Purge] for
// each tenant itself.
//
// Maintain waits for all of it until the context ends. What takes longer than ten seconds holds up
// nothing else but heavy work, see [Engines.Register]. What outlives its time or the context is named
// in the error.
func (b *Bank) Maintain(ctx context.Context) (done Maintained, err error) {
	chores := b.keeper.chores()
	outcomes := make([]Maintained, len(chores))
	failed := make([]error, len(chores))
	var all sync.WaitGroup
	for i, c := range chores {
		ended := make(chan struct{})
		all.Go(func() {
			defer close(ended)
			if failed[i] = c.turn.take(ctx); failed[i] == nil {
				defer c.turn.free()
				outcomes[i], failed[i] = c.call(ctx)
			}
		})
		select {
		case <-ended:
		case <-time.After(patience):
		}
	}
	all.Wait()
	for _, did := range outcomes {
		done.add(did)
	}
	if err := unfinished(ctx, chores, failed); err != nil {
		return done, err
	}
	return done, errors.Join(failed...)
}

// unfinished returns the error of a context and names the chores that it has ended; nil if it has ended none.
func unfinished(ctx context.Context, chores []*chore, failed []error) error {
	var parts []string
	for i, c := range chores {
		if ctx.Err() != nil && errors.Is(failed[i], ctx.Err()) {
			parts = append(parts, c.part)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("memory: the context ended before %s: %w", strings.Join(parts, ", "), ctx.Err())
}

// add adds what another chore did.
func (m *Maintained) add(other Maintained) {
	m.Delivered += other.Delivered
	m.Waiting += other.Waiting
	m.Tenants += other.Tenants
	m.Purged += other.Purged
	m.Trimmed += other.Trimmed
	m.Oldest = max(m.Oldest, other.Oldest)
	if m.Stuck == nil {
		m.Stuck = other.Stuck
	}
}

// ownChores gives the keeper the chores of the bank itself.
func (b *Bank) ownChores() {
	k := &b.keeper
	k.busy, k.kinds = newSlot(), map[string]any{}
	k.add("the relay of memory", 0, nil, b.relay)
	if b.traits.ReadOnly {
		return
	}
	k.add("the removals of memory", 0, nil, b.removeOld)
	if b.tenants != nil && b.versions != nil {
		k.add("the purge of memory", ChoreTime, k.busy, b.purgeSome)
	}
}

// removeOld removes what is kept for a declared time only.
func (b *Bank) removeOld(ctx context.Context) (done Maintained, err error) {
	ctx, span := b.begin(ctx, telemetry.Maintain)
	defer span.Done(&err)
	var events, ledger, machinery error
	if b.cfg.KeepEvents > 0 {
		_, events = b.kept.PurgeEvents(ctx, millis(b.Now().Add(-b.cfg.KeepEvents)), roundRuns)
	}
	if b.scheduler != nil {
		done.Trimmed, ledger = b.removeDue(ctx, ledgerKind)
		_, machinery = b.removeDue(ctx, RemoveWhenDue)
	}
	span.Add(telemetry.Trimmed.Of(done.Trimmed))
	return done, errors.Join(shape(events), ledger, machinery)
}

// purgeSome purges the next tenants. It steps over the refs of a tenant that has many.
func (b *Bank) purgeSome(ctx context.Context) (done Maintained, err error) {
	ctx, span := b.begin(ctx, telemetry.Maintain)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Tenants.Of(done.Tenants), telemetry.Purged.Of(done.Purged)) }()
	var failed []error
	after := b.purged
	b.purged = Scope{} // unless this round does not come to the end
	for more := true; more; {
		more = false
		refs := 0
		for s, err := range b.scopes(ctx, after) {
			if err != nil {
				return done, errors.Join(append(failed, err)...)
			}
			if s.Tenant == after.Tenant {
				if refs++; refs < roundRefs {
					continue
				}
				more = true
				break
			}
			refs = 0
			if done.Tenants == roundTenants {
				b.purged = after
				break
			}
			after = Scope{Tenant: s.Tenant, Ref: lastRef}
			done.Tenants++
			n, err := b.purge(ctx, s.Tenant, false)
			done.Purged += n
			failed = append(failed, err)
		}
	}
	return done, errors.Join(failed...)
}

// lastRef is behind every ref that there can be.
const lastRef = "\xff"

// removeDue removes documents of a kind that are due.
func (b *Bank) removeDue(ctx context.Context, kind string) (int, error) {
	due, err := b.due(ctx, kind, roundDocuments)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, d := range due {
		_, err := b.swap(ctx, d.Tenant, driver.DocumentSwap{Document: d, Act: driver.Remove})
		if errors.Is(err, ErrConflict) {
			continue // another process was faster, or it is in use again
		}
		if err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// DefaultPause is the pause of a [Bank.Keep] that names none.
const DefaultPause = 10 * time.Second

// Keep maintains memory until the context ends: it begins a round of all that [Bank.Maintain] does,
// with a pause before the next, which is [DefaultPause] if it is 0 or below. Each chore goes on by
// itself: one that is still under way when a round begins is left out of it, and no other waits for
// it. What fails is logged, if there is a Config.Logger, and tried again with the next round. It
// returns the error of the context. A host calls it once in a goroutine of its own, and has nothing
// else to remember: engines add what they need when they are made.
func (b *Bank) Keep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		pause = DefaultPause
	}
	var underWay sync.WaitGroup
	defer underWay.Wait()
	for {
		for _, c := range b.keeper.chores() {
			if c.turn.tryTake() {
				underWay.Go(func() { b.keep(ctx, c) })
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// keep does a chore whose turn the caller has taken, and logs what came of it.
func (b *Bank) keep(ctx context.Context, c *chore) {
	defer c.turn.free()
	if c.running.Load() > 0 {
		return // it was given up, which has been logged
	}
	began := time.Now()
	done, err := c.call(ctx)
	b.report(ctx, done, time.Since(began), err)
}

// report logs a chore that did something.
func (b *Bank) report(ctx context.Context, done Maintained, took time.Duration, err error) {
	if b.cfg.Logger == nil {
		return
	}
	if done.Delivered+done.Purged+done.Trimmed > 0 {
		b.log(ctx, slog.LevelDebug, "memory maintained",
			slog.Int("delivered", done.Delivered), slog.Int("waiting", done.Waiting),
			slog.Int("stuck_tenants", len(done.Stuck)), slog.Int("tenants", done.Tenants),
			slog.Int("purged", done.Purged), slog.Int("ledger_trimmed", done.Trimmed), slog.Duration("took", took))
	}
	if err != nil {
		b.trouble(ctx, err)
	}
}

// trouble logs an error by its code and by what this module says of it: what a store or a sink said
// may hold anything (M2).
func (b *Bank) trouble(ctx context.Context, err error) {
	if b.cfg.Logger != nil && ctx.Err() == nil {
		b.log(ctx, slog.LevelWarn, "memory maintenance failed", slog.String("code", string(CodeOf(err))), slog.String("error", ownText(err)))
	}
}

// ownText is what this module says of an error, or of those that it joins.
func ownText(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, err := range joined.Unwrap() {
			texts = append(texts, ownText(err))
		}
		return strings.Join(texts, "; ")
	}
	if known := (*driver.Error)(nil); errors.As(err, &known) {
		return known.Error()
	}
	return string(CodeOf(err))
}

// log writes a line, unless the logger panics.
func (b *Bank) log(ctx context.Context, level slog.Level, line string, attrs ...slog.Attr) {
	_, _ = hostcall.Inline("the logger", func() (struct{}, error) {
		b.cfg.Logger.LogAttrs(ctx, level, line, attrs...)
		return struct{}{}, nil
	})
}
