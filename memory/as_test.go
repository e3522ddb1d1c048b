package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// sealing is a wrapper that would be bypassed if anybody looked behind it.
type sealing struct {
	*inmem.Store
	offers func(target any) bool
}

func (s sealing) As(target any) bool { return s.offers(target) }

func TestAsNeverLooksBehindAWrapper(t *testing.T) {
	store := inmem.New()
	_, ok := driver.As[driver.Versioned](store)
	require.True(t, ok)
	_, ok = driver.As[driver.Versioned](plainStore{store})
	require.False(t, ok, "what a wrapper does not have it does not offer")

	closed := sealing{store, func(any) bool { return false }}
	_, ok = driver.As[driver.Versioned](closed)
	require.False(t, ok, "the hook decides alone, although the wrapper has the methods")
	_, ok = driver.As[driver.Describer](closed)
	require.False(t, ok)

	wavering := sealing{store, func(target any) bool {
		*target.(*driver.Describer) = described{}
		return false
	}}
	d, ok := driver.As[driver.Describer](wavering)
	require.False(t, ok)
	require.Nil(t, d)

	opened := sealing{store, func(target any) bool {
		if t, ok := target.(*driver.Transactor); ok {
			*t = store
			return true
		}
		return false
	}}
	_, err := memory.New(sealing{store, func(target any) bool {
		t, ok := target.(*driver.Versioned)
		if ok {
			*t = store
		}
		return ok
	}}, memory.Config{})
	require.ErrorIs(t, err, memory.ErrValidation, "a step without the one below it")
	tx, ok := driver.As[driver.Transactor](opened)
	require.True(t, ok)
	require.Equal(t, driver.Transactor(store), tx)
	_, ok = driver.As[driver.Versioned](opened)
	require.False(t, ok)

	h := newHostOn(t, opened)
	require.True(t, h.Engines().Offers().Transactions)
	require.False(t, h.Engines().Offers().Views)
}

// described is a store with traits of its own.
type described struct {
	*inmem.Store
	durable, readOnly bool
}

func (d described) Durable() bool  { return d.durable }
func (d described) ReadOnly() bool { return d.readOnly }

func TestAReadOnlyStoreRefusesEveryChange(t *testing.T) {
	store := inmem.New()
	writable := newHostOn(t, store)
	e := put(t, writable.job("acme"), "m", "x", "s")
	h := newHostOn(t, described{store, true, true})
	run, job := h.run("r", "acme"), h.job("acme")
	for name, call := range map[string]func() error{
		"put":     func() error { _, err := run.Put(ctx, "m", memory.Draft{}); return err },
		"delete":  func() error { _, err := run.Delete(ctx, "m", e.ID); return err },
		"job put": func() error { _, err := job.Put(ctx, "m", memory.Draft{}); return err },
		"rewrite": func() error { _, err := job.Rewrite(ctx, "m", memory.Rewrite{}); return err },
		"forget":  func() error { _, err := h.Forget(ctx, "acme", "s"); return err },
		"scrub":   func() error { _, err := h.Scrub(ctx, "acme", newVault()); return err },
		"purge":   func() error { _, err := h.Purge(ctx, "acme"); return err },
	} {
		require.ErrorIs(t, call(), memory.ErrNotProvided, name)
	}
	require.Equal(t, []string{"x"}, contents(t, run.Memory(), "m"))
	got, err := job.Get(ctx, "m", e.ID)
	require.NoError(t, err)
	require.Equal(t, e, got)
	o := h.Engines().Offers()
	require.True(t, o.Durable && o.Views)
	require.False(t, o.Writes || o.Transactions || o.WriteEvents)
	require.Equal(t, memory.DefaultMaxEntryBytes, o.MaxEntryBytes)
	require.Equal(t, memory.DefaultHorizon, o.Horizon)
}
