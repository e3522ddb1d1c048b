package adaptertest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
	config Config
	level  Level  // how far the case and its audits look
	remark string // what a reader should know of the case, though nothing is wrong
	opened []driver.Adapter
	ref    *reference    // what the store must agree with; nil where order is not known
	held   []heldVersion // the versions that the store gave
	lent   bool          // all that waits was read at once: what was handed out may be hidden

	absence string          // the text of the error of an absent entry
	asked   map[string]bool // the subjects by which an audit has read a tenant's history
	sparing bool            // audits ask for some of the names, where there are many small ones
	probes  int             // entries that were put to see how much a tenant uses

	store     driver.Adapter
	tx        driver.Transactor // this and the following are nil if the store does not offer them
	versions  driver.Versioned
	scheduler driver.Scheduler
	changes   driver.Changes
	tenants   driver.Tenants
	kept      driver.EventKeeper
}

// use makes a store the one that the case works on.
func (w *world) use(s driver.Adapter) {
	if _, is := s.(watched); !is {
		s = w.watched(s)
	}
	w.store = s
	w.tx, _ = driver.As[driver.Transactor](s)
	w.versions, _ = driver.As[driver.Versioned](s)
	w.scheduler, _ = driver.As[driver.Scheduler](s)
	w.changes, _ = driver.As[driver.Changes](s)
	w.tenants, _ = driver.As[driver.Tenants](s)
	w.kept, _ = driver.As[driver.EventKeeper](s)
}

// play plays to the end or to the first failure, and closes the stores. It tells the
// failure by a pointer, as a store may end the goroutine under it.
func (w *world) play(part func(), failed **failure) {
	returned := false
	defer func() {
		switch r := recover().(type) {
		case nil:
			if !returned {
				*failed = &failure{"an answer", "the store ended the goroutine that called it"}
			}
		case *failure:
			*failed = r
		default:
			*failed = &failure{"an answer", fmt.Sprintf("a panic: %v", r)}
		}
		if err := w.closeAll(); err != nil && *failed == nil {
			*failed = &failure{"the store closes", describeError(err)}
		}
	}()
	part()
	returned = true
	*failed = w.watch.finish()
}

// fresh closes what is open and works on a store with nothing in it.
func (w *world) fresh() {
	w.ref, w.held, w.lent, w.probes = newReference(), nil, false, 0
	if err := w.closeAll(); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.use(w.open("New opens a store", func() (driver.Adapter, error) { return w.config.New(w.ctx) }))
}

func (w *world) open(expected string, by func() (driver.Adapter, error)) driver.Adapter {
	s, err := by()
	if err != nil || s == nil {
		w.fail("Config."+expected, describeError(err))
	}
	w.opened = append(w.opened, s)
	return s
}

// second opens the data of the store once more while it stays open.
func (w *world) second() driver.Adapter {
	w.did("open the store a second time")
	return w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, raw(w.store)) })
}

// reopen closes the store and opens its data again.
func (w *world) reopen() {
	w.did("close the store and open it again")
	old := raw(w.store)
	w.opened = slices.DeleteFunc(w.opened, func(s driver.Adapter) bool { return same(s, old) })
	if err := closeStore(old); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.use(w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, old) }))
}

// crash goes on with what a kill of the store's process would leave. The old store stays
// open until the case ends, so that it cannot write what it held back.
func (w *world) crash() {
	w.did("kill the store, and open what it left")
	old := raw(w.store)
	w.use(w.open("Crash opens what is left", func() (driver.Adapter, error) { return w.config.Crash(w.ctx, old) }))
}

// raw is a store as the configuration gave it.
func raw(s driver.Adapter) driver.Adapter {
	if w, ok := s.(watched); ok {
		return w.of
	}
	return s
}

// same compares stores, which may be of a type that cannot be compared.
func same(a, b driver.Adapter) (equal bool) {
	defer func() { _ = recover() }()
	return raw(a) == raw(b)
}

func (w *world) closeAll() error {
	var all error
	for _, s := range w.opened {
		all = errors.Join(all, closeStore(s))
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

// oneWins lets n callers try something at once, of whom one is to succeed and the others
// are to meet a conflict. It returns which succeeded.
func (w *world) oneWins(n int, what string, try func(i int) error) int {
	var won, winner atomic.Int64
	w.quietly(what, func() {
		w.parallel(n, func(i int) {
			if err := try(i); err == nil {
				won.Add(1)
				winner.Store(int64(i))
			} else if !errors.Is(err, driver.ErrConflict) {
				w.must(err)
			}
		})
	})
	w.check(won.Load() == 1, "one success, and a conflict for the others", "%d successes", won.Load())
	return int(winner.Load())
}

// size is how much of the many a case works with: with -short, as a rule, and with
// AGENTMEMORY_LONG in the environment.
func (w *world) size(short, usual, long int) int {
	switch {
	case w.config.Short:
		return short
	case os.Getenv("AGENTMEMORY_LONG") != "":
		return long
	}
	return usual
}
