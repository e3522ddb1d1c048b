package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// law is a group of cases under one law.
type law struct {
	name   string
	number string // of the project's laws
	says   string
	cases  []testCase
}

// testCase is one proof. Its run function uses the world, and stops at the first
// thing that is wrong.
type testCase struct {
	name   string
	proves string
	needs  []Offer
	run    func(w *world)
}

// laws are all laws with all cases, in the order in which they run.
func laws() []law {
	return []law{
		isolationLaw(), redactionLaw(), expiryLaw(), orderLaw(), recordLaw(), idempotenceLaw(),
		batchLaw(), outboxLaw(), viewLaw(), forgetLaw(), searchLaw(), durableLaw(),
		consolidationLaw(), compactionLaw(), faultLaw(), modelLaw(),
	}
}

// level is the step that a case belongs to.
func (c *testCase) level() Level {
	switch {
	case slices.Contains(c.needs, Versioned):
		return LevelVersioned
	case slices.Contains(c.needs, Transactor):
		return LevelTransactor
	}
	return LevelAdapter
}

// runCase runs one case on a store of its own.
func runCase(ctx context.Context, cfg *Config, found *findings, l *law, c *testCase) Case {
	result := Case{Name: c.name, Proves: c.proves, Status: Proven, level: c.level()}
	if missing := found.missing(c.needs); len(missing) > 0 {
		result.Status = NotOffered
		result.Reason = fmt.Sprintf("needs %s: %s", missing[0], found.reason(missing[0]))
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	w := &world{ctx: ctx, cfg: cfg, found: found, now: epoch}
	h := fnv.New64a()
	io.WriteString(h, l.name+"/"+c.name)
	w.seed = h.Sum64()
	w.rng = rand.New(rand.NewPCG(cfg.Seed, w.seed))

	ended := make(chan *failure, 1)
	go func() {
		var failed *failure
		defer func() { ended <- failed }()
		w.play(c, &failed)
	}()
	var failed *failure
	select {
	case failed = <-ended:
	case <-ctx.Done():
		failed = &failure{expected: "an answer", came: "none before the context was done: the store hangs"}
	}
	if failed != nil {
		result.Status = Broken
		result.Failure = w.text(l, c, failed)
	}
	return result
}

// failure is what was wrong.
type failure struct{ expected, came string }

// play runs the case to its end or to the first failure, and closes its stores.
func (w *world) play(c *testCase, failed **failure) {
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
	w.use(w.open())
	c.run(w)
	returned = true
}

// use makes a store the one that the case works on.
func (w *world) use(store memory.Adapter) {
	w.store = store
	w.tx, _ = memory.As[memory.Transactor](store)
	w.versions, _ = memory.As[memory.Versioned](store)
	w.searcher, _ = memory.As[memory.Searcher](store)
	w.scanner, _ = memory.As[memory.Scanner](store)
}

// open opens a fresh store.
func (w *world) open() memory.Adapter {
	store, err := w.cfg.New(w.ctx)
	if err != nil || store == nil {
		w.fail("Config.New opens a store", describeError(err))
	}
	w.opened = append(w.opened, store)
	return store
}

// second opens the data of the store once more while it stays open.
func (w *world) second() memory.Adapter {
	w.did("open the store a second time")
	store, err := w.cfg.Reopen(w.ctx, w.store)
	if err != nil || store == nil {
		w.fail("Config.Reopen opens the data again", describeError(err))
	}
	w.opened = append(w.opened, store)
	return store
}

// reopen closes the store and opens its data again.
func (w *world) reopen() {
	w.did("close the store and open it again")
	old := w.store
	if err := closeStore(old); err != nil {
		w.fail("the store closes", describeError(err))
	}
	w.opened = slices.DeleteFunc(w.opened, func(a memory.Adapter) bool { return same(a, old) })
	store, err := w.cfg.Reopen(w.ctx, old)
	if err != nil || store == nil {
		w.fail("Config.Reopen opens the data again", describeError(err))
	}
	w.opened = append(w.opened, store)
	w.use(store)
}

// same compares stores, which may be of a type that cannot be compared.
func same(a, b memory.Adapter) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

func (w *world) closeAll() error {
	var all error
	for _, store := range w.opened {
		all = errors.Join(all, closeStore(store))
	}
	w.opened = nil
	return all
}

func closeStore(store memory.Adapter) error {
	if c, ok := store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// epoch is where the kit's clock starts: years behind any real clock, so that a
// store which looks at its own is found out.
var epoch = time.Date(2001, 3, 4, 5, 6, 7, 0, time.UTC)
