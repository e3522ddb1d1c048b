package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// wild is a redactor that panics once it has been let loose.
type wild struct {
	*vault
	loose *bool
}

func (w wild) Redact(text string) (string, error) {
	if *w.loose {
		panic("canary-of-the-redactor " + text)
	}
	return w.vault.Redact(text)
}

func (w wild) Close() error {
	if *w.loose {
		panic("closing")
	}
	return nil
}

// What a host plugs in may panic: the call fails, names the part, and nothing is half done.
func TestPluginsThatPanicAreContained(t *testing.T) {
	loose := false
	log := new(events.Log)
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(ctx context.Context, recs ...events.Record) error {
			if loose {
				panic("sink")
			}
			return log.Emit(ctx, recs...)
		})
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if ref == "panics" {
				panic("resolver")
			}
			return "acme", nil
		}
	})
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: wild{newVault(), &loose}})
	require.NoError(t, err)
	put(t, run, "m", "kept")
	require.Equal(t, []string{"kept"}, contents(t, run.Memory(), "m"))
	_, err = h.Reader("acme").List(ctx, "panics", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrInternal, "nobody takes the ref for an empty one")
	_, err = run.Put(ctx, "panics", memory.Draft{Content: "x"})
	require.ErrorIs(t, err, memory.ErrInternal)

	loose = true
	_, err = run.Put(ctx, "m", memory.Draft{Content: "lost"})
	require.ErrorIs(t, err, memory.ErrSecretLeakage, "it fails closed")
	require.NotContains(t, err.Error(), "lost")
	require.NotContains(t, err.Error(), "canary")
	require.ErrorContains(t, errors.Unwrap(err), "the redactor panicked")
	_, err = h.Scrub(ctx, "acme", wild{newVault("k", "kept"), &loose})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	relayed, err := h.Relay(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, 1, relayed.Waiting)
	require.ErrorContains(t, run.End(ctx), "the redactor did not close")
	loose = false
	require.Equal(t, []string{"kept"}, contents(t, h.Reader("acme"), "m"))
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Len(t, log.Events("acme", "r"), 1)
}

// A sink or a resolver that hangs is given up after its time.
func TestPluginsThatHangAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		h := newHost(t, func(c *memory.Config) {
			c.Sink = sinkFunc(func(context.Context, ...events.Record) error { <-gate; return nil })
			c.Resolver = func(_ context.Context, ref string) (string, error) {
				if ref == "hangs" {
					<-gate
				}
				return "acme", nil
			}
		})
		put(t, h.run("r", "acme"), "m", "x")
		_, err := h.Relay(ctx)
		require.ErrorIs(t, err, memory.ErrInternal)
		waiting, err := h.store.(interface {
			Waiting(context.Context, string, int) (int, error)
		}).Waiting(ctx, "acme", 10)
		require.NoError(t, err)
		require.Equal(t, 1, waiting)
		_, err = h.run("r", "acme").Put(ctx, "hangs", memory.Draft{Content: "x"})
		require.ErrorIs(t, err, memory.ErrInternal)
		_, err = h.Reader("acme").Get(ctx, "hangs", "mem_x")
		require.ErrorIs(t, err, memory.ErrInternal)
	})
}

// A resolver that cannot look says so, and is not taken for one that does not know a ref.
func TestM1_AResolverThatCannotLookIsNoAbsence(t *testing.T) {
	down := false
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if down {
				return "", fmt.Errorf("the directory is down: %w", memory.ErrInternal)
			}
			return "acme", nil
		}
	})
	e := put(t, h.job("acme"), "m", "x")
	down = true
	_, err := h.Trace(ctx, "acme", "m", e.ID)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotErrorIs(t, err, memory.ErrNotFound)
	_, err = h.Reader("acme").List(ctx, "m", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "directory")
}
