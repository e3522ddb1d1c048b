package memory_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// limited is a host whose tenants may have as much as limits says.
func limited(t testing.TB, limits *driver.Limits) *host {
	return newHost(t, func(c *memory.Config) {
		c.Limits = func(_ context.Context, tenant string) (driver.Limits, error) {
			if tenant != "acme" {
				return driver.Limits{}, nil
			}
			return *limits, nil
		}
	})
}

// A tenant at its limit is refused what makes it more, with the protocol's code, and
// nothing is written; other tenants are not. What frees memory, or makes no more of it,
// goes on.
func TestM9_LimitsOfATenant(t *testing.T) {
	var limits driver.Limits
	h := limited(t, &limits)
	job, run := h.job("acme"), h.run("r", "acme")
	a := put(t, job, "m", "about ann", "customer:ann")
	b := put(t, job, "other", "bob")
	limits.Entries = 2
	events := len(h.log.Events("acme", "pass"))
	for name, write := range map[string]func() (memory.Entry, error){
		"job": func() (memory.Entry, error) { return job.Put(ctx, "m", memory.Draft{Content: "more"}) },
		"run": func() (memory.Entry, error) { return run.Put(ctx, "m", memory.Draft{Content: "more", Key: "k"}) },
		"rewrite": func() (memory.Entry, error) {
			_, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "more"}, Sources: []string{a.ID}}}})
			return memory.Entry{}, err
		},
	} {
		_, err := write()
		require.ErrorIs(t, err, memory.ErrStorageLimit, name)
		require.Equal(t, memory.CodeStorageLimit, memory.CodeOf(err))
		requireLimit(t, err, 2, "memory: the tenant's storage limit is reached: too many entries: purge, or raise Limits.Entries")
	}
	require.Equal(t, []string{"about ann"}, contents(t, h.Reader("acme"), "m"))
	require.Len(t, h.log.Events("acme", "pass"), events)
	put(t, h.job("globex"), "m", "theirs")

	_, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{
		{Draft: memory.Draft{Content: "about Ann"}, Sources: []string{a.ID}, Merges: []string{a.ID}}}})
	require.NoError(t, err, "a consolidation makes no more")
	_, err = h.Scrub(ctx, "acme", newVault("k", "bob"))
	require.NoError(t, err, "a scrub goes on, though its marker is longer")
	limits.Bytes = 1
	done, err := h.Forget(ctx, "acme", "customer:ann")
	require.NoError(t, err)
	require.Len(t, done.Erased, 2)
	_, err = job.Put(ctx, "m", memory.Draft{Content: "two"})
	requireLimit(t, err, 1, "memory: the tenant's storage limit is reached: too many bytes: purge, or raise Limits.Bytes")
	limits.Bytes = 0
	put(t, job, "m", "there is room again")
	deleted, err := job.Delete(ctx, "other", b.ID)
	require.NoError(t, err)
	require.False(t, deleted, "it was scrubbed")
}

// requireLimit expects an error to name its limit, and what to do.
func requireLimit(t *testing.T, err error, limit int64, text string) {
	t.Helper()
	require.EqualError(t, err, text)
	known := (*driver.Error)(nil)
	require.ErrorAs(t, err, &known)
	require.Equal(t, map[string]any{"limit": limit}, known.Details())
}

// Forgetting brings back what had been merged, also beyond the limits.
func TestM10_ForgettingGoesOnBeyondTheLimits(t *testing.T) {
	var limits driver.Limits
	h := limited(t, &limits)
	job := h.job("acme")
	a, b := put(t, job, "m", "one"), put(t, job, "m", "two")
	head := put(t, job, "m", "one and two", "customer:ann")
	_, err := job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{a.ID, memory.Merged, head.ID}, {b.ID, memory.Merged, head.ID}}})
	require.NoError(t, err)
	limits.Entries, limits.Bytes = 1, 1
	_, err = h.Forget(ctx, "acme", "customer:ann")
	require.NoError(t, err)
	require.Equal(t, []string{"two", "one"}, contents(t, h.Reader("acme"), "m"))
}

func TestM9_LimitOfWaitingEvents(t *testing.T) {
	limits := driver.Limits{Waiting: 3}
	h := limited(t, &limits)
	job := h.job("acme")
	for range 3 {
		put(t, job, "m", "x")
	}
	_, err := job.Put(ctx, "m", memory.Draft{Content: "y"})
	require.ErrorIs(t, err, memory.ErrBacklog)
	requireLimit(t, err, 3, "memory: too many undelivered events: relay them by Bank.Keep, or raise Limits.Waiting")
	require.Equal(t, memory.CodeStorageLimit, memory.CodeOf(err))
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	put(t, job, "m", "y")
}

// Banks over one store do not go beyond a limit together.
func TestM9_LimitsHoldAmongBanks(t *testing.T) {
	store := inmem.New()
	const room = 40
	var banks []*host
	for range 4 {
		banks = append(banks, newHostOn(t, store, func(c *memory.Config) {
			c.Limits = func(context.Context, string) (driver.Limits, error) {
				var l driver.Limits
				l.Entries, l.Bytes = room, 10*room
				return l, nil
			}
		}))
	}
	var wait sync.WaitGroup
	for _, h := range banks {
		job := h.job("acme")
		wait.Go(func() {
			for range 25 {
				if _, err := job.Put(ctx, "m", memory.Draft{Content: strings.Repeat("x", 10)}); err != nil {
					if !errors.Is(err, memory.ErrStorageLimit) {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	require.Len(t, contents(t, banks[0].Reader("acme"), "m"), room)
}

// Limits that cannot be asked for refuse the write.
func TestLimitsThatFailAreContained(t *testing.T) {
	for name, f := range map[string]func() (driver.Limits, error){
		"failed":   func() (driver.Limits, error) { return driver.Limits{}, errors.New("canary") },
		"panicked": func() (driver.Limits, error) { panic("canary") },
	} {
		h := newHost(t, func(c *memory.Config) {
			c.Limits = func(context.Context, string) (driver.Limits, error) { return f() }
		})
		_, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "x"})
		require.ErrorIs(t, err, memory.ErrInternal, name)
		require.ErrorContains(t, err, "the limits "+name)
		require.Empty(t, contents(t, h.Reader("acme"), "m"))
	}
	_, err := memory.New(struct{ driver.Adapter }{inmem.New()}, memory.Config{Limits: func(context.Context, string) (driver.Limits, error) { return driver.Limits{}, nil }})
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

// What brings entries back makes more of them, whether or not it has an event.
func TestM9_LimitsHoldForRestoring(t *testing.T) {
	var limits driver.Limits
	h := limited(t, &limits)
	job := h.job("acme")
	a, b, head := put(t, job, "m", "one"), put(t, job, "m", "two"), put(t, job, "m", "one and two")
	_, err := job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{a.ID, memory.Merged, head.ID}, {b.ID, memory.Merged, head.ID}}})
	require.NoError(t, err)
	limits.Entries = 2
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Restore: []string{a.ID, b.ID}})
	require.ErrorIs(t, err, memory.ErrStorageLimit)
	require.Equal(t, []string{"one and two"}, contents(t, h.Reader("acme"), "m"))
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Restore: []string{a.ID, b.ID}, Retire: []memory.Retire{{ID: head.ID, State: memory.Deleted}}})
	require.NoError(t, err)
}

// Limits below zero, as of a host that counts down what is left, do not open the gate.
func TestM9_LimitsBelowZeroAreRefused(t *testing.T) {
	var limits driver.Limits
	h := limited(t, &limits)
	for _, limits = range []driver.Limits{{Entries: -1}, {Bytes: -1}, {Waiting: -1}} {
		_, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "x"})
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}
