package memory

import (
	"context"
	"errors"
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

// keeper remembers where the next round goes on, and what it is for.
type keeper struct {
	mu     sync.Mutex
	next   Scope // the last one of the round before
	duties upkeeps
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

// Maintain does one bounded round of what memory and the engines over it need from time to time: it
// relays events to the sink, each at least once and under one id (E3), and removes kept ones after
// Config.KeepEvents; it removes erasures from the ledger, and machinery [UntilDue], whose time is
// over; it fires what is due, and embeds what has no vector, if the host has such engines; and it
// purges what no view within the horizon can show, of the next tenants in their order.
//
// What is due is found over all tenants, so that a round costs what is due, not how much there is.
// What has ended goes a horizon later and little more; of a tenant that nothing is written to,
// what has expired goes up to a quarter of the horizon after that. Trouble with one tenant, one
// run or one engine holds up no other; the errors come together at the end. Any number of
// processes may do it. If the store does not offer driver.Tenants, the host calls [Bank.Purge] for
// each tenant itself.
func (b *Bank) Maintain(ctx context.Context) (done Maintained, err error) {
	ctx, span := b.begin(ctx, telemetry.Maintain)
	defer span.Done(&err)
	defer func() {
		span.Add(telemetry.Tenants.Of(done.Tenants), telemetry.Purged.Of(done.Purged), telemetry.Trimmed.Of(done.Trimmed))
	}()
	var failed []error
	if done, err = b.relay(ctx); err != nil {
		failed = append(failed, err)
	}
	if !b.traits.ReadOnly {
		if b.cfg.KeepEvents > 0 {
			_, err := b.kept.PurgeEvents(ctx, millis(b.Now().Add(-b.cfg.KeepEvents)), roundRuns)
			failed = append(failed, shape(err))
		}
		if b.scheduler != nil {
			done.Trimmed, err = b.removeDue(ctx, ledgerKind)
			_, other := b.removeDue(ctx, UntilDue)
			failed = append(failed, err, other)
		}
		if b.tenants != nil && b.versions != nil {
			failed = append(failed, b.purgeSome(ctx, &done))
		}
	}
	failed = append(failed, b.keeper.duties.round(ctx)...)
	if err := ctx.Err(); err != nil {
		return done, err
	}
	return done, errors.Join(failed...)
}

// purgeSome purges the next tenants. It steps over the refs of a tenant that has many.
func (b *Bank) purgeSome(ctx context.Context, done *Maintained) error {
	b.keeper.mu.Lock()
	defer b.keeper.mu.Unlock()
	var failed []error
	after := b.keeper.next
	b.keeper.next = Scope{} // unless this round does not come to the end
	for more := true; more; {
		more = false
		refs := 0
		for s, err := range b.scopes(ctx, after) {
			if err != nil {
				return errors.Join(append(failed, err)...)
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
				b.keeper.next = after
				break
			}
			after = Scope{Tenant: s.Tenant, Ref: lastRef}
			done.Tenants++
			n, err := b.purge(ctx, s.Tenant, false)
			done.Purged += n
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
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

// Keep maintains memory until the context ends: one [Bank.Maintain] after the other with a pause
// between them, which is [DefaultPause] if it is 0 or below. What fails is logged, if there is a
// Config.Logger, and tried again with the next round. It returns the error of the context. A host
// calls it once in a goroutine of its own, and has nothing else to remember: engines add what they
// need when they are made.
func (b *Bank) Keep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		pause = DefaultPause
	}
	for {
		began := time.Now()
		done, err := b.Maintain(ctx)
		b.report(ctx, done, time.Since(began), err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// report logs a round that did something.
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
