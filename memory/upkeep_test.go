package memory_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// register adds an engine to what the bank maintains.
func register(t *testing.T, b *memory.Bank, kind string, tick, slice func(context.Context) error) {
	t.Helper()
	require.NoError(t, b.Engines().Register(kind, nil, tick, slice))
}

// counted counts its calls.
func counted(n *atomic.Int32) func(context.Context) error {
	return func(context.Context) error { n.Add(1); return nil }
}

// obeys hangs until its context ends.
func obeys(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// ignores hangs until it is released.
func ignores(released <-chan struct{}) func(context.Context) error {
	return func(context.Context) error { <-released; return errors.New("canary-of-the-late") }
}

// stuck is an engine of which something never ends by itself.
type stuck struct {
	name                      string
	tickIgnores, sliceIgnores bool
	tick, slice               bool
}

var stucks = []stuck{
	{name: "a tick that obeys", tick: true},
	{name: "a tick that ignores", tick: true, tickIgnores: true},
	{name: "a slice that obeys", slice: true},
	{name: "a slice that ignores", slice: true, sliceIgnores: true},
	{name: "both", tick: true, slice: true, tickIgnores: true, sliceIgnores: true},
}

func (s stuck) register(t *testing.T, b *memory.Bank, released <-chan struct{}) {
	hang := func(is, ignoring bool) func(context.Context) error {
		switch {
		case !is:
			return nil
		case ignoring:
			return ignores(released)
		}
		return obeys
	}
	register(t, b, "stuck", hang(s.tick, s.tickIgnores), hang(s.slice, s.sliceIgnores))
}

// Rounds beside a chore that never ends do all else: each relays, ticks and removes, and other
// slices have their turn. The late one is named, and what it says later is heard by none.
func TestE3_NothingWaitsForAChoreThatNeverEnds(t *testing.T) {
	const pause = 10 * time.Second
	const rounds, late = 150, int(memory.ChoreTime / pause)
	for _, s := range stucks {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				got := new(events.Log)
				h := newHost(t, func(c *memory.Config) {
					c.Now, c.Sink = nil, got
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				released := make(chan struct{})
				var ticks, slices atomic.Int32
				s.register(t, h.Bank, released)
				register(t, h.Bank, "other", counted(&ticks), counted(&slices))
				kept, cancel := context.WithCancel(ctx)
				ended := make(chan error, 1)
				go func() { ended <- h.Keep(kept, pause) }()
				for i := range rounds {
					put(t, h.run("r"+strconv.Itoa(i), "acme"), "m", "x")
					time.Sleep(pause)
					synctest.Wait()
					require.Len(t, got.Events("acme", "r"+strconv.Itoa(i)), 1, "round %d", i)
				}
				require.EqualValues(t, rounds+1, ticks.Load())
				switch {
				case !s.slice:
					require.EqualValues(t, rounds+1, slices.Load())
				case s.sliceIgnores:
					require.GreaterOrEqual(t, int(slices.Load()), rounds-late-2, "once late, it is left out")
				default:
					require.GreaterOrEqual(t, int(slices.Load()), rounds/late, "one after each that was late")
				}
				require.Contains(t, log.String(), "of stuck did not answer in time")
				before := log.String()
				close(released)
				synctest.Wait()
				require.Equal(t, before, log.String())
				cancel()
				require.ErrorIs(t, <-ended, context.Canceled)
				require.NotContains(t, log.String(), "canary")
			})
		})
	}
}

// A Maintain by itself does all else too, waits for the late one no longer than its time, and leaves
// it out until it returns.
func TestE3_MaintainDoesAllElseBesideAChoreThatNeverEnds(t *testing.T) {
	for _, s := range stucks {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := new(events.Log)
				h := newHost(t, func(c *memory.Config) { c.Now, c.Sink = nil, got })
				released := make(chan struct{})
				var ticks, slices atomic.Int32
				s.register(t, h.Bank, released)
				register(t, h.Bank, "other", counted(&ticks), counted(&slices))
				put(t, h.run("r", "acme"), "m", "x")

				cron, cancel := context.WithTimeout(ctx, time.Minute)
				done, err := h.Maintain(cron)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "of stuck")
				require.Equal(t, memory.CodeCanceled, memory.CodeOf(err))
				require.Equal(t, 1, done.Delivered)
				require.EqualValues(t, 1, ticks.Load())

				begun := time.Now()
				done, err = h.Maintain(ctx)
				require.LessOrEqual(t, time.Since(begun), 2*memory.ChoreTime)
				require.ErrorIs(t, err, memory.ErrInternal)
				require.ErrorContains(t, err, "of stuck did not answer in time")
				require.Equal(t, 1, done.Tenants, "the purge")
				require.EqualValues(t, 2, ticks.Load())
				require.Positive(t, slices.Load())

				close(released)
				synctest.Wait()
				_, err = h.Maintain(ctx)
				if s.tickIgnores || s.sliceIgnores {
					require.ErrorContains(t, err, "canary", "it is called again")
				} else {
					require.ErrorContains(t, err, "of stuck did not answer in time")
				}
			})
		})
	}
}

// A bank does one slice at a time, though two loops ask for them.
func TestSlicesAreOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, calls atomic.Int32
		work := func(context.Context) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(3 * time.Second)
			now.Add(-1)
			calls.Add(1)
			return nil
		}
		b := newHost(t, func(c *memory.Config) { c.Now = nil }).Bank
		for _, kind := range []string{"a", "b", "c"} {
			register(t, b, kind, nil, work)
		}
		kept, cancel := context.WithCancel(ctx)
		ended := make(chan error, 2)
		go func() { ended <- b.Keep(kept, time.Second) }()
		go func() {
			for kept.Err() == nil {
				_, _ = b.Maintain(kept)
			}
			ended <- nil
		}()
		time.Sleep(5 * time.Minute)
		cancel()
		<-ended
		<-ended
		time.Sleep(3 * time.Second) // of the slice that was begun last
		require.EqualValues(t, 1, most.Load())
		require.InDelta(t, 100, calls.Load(), 2)
	})
}

// The tick of an engine may panic: the rest of the round and the next ones happen.
func TestKeepSurvivesAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		kept, cancel := context.WithTimeout(ctx, 9500*time.Millisecond)
		defer cancel()
		var first, second atomic.Int32
		register(t, h.Bank, "first", func(context.Context) error {
			first.Add(1)
			panic("canary")
		}, nil)
		register(t, h.Bank, "second", counted(&second), nil)
		require.ErrorIs(t, h.Keep(kept, time.Second), context.DeadlineExceeded)
		require.EqualValues(t, 10, first.Load())
		require.EqualValues(t, 10, second.Load())
	})
}

// A bank has one engine of a kind, however often it is made.
func TestEnginesOfAKindAreOne(t *testing.T) {
	type config struct {
		Tries int
		Part  any
	}
	h := newHost(t)
	var rounds atomic.Int32
	again := func(config any) error { return h.Engines().Register("counter", config, counted(&rounds), nil) }
	require.NoError(t, again(config{3, nil}))
	require.NoError(t, again(config{3, nil}), "the same one")
	for _, other := range []any{config{4, nil}, config{3, new(config)}, nil, "counter"} {
		require.ErrorIs(t, again(other), memory.ErrConflict)
	}
	require.ErrorIs(t, again(config{3, counted}), memory.ErrValidation, "it cannot be compared")
	require.ErrorIs(t, h.Engines().Register("", nil, counted(&rounds), nil), memory.ErrValidation)
	require.ErrorIs(t, h.Engines().Register("none", nil, nil, nil), memory.ErrValidation)
	_, err := h.Maintain(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, rounds.Load())
}

// dying is a context that ends as soon as a caller has seen that it has not, once that is wanted.
type dying struct {
	context.Context
	end    context.CancelFunc
	wanted atomic.Bool
}

func (d *dying) Err() error {
	err := d.Context.Err()
	if d.wanted.Load() {
		d.end()
	}
	return err
}

// A chore whose context ends before it has begun never begins: by then another call of it may be under way.
func TestAChoreThatWasGivenUpDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(c *memory.Config) { c.Now = nil })
		within, cancel := context.WithCancel(ctx)
		d := &dying{Context: within, end: cancel}
		var begun atomic.Int32
		register(t, h.Bank, "first", func(context.Context) error { d.wanted.Store(true); return nil }, nil)
		register(t, h.Bank, "second", counted(&begun), nil)
		_, err := h.Maintain(d)
		require.ErrorIs(t, err, context.Canceled)
		synctest.Wait()
		require.Zero(t, begun.Load())
		_, err = h.Maintain(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, begun.Load())
	})
}
