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
	config Config
	opened []driver.Adapter
	held   driver.Version // of cases that hold a view

	probes int // entries that were put to see how much a tenant uses

	swaps   sync.Mutex
	swapped map[string]int // by name and revision, the swaps that succeeded through a tap

	store     driver.Adapter
	tx        driver.Transactor // this and the following are nil if the store does not offer them
	versions  driver.Versioned
	searcher  driver.Searcher
	scanner   driver.Scanner
	scheduler driver.Scheduler
	changes   driver.Changes
	tenants   driver.Tenants
}

// use makes a store the one that the case works on.
func (w *world) use(s driver.Adapter) {
	w.store = s
	w.tx, _ = driver.As[driver.Transactor](s)
	w.versions, _ = driver.As[driver.Versioned](s)
	w.searcher, _ = driver.As[driver.Searcher](s)
	w.scanner, _ = driver.As[driver.Scanner](s)
	w.scheduler, _ = driver.As[driver.Scheduler](s)
	w.changes, _ = driver.As[driver.Changes](s)
	w.tenants, _ = driver.As[driver.Tenants](s)
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
}

// fresh closes what is open and works on a store with nothing in it.
func (w *world) fresh() {
	w.swapped = nil
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
	return w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, w.store) })
}

// reopen closes the store and opens its data again.
func (w *world) reopen() {
	w.did("close the store and open it again")
	old := w.store
	w.opened = slices.DeleteFunc(w.opened, func(s driver.Adapter) bool { return same(s, old) })
	if err := closeStore(old); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.use(w.open("Reopen opens the data again", func() (driver.Adapter, error) { return w.config.Reopen(w.ctx, old) }))
}

// same compares stores, which may be of a type that cannot be compared.
func same(a, b driver.Adapter) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
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
