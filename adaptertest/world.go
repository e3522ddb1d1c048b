package adaptertest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// epoch is where the kit's clock starts: years behind any real clock, so that a
// store which looks at its own is found out.
var epoch = time.Date(2001, 3, 4, 5, 6, 7, 0, time.UTC)

// world is what a case works in: the store that it works on, what that offers, and the
// script.
type world struct {
	*script
	config  Config
	level   Level // how far the case and its audits look
	opened  []io.Closer
	ref     *reference    // what the store must agree with; nil where order is not known
	held    []heldVersion // the versions that the store gave
	handles []*watched    // of the same data, between which a case turns
	lent    bool          // all that waits was read at once: what was handed out may be hidden

	absence string // the text of the error of an absent entry
	played  int    // steps of the sequence under way

	store *watched
	offered
}

// offered is what a store offers beside its four operations. What it does not offer is nil.
type offered struct {
	tx        driver.Transactor
	versions  driver.Versioned
	kept      driver.EventKeeper
	scheduler driver.Scheduler
	changes   driver.Changes
	tenants   driver.Tenants
}

func offeredBy(store driver.Adapter) (a offered) {
	a.tx, _ = driver.As[driver.Transactor](store)
	a.versions, _ = driver.As[driver.Versioned](store)
	a.kept, _ = driver.As[driver.EventKeeper](store)
	a.scheduler, _ = driver.As[driver.Scheduler](store)
	a.changes, _ = driver.As[driver.Changes](store)
	a.tenants, _ = driver.As[driver.Tenants](store)
	return a
}

// use makes a store the one that the case works on.
func (w *world) use(s *watched) { w.store, w.offered = s, offeredBy(s) }

// attempt plays to the end or to the first failure.
func (w *world) attempt(part func()) (failed *failure) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *failure:
			failed = r
		default:
			failed = &failure{"an answer", fmt.Sprintf("a panic: %v", r)}
		}
	}()
	part()
	return w.watch.finish()
}

// play attempts a part, and closes the stores. It tells the failure by a pointer, as a store may
// end the goroutine under it.
func (w *world) play(part func(), failed **failure) {
	*failed = &failure{"an answer", "the store ended the goroutine that called it"}
	defer func() {
		if err := w.closeAll(); err != nil && *failed == nil {
			*failed = &failure{"the store closes", describeError(err)}
		}
	}()
	*failed = w.attempt(part)
}

// fresh closes what is open and works on a store with nothing in it.
func (w *world) fresh() {
	w.ref, w.held, w.lent = newReference(), nil, false
	if err := w.closeAll(); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.use(w.open("New opens a store", func() (driver.Adapter, error) { return w.config.New(w.ctx) }))
}

func (w *world) open(expected string, by func() (driver.Adapter, error)) *watched {
	store, err := by()
	if err != nil || store == nil {
		w.fail("Config."+expected, describeError(err))
	}
	s := w.watched(store)
	w.opened = append(w.opened, s)
	return s
}

// second opens the data of the store once more while it stays open.
func (w *world) second() *watched {
	w.did("open the store a second time")
	return w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, w.store.of) })
}

// reopen closes the store and opens its data again.
func (w *world) reopen() {
	w.did("close the store and open it again")
	old := w.store
	w.opened = slices.DeleteFunc(w.opened, func(s io.Closer) bool { return s == old })
	if err := old.Close(); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.use(w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, old.of) }))
}

// turnHandle goes on with another handle of the same data.
func (w *world) turnHandle() {
	open := func(s *watched) bool { return slices.Contains(w.opened, io.Closer(s)) }
	if len(w.handles) == 0 || !open(w.handles[0]) || !open(w.handles[1]) {
		w.handles = []*watched{w.store, w.second()}
	}
	slices.Reverse(w.handles)
	w.did("go on with the other handle")
	w.use(w.handles[0])
}

// crash goes on with what a kill of the store's process would leave. The old store stays
// open until the case ends, so that it cannot write what it held back.
func (w *world) crash() {
	w.did("kill the store, and open what it left")
	w.use(w.open("Crash opens what is left", func() (driver.Adapter, error) { return w.config.Crash(w.ctx, w.store.of) }))
}

func (w *world) closeAll() error {
	var all error
	for _, s := range w.opened {
		all = errors.Join(all, s.Close())
	}
	w.opened = nil
	return all
}

func closeStore(s driver.Adapter) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// parallel runs f n times at once, and ends the case with the failure of the first
// of them that has one.
func (w *world) parallel(n int, f func(i int)) {
	w.unmirrored()
	w.mu.Lock()
	w.raced = true
	w.mu.Unlock()
	var wait sync.WaitGroup
	failures := make([]any, n)
	for i := range n {
		wait.Go(func() {
			defer func() { failures[i] = recover() }()
			f(i)
		})
	}
	wait.Wait()
	for _, r := range failures {
		if r != nil {
			panic(r)
		}
	}
}

// size is how much of the many a case works with: with -short, and usually.
func (w *world) size(short, usual int) int {
	if w.config.Short {
		return short
	}
	return usual
}
