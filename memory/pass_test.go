package memory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A pass ends, also if it fails or panics: its registry is closed, and what it announced is
// delivered.
func TestPass(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]func(*memory.Job) error{
		"ends":   func(*memory.Job) error { return nil },
		"fails":  func(*memory.Job) error { return boom },
		"panics": func(*memory.Job) error { panic(boom) },
	} {
		h, v := newHost(t), newVault()
		ctx, cancel := context.WithCancel(t.Context())
		var job *memory.Job
		pass := func() error {
			return h.Pass(ctx, memory.JobConfig{ID: "p", Tenant: "acme", Redactor: v}, func(j *memory.Job) error {
				job = j
				_, err := j.Put(ctx, "m", memory.Draft{Content: "x"})
				require.NoError(t, err)
				cancel() // which does not keep it from ending
				return f(j)
			})
		}
		switch name {
		case "panics":
			require.PanicsWithError(t, "boom", func() { _ = pass() })
		case "fails":
			require.Equal(t, boom, pass(), "as it is, so that errors.Unwrap reaches its cause")
		default:
			require.NoError(t, pass())
		}
		require.True(t, v.closed, name)
		require.Len(t, h.log.Events("acme", "p"), 1, name)
		_, err := job.Put(t.Context(), "m", memory.Draft{Content: "y"})
		require.ErrorIs(t, err, memory.ErrEnded)
	}
	h := newHost(t)
	require.ErrorIs(t, h.Pass(t.Context(), memory.JobConfig{ID: "p"}, nil), memory.ErrValidation)
	down := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(context.Context, ...events.Record) error { return boom })
	})
	err := down.Pass(t.Context(), memory.JobConfig{ID: "p", Tenant: "acme", Redactor: newVault()}, func(j *memory.Job) error {
		_, err := j.Put(t.Context(), "m", memory.Draft{Content: "x"})
		return err
	})
	require.ErrorIs(t, err, memory.ErrInternal)
}

// M7: a token that cannot be read says why, in one word for each reason, and one that can be
// read says nothing.
func TestM7_CheckTellsWhy(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	_, err := run.Put(ctx, "own", memory.Draft{Content: "mine"})
	require.NoError(t, err)
	_, err = h.job("acme").Put(ctx, "m", memory.Draft{Content: "x", Subjects: []string{"s"}})
	require.NoError(t, err)
	later := h.run("later", "acme")
	token, err := later.Token(ctx)
	require.NoError(t, err)
	check := func(tenant string, t memory.Token, refs ...string) string {
		h.t.Helper()
		reason, err := h.CheckToken(ctx, tenant, t, refs...)
		require.NoError(h.t, err)
		_, failed := h.AsOf(ctx, tenant, t)
		if reason != "" && reason != "forgotten" {
			require.ErrorIs(h.t, failed, memory.ErrSnapshotUnavailable)
		} else {
			require.NoError(h.t, failed)
		}
		return reason
	}
	require.Empty(t, check("acme", token, "m", "own", "nowhere"))
	require.Equal(t, "malformed", check("acme", "x"))
	require.Equal(t, "malformed", check("acme", token[:len(token)-1]))
	require.Equal(t, "malformed", check("acme", ""))
	require.Equal(t, "tenant", check("globex", token))

	_, err = h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Empty(t, check("acme", token))
	require.Empty(t, check("acme", token, "own"))
	require.Equal(t, "forgotten", check("acme", token, "own", "m"))

	require.NoError(t, h.DropTenant(ctx, "acme"))
	require.Equal(t, "lost", check("acme", token))

	other := h.run("r", "globex")
	_, err = other.Put(ctx, "m", memory.Draft{Content: "x"})
	require.NoError(t, err)
	other = h.run("r2", "globex")
	token, err = other.Token(ctx)
	require.NoError(t, err)
	for range 4 {
		_, err = h.job("globex").Put(ctx, "m", memory.Draft{Content: "y"})
		require.NoError(t, err)
		h.clock.Advance(memory.DefaultHorizon + time.Hour)
		_, err = h.Purge(ctx, "globex")
		require.NoError(t, err)
	}
	require.Equal(t, "horizon", check("globex", token))

	bare, err := memory.New(struct{ driver.Adapter }{inmem.New()}, memory.Config{})
	require.NoError(t, err)
	_, err = bare.CheckToken(ctx, "acme", token)
	require.ErrorIs(t, err, memory.ErrNotProvided)
}
