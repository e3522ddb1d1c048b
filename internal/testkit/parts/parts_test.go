package parts_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const tenant, ref = "acme", "support"

var ctx = context.Background()

// part is a row of the table: something that a host plugs in, and an operation that calls it.
type part struct {
	// of are the fields and methods of configurations that the row is about, as
	// TestEveryPartIsInTheTable finds them.
	of []string
	// says is what an error calls the part.
	says string
	// limit is the time that the part has for a call; 0 if it is called in place.
	limit time.Duration
	// complete is set if what the part is told of has been committed before: then the store
	// has changed, and the change is whole.
	complete bool
	// swallowed is set if the operation succeeds in spite of a panic.
	swallowed bool
	// use prepares a world and returns the operation. The part itself is to call w.part.
	use func(w *world) func(ctx context.Context) error
}

// world is a store with a bank, and a part whose behaviour is chosen later.
type world struct {
	*testing.T
	store *inmem.Store
	bank  *memory.Bank
	log   *capture

	calls    atomic.Int64
	behaves  func() // nil: well
	loose    atomic.Bool
	released chan struct{}
}

// part is what the part under test does when it is called.
func (w *world) part() {
	if w.loose.Load() {
		w.calls.Add(1)
		w.behaves()
	}
}

func newWorld(t *testing.T) *world {
	return &world{T: t, store: inmem.New(), log: new(capture), released: make(chan struct{})}
}

// open makes the bank of the world.
func (w *world) open(cfg memory.Config) *memory.Bank {
	w.Helper()
	bank, err := memory.New(w.store, cfg)
	require.NoError(w, err)
	w.bank = bank
	return bank
}

func (w *world) job(id string) *memory.Job { return w.jobWith(id, redact.New(redact.Config{})) }

func (w *world) jobWith(id string, r memory.Redactor) *memory.Job {
	w.Helper()
	job, err := w.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: r})
	require.NoError(w, err)
	return job
}

func (w *world) note(texts ...string) (entries []memory.Entry) {
	w.Helper()
	for _, text := range texts {
		e, err := w.job("notes").Put(context.Background(), ref, memory.Draft{Content: text})
		require.NoError(w, err)
		entries = append(entries, e)
		time.Sleep(time.Millisecond) // of the bubble
	}
	return entries
}

// dump is all that the store holds of the tenant, but for leases and marks of purges.
func (w *world) dump() (lines []string) {
	w.Helper()
	ctx := context.Background()
	for rec, err := range w.store.History(ctx, tenant, driver.HistoryQuery{}) {
		require.NoError(w, err)
		lines = append(lines, fmt.Sprintf("%+v", rec))
	}
	for d, err := range w.store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
		require.NoError(w, err)
		if d.Key != "consolidate/pass" && d.Kind != "memory/purge" {
			lines = append(lines, fmt.Sprintf("%+v", d))
		}
	}
	for rec, err := range w.store.Undelivered(ctx, "", "") {
		require.NoError(w, err)
		if rec.Tenant != tenant {
			continue
		}
		lines = append(lines, fmt.Sprintf("%+v", rec))
	}
	slices.Sort(lines)
	return lines
}

// served is the error with which a handler answers a request. Wire.Log of the handler is
// w.encoder.
func (w *world) served(h http.Handler, method, target, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		w.log.err = nil
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(method, target, strings.NewReader(body)).WithContext(ctx))
		if answer.Code >= 300 && w.log.err == nil {
			return fmt.Errorf("status %d: %s", answer.Code, answer.Body)
		}
		return w.log.err
	}
}

func (w *world) encoder() wire.Encoder { return wire.Encoder{Version: wire.V1, Log: slog.New(w.log)} }

// capture keeps the error of the line that was logged last.
type capture struct {
	slog.Handler
	err error
}

func (c *capture) Enabled(context.Context, slog.Level) bool { return true }

func (c *capture) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			c.err = err
		}
		return true
	})
	return nil
}

// A part that panics, ends its goroutine or outlives its context or its time fails the
// operation, with an error that names it and nothing of what it said. Nothing is half done, and
// what the part does later changes nothing.
func TestPartsOfTheHostAreContained(t *testing.T) {
	for _, p := range slices.Concat(memoryParts, engineParts, hostParts) {
		t.Run(p.of[0], func(t *testing.T) {
			p.try(t, "well", func(w *world) {}, func(w *world, op func(context.Context) error) {
				require.NoError(w, op(context.Background()))
			})
			p.try(t, "panics", func(*world) { panic("canary") }, func(w *world, op func(context.Context) error) {
				err := op(context.Background())
				if p.swallowed {
					require.NoError(w, err)
					return
				}
				p.failed(w, err, " panicked")
			})
			if p.limit == 0 {
				return
			}
			p.try(t, "ends its goroutine", func(*world) { runtime.Goexit() }, func(w *world, op func(context.Context) error) {
				p.failed(w, op(context.Background()), " did not return")
			})
			hangs := func(w *world) { <-w.released }
			p.try(t, "outlives its time", hangs, func(w *world, op func(context.Context) error) {
				begun := time.Now()
				p.failed(w, op(context.Background()), " did not answer in time")
				require.Equal(w, p.limit, time.Since(begun))
			})
			p.try(t, "outlives the context", hangs, func(w *world, op func(context.Context) error) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				begun := time.Now()
				require.ErrorIs(w, op(ctx), context.DeadlineExceeded)
				require.Equal(w, time.Second, time.Since(begun))
			})
		})
	}
}

// try runs an operation in a world whose part behaves in some way.
func (p *part) try(t *testing.T, name string, behaves func(*world), check func(*world, func(context.Context) error)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.behaves = func() { behaves(w) }
			release := sync.OnceFunc(func() { close(w.released) })
			defer release()
			op := p.use(w)
			before := w.dump()
			w.loose.Store(true)
			check(w, op)
			require.NotZero(w, w.calls.Load(), "the operation does not call the part")
			after := w.dump()
			if name != "well" && !p.complete && !p.swallowed {
				require.Equal(w, before, after, "something is half done")
			}
			release()
			synctest.Wait()
			require.Equal(w, after, w.dump(), "what came too late has changed something")
		})
	})
}

func (p *part) failed(w *world, err error, did string) {
	w.Helper()
	require.ErrorContains(w, err, p.says)
	require.NotContains(w, err.Error(), "canary")
	require.Equal(w, memory.CodeInternal, memory.CodeOf(err))
	if w.log.err == nil { // it is no handler's
		require.ErrorIs(w, err, memory.ErrInternal)
	}
	found := (*hostcall.Error)(nil)
	require.ErrorAs(w, err, &found)
	require.ErrorContains(w, found, did)
}
