package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// world is what a case works in: a fresh store, the clock, and the steps that were
// taken so far.
type world struct {
	ctx   context.Context
	cfg   *Config
	found *findings
	seed  uint64
	rng   *rand.Rand
	now   time.Time      // the kit's clock; a case moves it
	held  memory.Version // of cases that hold a view

	store    memory.Adapter
	tx       memory.Transactor // nil if the store does not offer it
	versions memory.Versioned  // nil if the store does not offer it
	searcher memory.Searcher   // nil if the store does not offer it
	scanner  memory.Scanner    // nil if the store does not offer it
	opened   []memory.Adapter

	mu    sync.Mutex
	steps []string
	quiet int // steps are not noted while it is above zero
	names versionNames
}

// did notes a step for the text of a failure.
func (w *world) did(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.quiet == 0 {
		w.steps = append(w.steps, fmt.Sprintf(format, args...))
	}
}

// quietly takes many steps, or such in no certain order, under one description.
func (w *world) quietly(description string, f func()) {
	w.did("%s", description)
	w.mu.Lock()
	w.quiet++
	w.mu.Unlock()
	f()
	w.mu.Lock()
	w.quiet--
	w.mu.Unlock()
}

func (w *world) stepCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.steps)
}

// unnote drops the steps after the n-th.
func (w *world) unnote(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = w.steps[:n]
}

// fail ends the case.
func (w *world) fail(expected, came string) { panic(&failure{expected, came}) }

// must ends the case if a step that should have succeeded did not.
func (w *world) must(err error) {
	if err != nil {
		w.fail("success", describeError(err))
	}
}

// mustBe ends the case unless err is of the class.
func (w *world) mustBe(err error, class error) {
	if !errors.Is(err, class) {
		w.fail(describeError(class), describeError(err))
	}
}

// check ends the case unless ok. The description of what came is a format.
func (w *world) check(ok bool, expected, came string, args ...any) {
	if !ok {
		w.fail(expected, fmt.Sprintf(came, args...))
	}
}

// parallel runs f n times at once, and ends the case with the first failure.
func (w *world) parallel(n int, f func(i int)) {
	var wait sync.WaitGroup
	failures := make(chan any, n)
	for i := range n {
		wait.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					failures <- r
				}
			}()
			f(i)
		})
	}
	wait.Wait()
	select {
	case r := <-failures:
		panic(r)
	default:
	}
}

// text is a failure as it is shown.
func (w *world) text(l *law, c *testCase, f *failure) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s (%s): %s\n", l.name, c.name, l.number, c.proves)
	const most = 30
	for i, step := range w.steps {
		switch {
		case len(w.steps) > most && i == 5:
			fmt.Fprintf(&b, "  %4s %d more steps\n", "…", len(w.steps)-most)
		case len(w.steps) > most && i > 5 && i < len(w.steps)-most+5:
		default:
			fmt.Fprintf(&b, "  %3d. %s\n", i+1, step)
		}
	}
	fmt.Fprintf(&b, "  expected: %s\n  came:     %s\n", indent(f.expected), indent(f.came))
	return b.String()
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n            ") }

// versionNames gives versions short names, v1 being the first that the case met.
type versionNames map[memory.Version]string

func (w *world) name(v memory.Version) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names == nil {
		w.names = versionNames{}
	}
	if _, known := w.names[v]; !known {
		w.names[v] = fmt.Sprintf("v%d", len(w.names)+1)
	}
	return w.names[v]
}

// fresh is another store with nothing in it, as the first was when the case began.
func (w *world) fresh() { w.use(w.open()) }
