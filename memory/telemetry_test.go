package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/telemetry"
)

// told is a tracer that remembers, and marks the context with the operation.
type told struct {
	lines   []string // what ended, in one line each
	results []telemetry.Result
}

type opKey struct{}

func (t *told) Start(ctx context.Context, op telemetry.Op) (context.Context, func(telemetry.Result)) {
	return context.WithValue(ctx, opKey{}, op), func(r telemetry.Result) {
		line := op.String()
		for _, c := range r.Counts {
			if c.N != 0 {
				line += fmt.Sprintf(" %v=%d", c.Count, c.N)
			}
		}
		if r.Code != "" {
			line += " " + r.Code
		}
		t.lines = append(t.lines, line)
		t.results = append(t.results, r)
	}
}

// since returns what has ended since it was called last.
func (t *told) since() []string {
	lines := t.lines
	t.lines = nil
	return lines
}

// marking is a store that notes the operation in the context of each call.
type marking struct {
	driver.Versioned
	ops map[telemetry.Op]bool
}

func (m *marking) As(target any) bool {
	switch t := target.(type) {
	case *driver.Adapter:
		*t = m
	case *driver.Transactor:
		*t = m
	case *driver.Versioned:
		*t = m
	default:
		return false
	}
	return true
}

func (m *marking) mark(ctx context.Context) {
	op, _ := ctx.Value(opKey{}).(telemetry.Op)
	m.ops[op] = true
}

func (m *marking) Apply(ctx context.Context, tenant string, mu driver.Mutation) (driver.Applied, error) {
	m.mark(ctx)
	return m.Versioned.Apply(ctx, tenant, mu)
}

func (m *marking) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	m.mark(ctx)
	return m.Versioned.List(ctx, s, q)
}

func (m *marking) Version(ctx context.Context, tenant string) (driver.Version, error) {
	m.mark(ctx)
	return m.Versioned.Version(ctx, tenant)
}

// Every operation of a bank is told of once, with what it did and how it ended.
func TestOperationsAreTold(t *testing.T) {
	var got told
	h := newHost(t, func(c *memory.Config) {
		c.Tracer, c.Ranker, c.MaxEntryBytes = &got, firstOf{}, 64
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if ref == "broken" {
				return "", errors.New("canary")
			}
			return "acme", nil
		}
	})
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault("k", "hunter22")})
	require.NoError(t, err)
	expect := func(want ...string) {
		t.Helper()
		require.Equal(t, want, got.since())
	}
	expect("start")
	from, err := run.Token(ctx)
	require.NoError(t, err)

	e, err := run.Put(ctx, "m", memory.Draft{Content: "it is hunter22", Tags: []string{"plain", "hunter22", ""}, Subjects: []string{"dana"}})
	require.NoError(t, err)
	expect("put records=1 redactions=2")
	_, err = run.Put(ctx, "m", memory.Draft{Content: strings.Repeat("x", 65)})
	require.Error(t, err)
	expect("put validation_error")
	_, err = run.Put(ctx, "m", memory.Draft{Content: "x", Subjects: []string{"hunter22"}})
	require.Error(t, err)
	expect("put secret_leakage")
	_, err = run.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	_, err = run.Memory().Get(ctx, "m", e.ID)
	require.NoError(t, err)
	_, err = run.Memory().Get(ctx, "m", "nothing")
	require.Error(t, err)
	_, err = run.Search(ctx, "m", memory.Search{})
	require.NoError(t, err)
	_, err = run.Search(ctx, "m", memory.Search{Text: "it"})
	require.NoError(t, err)
	expect("list records=1", "get records=1", "get not_found", "search records=1", "search records=1")
	require.NoError(t, run.Emit(ctx, events.Record{Payload: events.HostPayload{Type: "run.started", JSON: []byte("{}")}}))
	expect("flush events=1", "emit events=1")
	_, err = h.Reader("acme").List(ctx, "broken", memory.ListOptions{})
	require.Error(t, err)
	expect("list internal_error")
	_, err = h.Search(ctx, "acme", "m", memory.Search{Limit: -1})
	require.Error(t, err)
	_, err = h.Search(ctx, "acme", "m", memory.Search{Text: "it"})
	require.NoError(t, err)
	expect("search validation_error", "search records=1")

	to, err := run.Token(ctx)
	require.NoError(t, err)
	then, err := h.AsOf(ctx, "acme", to)
	require.NoError(t, err)
	_, err = then.List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	_, err = then.Get(ctx, "m", e.ID)
	require.NoError(t, err)
	_, err = then.Search(ctx, "m", memory.Search{Text: "it"})
	require.NoError(t, err)
	_, err = h.AsOf(ctx, "other", to)
	require.Error(t, err)
	expect("as_of", "list records=1", "get records=1", "search records=1", "as_of replay_memory_snapshot_unavailable")

	// In a replay nothing is written.
	replay, err := h.Start(ctx, memory.RunConfig{ID: "r2", Tenant: "acme", Redactor: newVault("k", "hunter22"),
		Replay: &memory.Replay{From: from, To: to, Events: h.log.Events("acme", "r")}})
	require.NoError(t, err)
	_, err = replay.Put(ctx, "m", memory.Draft{Content: "it is hunter22", Tags: []string{"plain", "hunter22", ""}, Subjects: []string{"dana"}})
	require.NoError(t, err)
	_, err = replay.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	expect("start", "put", "list records=1")

	job := h.job("acme")
	extra := put(t, job, "m", "another")
	_, err = job.Live(ctx, "m", []string{e.ID, extra.ID})
	require.NoError(t, err)
	_, err = job.Get(ctx, "m", e.ID)
	require.NoError(t, err)
	expect("put records=1", "list records=2", "get records=1")
	made, err := job.Rewrite(ctx, "m", memory.Rewrite{
		Derive: []memory.Derived{{Draft: memory.Draft{Content: "[BYOK:x] both"}, Sources: []string{e.ID, extra.ID}, Merges: []string{extra.ID}}},
		Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.HostText, Kind: "f", Key: "k", Value: []byte("plain")}}}
		},
	})
	require.NoError(t, err)
	expect("rewrite records=2 redactions=1 documents=1")
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Expect: []string{extra.ID}, Retire: []memory.Retire{{ID: e.ID, State: memory.Deleted}}})
	require.ErrorIs(t, err, memory.ErrConflict)
	expect("rewrite conflict")
	_, err = job.Delete(ctx, "m", "nothing")
	require.NoError(t, err)
	_, err = run.Delete(ctx, "m", e.ID)
	require.NoError(t, err)
	expect("delete", "delete records=1")
	require.NoError(t, job.End(ctx))
	require.NoError(t, run.End(ctx))
	_, err = run.Put(ctx, "m", memory.Draft{Content: "x"})
	require.ErrorIs(t, err, memory.ErrEnded)
	expect("flush events=2", "flush", "put internal_error")

	done, err := h.Forget(ctx, "acme", "dana")
	require.NoError(t, err)
	require.Len(t, done.Erased, 2)
	require.Equal(t, made.Entries[0].ID, done.Erased[0].ID)
	_, err = h.Forget(ctx, "acme", "")
	require.Error(t, err)
	expect("forget erased=2 restored=1", "forget validation_error")
	put(t, h.job("acme"), "m", "late secret")
	_, err = h.Scrub(ctx, "acme", newVault("k", "late secret"))
	require.NoError(t, err)
	expect("put records=1", "scrub erased=1 rewritten=1")
	var ledger []memory.Erasure
	for x, err := range h.Erasures(ctx, "acme") {
		require.NoError(t, err)
		ledger = append(ledger, x)
	}
	_, err = h.EraseAgain(ctx, "acme", ledger, nil)
	require.NoError(t, err)
	expect("erase_again")
	_, err = h.Purge(ctx, "acme")
	require.NoError(t, err)
	h.clock.Advance(memory.DefaultHorizon + time.Hour)
	_, err = h.Purge(ctx, "acme")
	require.NoError(t, err)
	expect("purge", "purge purged=3")
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	expect("relay events=1", "maintain", "maintain tenants=1")
	require.NoError(t, h.DropTenant(ctx, "acme"))
	expect("drop_tenant tenants=1")
}

// firstOf is a ranker that finds the newest entry.
type firstOf struct{}

func (firstOf) Version() string { return "1" }
func (firstOf) Model() string   { return "" }
func (firstOf) Rank(ctx context.Context, v *memory.View, _ memory.Search) ([]memory.Hit, error) {
	for e, err := range v.Entries(ctx) {
		return []memory.Hit{{Entry: memory.Entry{ID: e.ID}}}, err
	}
	return nil, nil
}

// The store is called in the context that the tracer gave, so that spans of its driver are within.
func TestTracerContextReachesTheStore(t *testing.T) {
	store := &marking{inmem.New(), map[telemetry.Op]bool{}}
	h := newHostOn(t, store, func(c *memory.Config) { c.Tracer = new(told) })
	run := h.run("r", "acme")
	put(t, run, "m", "x")
	_, err := run.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	_, err = h.Forget(ctx, "acme", "nobody")
	require.NoError(t, err)
	require.Equal(t, map[telemetry.Op]bool{telemetry.Start: true, telemetry.Put: true, telemetry.List: true, telemetry.Forget: true}, store.ops)
}

// Without a tracer, what a run's nodes read is the reader itself.
func TestNobodyToldCostsNoReader(t *testing.T) {
	run := newHost(t, func(c *memory.Config) { c.Tracer = nil }).run("r", "acme")
	var reader memory.Reader
	require.Zero(t, testing.AllocsPerRun(100, func() { reader = run.Memory() }))
	require.NotNil(t, reader)
}

// A context that was done before the operation ends it as canceled, and is told of.
func TestCanceledIsTold(t *testing.T) {
	var got told
	h := newHost(t, func(c *memory.Config) { c.Tracer = &got })
	run := h.run("r", "acme")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := run.Put(gone, "m", memory.Draft{Content: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"start", "put canceled"}, got.since())
}

// What waits, and for how long, is told by every relay, also where the sink refuses or hangs.
func TestE3_WhatWaitsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got told
		refuse := func(context.Context) error { return errors.New("canary") }
		h := newHost(t, func(c *memory.Config) {
			c.Tracer, c.Now = &got, nil
			c.Sink = sinkFunc(func(ctx context.Context, _ ...events.Record) error { return refuse(ctx) })
		})
		relay := func() telemetry.Result {
			_, _ = h.Relay(ctx)
			return got.results[len(got.results)-1]
		}
		put(t, h.run("a", "acme"), "m", "x")
		time.Sleep(time.Minute)
		put(t, h.run("b", "acme"), "m", "y")
		time.Sleep(time.Minute)
		r := relay()
		require.ElementsMatch(t, []telemetry.Counted{telemetry.Events.Of(0), telemetry.Stuck.Of(2), telemetry.Waiting.Of(2)}, r.Counts)
		require.Equal(t, 2*time.Minute, r.Oldest)
		require.Equal(t, "internal_error", r.Code)
		synctest.Wait() // the sink's goroutines have ended
		refuse = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r = relay()
		require.Contains(t, r.Counts, telemetry.Waiting.Of(2))
		require.Equal(t, 2*time.Minute+memory.PluginTimeout, r.Oldest)
		synctest.Wait()
		refuse = func(context.Context) error { return nil }
		r = relay()
		require.ElementsMatch(t, []telemetry.Counted{telemetry.Events.Of(2), telemetry.Stuck.Of(0), telemetry.Waiting.Of(0)}, r.Counts)
		require.Zero(t, r.Oldest)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := h.Relay(gone)
		require.Error(t, err)
		for _, c := range got.results[len(got.results)-1].Counts {
			require.NotEqual(t, telemetry.Waiting, c.Count, "it could not be counted")
		}
	})
}

// A tracer that panics where operations begin loses no write either.
func TestTracerThatPanicsAtTheStart(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, func(c *memory.Config) {
		c.Tracer, c.Logger = panicking{}, slog.New(slog.NewTextHandler(&log, nil))
	})
	run := h.run("r", "acme")
	e := put(t, run, "m", "kept")
	require.NoError(t, run.End(ctx))
	found, err := h.Reader("acme").Get(ctx, "m", e.ID)
	require.NoError(t, err)
	require.Equal(t, "kept", found.Content)
	require.Len(t, h.log.Events("acme", "r"), 1)
	require.Equal(t, 1, strings.Count(log.String(), "panicked"))
	require.NotContains(t, log.String(), "canary")
}

type panicking struct{}

func (panicking) Start(context.Context, telemetry.Op) (context.Context, func(telemetry.Result)) {
	panic("canary")
}
