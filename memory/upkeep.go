package memory

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// RemoveWhenDue is the kind of machinery that [Bank.Maintain] removes once its Due has passed, such
// as the journals of passes. Its keys begin with the name of the engine that keeps it.
const RemoveWhenDue = "memory/until-due"

// ChoreTime bounds what an engine does in one round, see [Engines.Register].
const ChoreTime = 10 * time.Minute

// Register adds what an engine needs from time to time to the rounds of [Bank.Maintain] and
// [Bank.Keep]. An engine calls it when it is made.
//
// A tick does what is due, of all tenants, and slice the next piece of work that may need seconds
// or much memory; either may be nil. A bank does one slice of all engines at a time, and nothing but
// other slices waits for one that is slow. A tick or slice that takes longer than [ChoreTime] fails with
// [ErrInternal]: its context ends, and it is not called again until it has returned.
//
// A bank has one engine of a kind. The config is nil or a comparable value by which the engine
// tells its configuration from others: a second engine with an equal one changes nothing, and one
// with another fails with [ErrConflict]. An empty kind, a config that cannot be compared, or
// neither a tick nor a slice is [ErrValidation].
func (e Engines) Register(kind string, config any, tick, slice func(context.Context) error) error {
	if kind == "" || tick == nil && slice == nil || config != nil && !reflect.ValueOf(config).Comparable() {
		return fail(ErrValidation,
			"the kind of the engine is empty, its config cannot be compared, or it has neither a tick nor a slice")
	}
	k := &e.bank.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	first, known := k.kinds[kind]
	if known && first != config {
		return fail(ErrConflict,
			"the bank has an engine of this kind with another configuration: use that one, or make another bank")
	}
	if known {
		return nil
	}
	k.kinds[kind] = config
	k.add("the tick of "+kind, ChoreTime, nil, alone(tick))
	k.add("the slice of "+kind, ChoreTime, k.busy, alone(slice))
	return nil
}

// alone makes a chore of a part of an engine, which does nothing that memory counts.
func alone(part func(context.Context) error) func(context.Context) (Maintained, error) {
	if part == nil {
		return nil
	}
	return func(ctx context.Context) (Maintained, error) { return Maintained{}, part(ctx) }
}

// keeper has the chores of a bank and of the engines over it.
type keeper struct {
	busy  slot // with a heavy chore
	mu    sync.Mutex
	kinds map[string]any // the Config of each engine
	all   []*chore
}

// add adds a chore if there is something to do. A limit of 0 is none.
func (k *keeper) add(part string, limit time.Duration, heavy slot, do func(context.Context) (Maintained, error)) {
	if do != nil {
		k.all = append(k.all, &chore{part: part, limit: limit, heavy: heavy, do: do, turn: newSlot()})
	}
}

// chores returns all chores, heavy ones last.
func (k *keeper) chores() []*chore {
	k.mu.Lock()
	defer k.mu.Unlock()
	var light, heavy []*chore
	for _, c := range k.all {
		if c.heavy == nil {
			light = append(light, c)
		} else {
			heavy = append(heavy, c)
		}
	}
	return append(light, heavy...)
}

// chore is a chore of the bank or of an engine.
type chore struct {
	part  string        // what errors call it
	limit time.Duration // 0 for those of the bank that only their context ends
	heavy slot          // that of the bank; nil for a light one
	do    func(context.Context) (Maintained, error)
	turn  slot // is taken while the chore is under way
	// running counts the calls of do that have not returned. A caller that has the turn and finds one
	// knows that it was given up.
	running atomic.Int32
}

// slot is taken by one goroutine at a time.
type slot chan struct{}

func newSlot() slot { return make(slot, 1) }

// take waits for a slot, or returns the error of the context.
func (s slot) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryTake reports whether it has taken a slot that was free.
func (s slot) tryTake() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slot) free() { <-s }

// call does the chore once. The caller has the turn.
func (c *chore) call(ctx context.Context) (Maintained, error) {
	if c.running.Load() > 0 {
		return Maintained{}, fail(ErrInternal,
			c.part+" did not answer in time and has not returned: it is left out until it does")
	}
	if c.heavy != nil {
		if err := c.heavy.take(ctx); err != nil {
			return Maintained{}, err
		}
		defer c.heavy.free()
	}
	if c.limit == 0 {
		return c.do(ctx)
	}
	var mu sync.Mutex
	var done Maintained // also of a call that failed
	_, err := hostcall.Call(ctx, c.part, c.limit, func(ctx context.Context) (struct{}, error) {
		c.running.Add(1)
		defer c.running.Add(-1)
		if err := ctx.Err(); err != nil { // it was given up before it began, and may be under way again
			return struct{}{}, err
		}
		did, err := c.do(ctx)
		mu.Lock()
		defer mu.Unlock()
		done = did
		return struct{}{}, err
	})
	if hostcall.Misbehaved(err) {
		err = hostFailed(ctx, c.part, err)
	}
	mu.Lock()
	defer mu.Unlock()
	return done, err
}
