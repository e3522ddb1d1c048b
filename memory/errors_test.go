package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func TestM2_ErrorsNeverShowWhatTheStoreSaid(t *testing.T) {
	const canary = "canary-content-7731"
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r1", "acme")
	e := put(t, run, "m", canary)
	token, err := run.Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)

	cause := fmt.Errorf("SELECT failed near '%s'", canary)
	store.fail = func(string) error { return cause }
	job := h.job("acme")
	calls := map[string]func() error{
		"run list":   func() error { _, err := run.Memory().List(ctx, "m", memory.ListOptions{}); return err },
		"run get":    func() error { _, err := run.Memory().Get(ctx, "m", e.ID); return err },
		"run put":    func() error { _, err := run.Put(ctx, "m", memory.Draft{Content: canary}); return err },
		"run delete": func() error { _, err := run.Delete(ctx, "m", e.ID); return err },
		"run search": func() error { _, err := run.Search(ctx, "m", memory.Search{Text: canary}); return err },
		"job end":    func() error { return h.job("acme").End(ctx) },
		"as of":      func() error { _, err := asOf.Get(ctx, "m", e.ID); return err },
		"live list":  func() error { _, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{}); return err },
		"live get":   func() error { _, err := h.Reader("acme").Get(ctx, "m", e.ID); return err },
		"start": func() error {
			_, err := h.Start(ctx, memory.RunConfig{ID: "r2", Tenant: "acme", Redactor: newVault()})
			return err
		},
		"job put":    func() error { _, err := job.Put(ctx, "m", memory.Draft{Content: canary}); return err },
		"job get":    func() error { _, err := job.Get(ctx, "m", e.ID); return err },
		"job delete": func() error { _, err := job.Delete(ctx, "m", e.ID); return err },
		"scan": func() error {
			for _, err := range job.Scan(ctx, "m") {
				return err
			}
			return nil
		},
		"rewrite": func() error {
			_, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Sources: []string{e.ID}}}})
			return err
		},
		"relay": func() error { _, err := h.Relay(ctx); return err },
		"trace": func() error { _, err := h.Lineage(ctx, "acme", "m", e.ID); return err },
		"back":  func() error { _, err := h.Engines().Replaced(ctx, "acme", "m", e.ID); return err },
	}
	for name, call := range calls {
		err := call()
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), canary, name)
		require.NotContains(t, fmt.Sprintf("%v %s", err, err), canary, name)
		require.ErrorIs(t, err, cause, "%s: the cause is there to be unwrapped", name)
		require.ErrorIs(t, err, memory.ErrInternal, name)
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err), name)
	}
}

// locked is a redactor that does not close.
type locked struct {
	*vault
	err error
}

func (l locked) Close() error { return l.err }

// What a sink, a registry or a store said is reached by errors.Is and errors.As, also of two
// errors that came at once; of one alone by errors.Unwrap too.
func TestM2_CausesOfEndAndRelayAreReachable(t *testing.T) {
	full, stuck, lost := fmt.Errorf("sink: %w", &os.PathError{Op: "write", Err: os.ErrPermission}), errors.New("stuck"), errors.New("lost")
	store := newSpy()
	h := newHostOn(t, store, func(c *memory.Config) {
		c.Sink = sinkFunc(func(context.Context, ...events.Record) error { return full })
	})
	end := func(registry memory.Redactor) error {
		run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: registry})
		require.NoError(t, err)
		put(t, run, "m", "x")
		return run.End(ctx)
	}
	relay := func() error { _, err := h.Relay(ctx); return err }
	one, both := end(newVault()), end(locked{newVault(), stuck})
	alone := relay()
	store.fail = func(call string) error {
		if call == "Delivered" || call == "Undelivered" {
			return lost
		}
		return nil
	}
	for _, err := range []error{one, alone} {
		require.ErrorIs(t, errors.Unwrap(err), full)
	}
	for _, err := range []error{one, both, alone} {
		var cause *os.PathError
		require.ErrorAs(t, err, &cause)
		require.ErrorIs(t, err, os.ErrPermission)
		require.ErrorIs(t, err, memory.ErrInternal)
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err))
	}
	require.ErrorIs(t, both, stuck)
	require.ErrorIs(t, relay(), lost)
	require.ErrorIs(t, errors.Unwrap(relay()), lost)
}

func TestM2_CodesAreTheProtocols(t *testing.T) {
	for kind, code := range map[*driver.Kind]memory.Code{
		memory.ErrValidation:          "validation_error",
		memory.ErrForbidden:           "forbidden",
		memory.ErrNotFound:            "not_found",
		memory.ErrSecretLeakage:       "secret_leakage",
		memory.ErrSnapshotUnavailable: "replay_memory_snapshot_unavailable",
		memory.ErrNotProvided:         "capability_not_provided",
		memory.ErrBacklog:             "storage_limit_exceeded",
		memory.ErrConflict:            "conflict",
		memory.ErrEnded:               "internal_error",
		memory.ErrDiverged:            "internal_error",
		memory.ErrInternal:            "internal_error",
	} {
		require.Equal(t, code, memory.CodeOf(kind))
		require.Equal(t, code, memory.CodeOf(fmt.Errorf("host: %w", kind)))
	}
	require.Equal(t, memory.Code(""), memory.CodeOf(nil))
	require.Equal(t, memory.CodeInternal, memory.CodeOf(io.EOF))

	_, err := newHost(t).Reader("acme").List(ctx, "m", memory.ListOptions{Limit: -1})
	var coded *driver.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, memory.CodeValidation, coded.Code())
	require.NotErrorIs(t, err, memory.ErrNotFound)
}

// TestCancelledContexts: a context that is done stops every call before it has
// changed anything, and says so.
func TestCancelledContexts(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r1", "acme"), h.job("acme")
	e := put(t, run, "m", "kept")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	done, cancel := context.WithCancel(ctx)
	cancel()
	for name, call := range map[string]func() error{
		"start": func() error {
			_, err := h.Start(done, memory.RunConfig{ID: "x", Tenant: "acme", Redactor: newVault()})
			return err
		},
		"as of":  func() error { _, err := h.AsOf(done, "acme", token); return err },
		"list":   func() error { _, err := run.Memory().List(done, "m", memory.ListOptions{}); return err },
		"get":    func() error { _, err := run.Memory().Get(done, "m", e.ID); return err },
		"put":    func() error { _, err := run.Put(done, "m", memory.Draft{Content: "lost"}); return err },
		"delete": func() error { _, err := run.Delete(done, "m", e.ID); return err },
		"search": func() error { _, err := h.Search(done, "acme", "m", memory.Search{}); return err },
		"job":    func() error { _, err := job.Put(done, "m", memory.Draft{Content: "lost"}); return err },
		"scan": func() error {
			for _, err := range job.Scan(done, "m") {
				return err
			}
			return nil
		},
		"history": func() error {
			for _, err := range job.History(done, "m") {
				return err
			}
			return nil
		},
		"rewrite":  func() error { _, err := job.Rewrite(done, "m", memory.Rewrite{Erase: []string{e.ID}}); return err },
		"document": func() error { _, err := job.Document(done, "m", "k", "c"); return err },
		"forget":   func() error { _, err := h.Forget(done, "acme", "s"); return err },
		"scrub":    func() error { _, err := h.Scrub(done, "acme", newVault("k", "kept")); return err },
		"purge":    func() error { _, err := h.Purge(done, "acme"); return err },
		"lineage":  func() error { _, err := h.Lineage(done, "acme", "m", e.ID); return err },
		"replaced": func() error { _, err := h.Engines().Replaced(done, "acme", "m", e.ID); return err },
		"relay":    func() error { _, err := h.Relay(done); return err },
	} {
		err := call()
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, memory.CodeCanceled, memory.CodeOf(err), name)
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err).OnWire(), name)
	}
	require.Equal(t, []string{"kept"}, contents(t, run.Memory(), "m"))
}

func TestNewRefusesContradictions(t *testing.T) {
	_, err := memory.New(nil, memory.Config{})
	require.ErrorIs(t, err, memory.ErrValidation)
	store := newSpy()
	for _, c := range []memory.Config{{MaxEntryBytes: -1}, {Horizon: -time.Second}, {MaxUndelivered: -1}, {WriteEvents: true}} {
		_, err := memory.New(store, c)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	h := newHost(t)
	_, err = memory.New(plainStore{store}, memory.Config{WriteEvents: true, Sink: h.log})
	require.ErrorIs(t, err, memory.ErrNotProvided)
	require.True(t, errors.Is(err, memory.ErrNotProvided))
}

// TestPlainAdapter: a store of four operations has reads, writes and expiry, and
// nothing that would only look like the rest.
func TestPlainAdapter(t *testing.T) {
	h := newHostOn(t, plainStore{newSpy()}, func(c *memory.Config) { c.WriteEvents, c.Sink = false, nil })
	job := h.job("acme")
	e := put(t, job, "m", "one")
	put(t, job, "m", "two")
	require.Equal(t, []string{"two", "one"}, contents(t, h.Reader("acme"), "m"))
	found, err := h.Search(ctx, "acme", "m", memory.Search{Text: "ON"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	deleted, err := job.Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	require.True(t, deleted)
	scanned := 0
	for _, err := range job.Scan(ctx, "m") {
		require.NoError(t, err)
		scanned++
	}
	require.Equal(t, 1, scanned)

	for name, call := range map[string]func() error{
		"start": func() error {
			_, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault()})
			return err
		},
		"as of":    func() error { _, err := h.AsOf(ctx, "acme", "x"); return err },
		"forget":   func() error { _, err := h.Forget(ctx, "acme", "s"); return err },
		"scrub":    func() error { _, err := h.Scrub(ctx, "acme", newVault()); return err },
		"purge":    func() error { _, err := h.Purge(ctx, "acme"); return err },
		"lineage":  func() error { _, err := h.Lineage(ctx, "acme", "m", e.ID); return err },
		"replaced": func() error { _, err := h.Engines().Replaced(ctx, "acme", "m", e.ID); return err },
		"document": func() error { _, err := job.Document(ctx, "m", "k", "c"); return err },
		"rewrite":  func() error { _, err := job.Rewrite(ctx, "m", memory.Rewrite{}); return err },
		"history": func() error {
			for _, err := range job.History(ctx, "m") {
				return err
			}
			return nil
		},
	} {
		require.ErrorIs(t, call(), memory.ErrNotProvided, name)
	}
	relayed, err := h.Relay(ctx)
	require.NoError(t, err)
	require.Zero(t, relayed)
	require.NoError(t, job.End(ctx))
	o := h.Engines().Offers()
	require.True(t, o.Writes)
	require.False(t, o.Transactions || o.Views || o.Durable || o.WriteEvents || o.Semantic)
}

type foreign string

func (e foreign) Error() string { return "canary" }
func (e foreign) Code() string  { return string(e) }

// A package that does not import this one carries its code by a method of the same name.
func TestM2_ForeignCodesCountIfTheProtocolKnowsThem(t *testing.T) {
	require.Equal(t, memory.CodeSecretLeakage, memory.CodeOf(fmt.Errorf("host: %w", foreign("secret_leakage"))))
	require.Equal(t, memory.CodeInternal, memory.CodeOf(foreign("canary_code")))
}
