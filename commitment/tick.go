package commitment

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Ticked tells what an [Engine.Tick] did.
type Ticked struct {
	Fired   int // firings that are over: their run has started, their event is committed
	Failed  int // deliveries that failed and are tried again
	Skipped int // missed instants that the policy passed over
	Lapsed  int // commitments that ended without firing
	GivenUp int // firings that were given up, see [Engine.Retry]

	// Events are the commitment.fired of each firing, which say what fired, for whom
	// (Record.Tenant) and under which run. They are here without a sink, too.
	Events []events.Record
}

const (
	workers = 8     // tenants that a tick works on at once
	batch   = 256   // due commitments that it reads at a time
	maxRead = 16384 // the same, while slow tenants have most of what is due

	// patience is how long a tick waits for slow tenants before it reads what else is due.
	patience = time.Second
)

// Tick fires what is due, of all tenants: it claims, starts runs, commits events and
// acknowledges, each commitment by its state, and takes up what an earlier tick, here
// or in another process, has left undone. A host calls it in a loop, as often as its
// instants shall be exact; calls may overlap. Where nothing is due it costs one look
// at the store (K9).
//
// It works on up to eight tenants at once, and has the secrets of no more of them open.
// While the Enqueuer is slow for one tenant the others' go on, those that come due in the
// meantime included. When a tick has taken as long as a lease it begins no delivery any
// more, and leaves the rest to the next.
//
// What goes wrong with one commitment is tried again later and holds up no other; Tick
// goes on and returns the first such error at the end. A commitment that it cannot read,
// see [ErrNewerFormat], is such an error too; it stays due, and every tick reads past it. If a claim or another step cannot be stored,
// or the context is done, the tick ends where it is.
func (e *Engine) Tick(ctx context.Context) (done Ticked, err error) {
	ctx, span := e.bank.Engines().Begin(ctx, telemetry.Tick)
	defer span.Done(&err)
	defer func() {
		span.Add(telemetry.Skipped.Of(done.Skipped), telemetry.Fired.Of(done.Fired), telemetry.Failed.Of(done.Failed),
			telemetry.Lapsed.Of(done.Lapsed), telemetry.GivenUp.Of(done.GivenUp))
	}()
	due, err := e.bank.Engines().Due(ctx, documentKind, batch)
	if err == nil && len(due) == 0 {
		span.Add(telemetry.Due.Of(0))
	}
	if len(due) == 0 || err != nil {
		return Ticked{}, err
	}
	now := e.bank.Now()
	t := &tick{
		Engine: e, end: now.Add(e.cfg.Lease), until: now,
		slots: make(chan struct{}, workers), ended: make(chan struct{}),
		dispatched: map[string]bool{}, queues: map[string][]*driver.Document{},
	}
	t.run(ctx, due)
	span.Add(telemetry.Due.Of(t.found))
	return t.done, errors.Join(t.err, t.problem)
}

// tick is the engine's part in each round of memory.Bank.Maintain.
func (e *Engine) tick(ctx context.Context) error {
	_, err := e.Tick(ctx)
	return err
}

// tick is one Tick that found something due. It dispatches what it reads to one goroutine
// for each tenant, of which only some work at a time.
type tick struct {
	*Engine
	end    time.Time     // after it no delivery is begun
	slots  chan struct{} // one for each tenant that is worked on
	ended  chan struct{} // told by each goroutine at its end
	active int           // goroutines, as run counts them

	mu         sync.Mutex
	until      time.Time                     // what is due by then is dispatched
	dispatched map[string]bool               // ids of what was dispatched and not released
	queues     map[string][]*driver.Document // of the tenants that have a goroutine
	found      int                           // how many were dispatched
	moved      int                           // swaps that succeeded, and what was put aside
	unread     int                           // of those dispatched, the ones that cannot be read, which are due for ever
	done       Ticked
	problem    error // the first trouble that did not end the tick
	err        error // what ended it
}

// run dispatches what is due until nothing moves any more.
func (t *tick) run(ctx context.Context, due []driver.Document) {
	for moved := 0; ; {
		t.dispatch(ctx, due)
		idle := t.wait()
		t.mu.Lock()
		over := t.err != nil || idle && t.moved == moved // others are at it, or nothing is left
		moved = t.moved
		limit := min(batch+2*(len(t.dispatched)-t.unread), maxRead) + 2*t.unread
		if !idle {
			t.until = t.bank.Now()
		}
		t.mu.Unlock()
		if over {
			break
		}
		var err error
		if due, err = t.bank.Engines().Due(ctx, documentKind, limit); err != nil {
			t.record(&t.err, err)
			break
		}
	}
	for !t.wait() {
	}
}

// dispatch queues what is not dispatched yet.
func (t *tick) dispatch(ctx context.Context, due []driver.Document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range due {
		d := &due[i]
		if !d.Due.After(t.until) && !t.dispatched[d.Key] {
			t.dispatched[d.Key] = true
			t.found++
			queue, served := t.queues[d.Tenant]
			t.queues[d.Tenant] = append(queue, d)
			if !served {
				t.active++
				go t.serveTenant(ctx, d.Tenant, t.until)
			}
		}
	}
}

// wait reports whether all goroutines have ended, for which it waits a while.
func (t *tick) wait() bool {
	over := time.After(patience)
	for t.active > 0 {
		select {
		case <-t.ended:
			t.active--
		case <-over:
			return false
		}
	}
	return true
}

// serveTenant works on what is queued for a tenant.
func (t *tick) serveTenant(ctx context.Context, tenant string, until time.Time) {
	t.slots <- struct{}{}
	p := &pass{tick: t, until: until}
	p.redactor = sync.OnceValues(func() (memory.Redactor, error) { return p.open(ctx, tenant) })
	defer func() { // also if a part of the host ends the goroutine
		<-t.slots
		t.ended <- struct{}{}
	}()
	defer p.close(ctx)
	const part = "the store" // a caller could not recover from its panic here
	_, err := hostcall.Inline(part, func() (any, error) {
		for d := t.next(ctx, tenant); d != nil; d = t.next(ctx, tenant) {
			p.process(ctx, d)
		}
		return nil, nil
	})
	t.record(&t.err, hostcall.Failed(ctx, part, err, internal))
}

// next takes a document out of the queue of a tenant, or removes the queue.
func (t *tick) next(ctx context.Context, tenant string) *driver.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = cmp.Or(t.err, ctx.Err())
	queue := t.queues[tenant]
	if len(queue) == 0 || t.err != nil || t.bank.Now().After(t.end) {
		delete(t.queues, tenant)
		return nil
	}
	t.queues[tenant] = queue[1:]
	return queue[0]
}

// do changes what the tenants of a tick share.
func (t *tick) do(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
}

// record keeps an error, if it is the first of those that end the tick or of those that do not.
func (t *tick) record(first *error, err error) {
	t.do(func() { *first = cmp.Or(*first, err) })
}
