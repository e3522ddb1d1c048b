package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/openwop/agentmemory/memory/driver"
)

// errEndless is what calls fail with after far more of them than any case needs: banks
// and engines repeat what conflicts, and erase until they find nothing left.
var errEndless = errors.New("the store was called 100,000 times and there was no end")

const endless = 100_000

// errInjected is what a call fails with that the kit makes fail.
var errInjected = errors.New("injected by adaptertest")

// injector stands between a bank and a store, counts the calls, and makes one of them
// fail by a fault. The process of the bank may die there, too.
type injector struct {
	world *world

	mu    sync.Mutex
	calls []string
	fault Fault // what becomes of a call; nil is nothing
}

// over is the case's store with what the injector does to its calls.
func (i *injector) over(store driver.Adapter) driver.Adapter { return Inject(store, i.call, recovered) }

func (i *injector) call(ctx context.Context, c *Call, next func(context.Context) error) error {
	i.mu.Lock()
	i.calls = append(i.calls, c.Method)
	over, fault := len(i.calls) > endless, i.fault
	i.mu.Unlock()
	made := func(ctx context.Context) error {
		err := next(ctx)
		if err == nil && c.Method == "Apply" {
			m := c.given[1].(driver.Mutation)
			i.world.noteSwaps(&m)
		}
		return err
	}
	switch {
	case over:
		return errEndless
	case fault != nil:
		return fault(ctx, c, made)
	}
	return made(ctx)
}

// begin counts the calls from here on, and makes a fault of some of them.
func (i *injector) begin(f Fault) { i.calls, i.fault = nil, f }

// recovered makes a panic of the store an error of the call: an engine makes some of its
// calls in goroutines of its own, in which no other call would catch it.
func recovered(ctx context.Context, _ *Call, next func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	return next(ctx)
}

// noteSwaps counts how often a revision was swapped.
func (w *world) noteSwaps(m *driver.Mutation) {
	w.swaps.Lock()
	defer w.swaps.Unlock()
	if w.swapped == nil {
		w.swapped = map[string]int{}
	}
	for _, x := range m.Documents {
		if x.Rev > 0 && x.Act != driver.Check {
			w.swapped[fmt.Sprintf("%s, revision %d", describeName(&x.Document), x.Rev)]++
		}
	}
}

// swappedOnce expects that no revision of a document was swapped twice: of those who saw
// it, one has the claim.
func (w *world) swappedOnce() {
	for name, n := range sorted(w.swapped) {
		w.check(n == 1, "one who swaps each revision", "%d swaps of %s", n, name)
	}
}
