package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

func own(id string, typ events.Type, text string) events.Record {
	return events.Record{ID: id, Payload: events.HostPayload{Type: typ, JSON: json.RawMessage(text)}}
}

// typesOf are the types of a run's events, whose sequences have no gap.
func typesOf(t *testing.T, log events.Reader, tenant, run string) []string {
	t.Helper()
	page, err := log.Read(t.Context(), tenant, run, 0, 1000)
	require.NoError(t, err)
	types := []string{}
	for i, ev := range page {
		require.EqualValues(t, i, ev.Sequence)
		types = append(types, string(ev.Payload.EventType()))
	}
	return types
}

// both runs a test with a sink that is a log, and with a bank that keeps events.
func both(t *testing.T, f func(t *testing.T, h *host, log events.Reader)) {
	t.Run("sink", func(t *testing.T) {
		h := newHost(t)
		f(t, h, h.log)
	})
	t.Run("store", func(t *testing.T) {
		h := newHostOn(t, inmem.New(), inStore)
		f(t, h, h.Log())
	})
}

func inStore(c *memory.Config) { c.Sink, c.KeepEvents = nil, 24*time.Hour }

// E3: a run's own events and those of its writes stand in the order in which they came, and
// the terminal one is the last.
func TestE3_ARunsEventsAreInOrder(t *testing.T) {
	both(t, func(t *testing.T, h *host, log events.Reader) {
		run := h.run("r1", "acme")
		require.NoError(t, run.Emit(ctx, own("1", "run.started", `{}`)))
		var want = []string{"run.started"}
		for i := range 5 {
			_, err := run.Put(ctx, "m", memory.Draft{Content: fmt.Sprint(i)})
			require.NoError(t, err)
			require.NoError(t, run.Emit(ctx, own(fmt.Sprint("a", i), "node.started", `1`), own(fmt.Sprint("b", i), "node.completed", `2`)))
			want = append(want, "memory.written", "node.started", "node.completed")
		}
		require.NoError(t, run.Emit(ctx, own("1", "run.started", `{}`)), "the same again is in the log")
		_, err := run.Put(ctx, "m", memory.Draft{Content: "last"})
		require.NoError(t, err)
		last := own("end", "run.completed", `{"status":"ok"}`)
		require.NoError(t, run.End(ctx, last))
		require.NoError(t, run.End(ctx, own("other", "run.failed", `{}`)), "a second End adds nothing")
		require.Equal(t, append(want, "memory.written", "run.completed"), typesOf(t, log, "acme", "r1"))
		require.ErrorIs(t, run.Emit(ctx, last), memory.ErrEnded)
	})
}

// What a bank keeps does not wait, and Flush has nothing to do; what waits for the sink of
// another bank waits on.
func TestE3_KeptEventsNeedNoRelay(t *testing.T) {
	store := inmem.New()
	old := newHostOn(t, store)
	was := old.run("r1", "acme")
	_, err := was.Put(ctx, "m", memory.Draft{Content: "left behind"})
	require.NoError(t, err)

	h := newHostOn(t, store, inStore, func(c *memory.Config) { c.MaxUndelivered = 1 })
	run := h.run("r2", "acme")
	for range 3 { // the limit is for what waits
		_, err = run.Put(ctx, "m", memory.Draft{Content: "x"})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"memory.written", "memory.written", "memory.written"}, typesOf(t, store, "acme", "r2"), "before any relay")
	relayed, err := h.Relay(ctx)
	require.NoError(t, err)
	require.Zero(t, relayed)
	require.Empty(t, typesOf(t, store, "acme", "r1"))
	relayed, err = old.Relay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.Maintained{Delivered: 1}, relayed)
	require.NoError(t, run.Flush(ctx))
	require.NoError(t, run.End(ctx))

	job := h.job("acme")
	rw := memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{Payload: events.WorkspaceUpdated{Path: "p", Version: 1}}}
	}}
	_, err = job.Rewrite(ctx, "m", rw)
	require.NoError(t, err)
	require.Equal(t, []string{"workspace.updated"}, typesOf(t, store, "acme", "pass"))
	require.NoError(t, h.DropTenant(ctx, "acme"))
	require.Empty(t, typesOf(t, store, "acme", "r2"))
}

// E3: kept events go after their retention, run by run: a run that goes on keeps all of its
// own, and none of them goes by Forget.
func TestE3_KeptEventsHaveARetention(t *testing.T) {
	h := newHostOn(t, inmem.New(), inStore)
	for _, id := range []string{"r1", "r2"} {
		run := h.run(id, "acme")
		_, err := run.Put(ctx, "m", memory.Draft{Content: "x", Subjects: []string{"ann"}})
		require.NoError(t, err)
		require.NoError(t, run.End(ctx))
	}
	_, err := h.Forget(ctx, "acme", "ann")
	require.NoError(t, err)
	h.clock.Advance(12 * time.Hour)
	run := h.run("r2", "acme")
	require.NoError(t, run.Emit(ctx, own("1", "run.resumed", `{}`)))
	for _, step := range []struct {
		after  time.Duration
		r1, r2 int
	}{{12 * time.Hour, 1, 2}, {time.Millisecond, 0, 2}, {12 * time.Hour, 0, 0}} {
		h.clock.Advance(step.after)
		_, err := h.Maintain(ctx)
		require.NoError(t, err)
		require.Len(t, typesOf(t, h.Log(), "acme", "r1"), step.r1)
		require.Len(t, typesOf(t, h.Log(), "acme", "r2"), step.r2)
	}
	require.NoError(t, run.Emit(ctx, own("2", "run.resumed", `{}`)))
	require.Equal(t, []string{"run.resumed"}, typesOf(t, h.Log(), "acme", "r2"))
}

func TestKeepEventsConfig(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  memory.Config
		want error
	}{
		"a sink too": {memory.Config{KeepEvents: 1, Sink: new(events.Log)}, memory.ErrValidation},
		"no keeper":  {memory.Config{KeepEvents: 1}, memory.ErrNotProvided},
	} {
		_, err := memory.New(newSpy(), c.cfg)
		require.ErrorIs(t, err, c.want, name)
	}
	bank, err := memory.New(inmem.New(), memory.Config{})
	require.NoError(t, err)
	run, err := bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault()})
	require.NoError(t, err)
	require.ErrorIs(t, run.Emit(ctx, own("", "run.started", `{}`)), memory.ErrNotProvided)
	require.ErrorIs(t, run.End(ctx, own("", "run.completed", `{}`)), memory.ErrNotProvided)
	require.NoError(t, run.End(ctx), "it has not ended")
}

// M3: what a host says in an event of its own goes through the run's redactor, the terminal
// event too, whose registry is closed by then; what cannot be rewritten is refused.
func TestM3_HostEventsAreRedacted(t *testing.T) {
	both(t, func(t *testing.T, h *host, log events.Reader) {
		v := newVault("key", "s3cret-value", "pin", "12345678")
		run, err := h.Start(ctx, memory.RunConfig{ID: "r1", Tenant: "acme", Redactor: v})
		require.NoError(t, err)
		require.NoError(t, run.Emit(ctx, own("1", "node.completed", `{"a":["use s3cret-value",{"b":"s3cret-value"}],"n":1.50,"k":"\u00733cret-value"}`)))
		for name, rec := range map[string]events.Record{
			"a field's name":   own("x", "node.completed", `{"s3cret-value":1}`),
			"a number":         own("x", "node.completed", `{"n":123456789}`),
			"the id":           own("s3cret-value", "node.completed", `{}`),
			"the type":         own("x", "node.s3cret-value", `{}`),
			"the node":         {ID: "x", NodeID: "s3cret-value", Payload: events.HostPayload{Type: "node.completed", JSON: []byte(`{}`)}},
			"one of our types": {ID: "x", Payload: events.WorkspaceUpdated{Path: "s3cret-value", Version: 1}},
		} {
			err := run.Emit(ctx, own("good", "node.completed", `{}`), rec)
			require.ErrorIs(t, err, memory.ErrSecretLeakage, name)
			require.NotContains(t, err.Error(), "s3cret")
		}
		require.NoError(t, run.End(ctx, own("end", "run.completed", `{"output":"s3cret-value"}`)))
		page, err := log.Read(ctx, "acme", "r1", 0, 0)
		require.NoError(t, err)
		require.Len(t, page, 2)
		require.JSONEq(t, `{"a":["use [REDACTED:key]",{"b":"[REDACTED:key]"}],"n":1.50,"k":"[REDACTED:key]"}`, string(page[0].Payload.(events.HostPayload).JSON))
		require.JSONEq(t, `{"output":"[REDACTED:key]"}`, string(page[1].Payload.(events.HostPayload).JSON))
	})
}

// What is no event is refused, and nothing of its batch is there.
func TestRunEmitRefuses(t *testing.T) {
	both(t, func(t *testing.T, h *host, log events.Reader) {
		run := h.run("r1", "acme")
		for name, rec := range map[string]events.Record{
			"no payload":      {},
			"another run":     {RunID: "r2", Payload: events.WorkspaceUpdated{Path: "p", Version: 1}},
			"no JSON":         own("", "run.started", `{`),
			"a field twice":   own("", "run.started", `{"a":1,"a":2}`),
			"a reserved type": own("", "core.started", `{}`),
			"a schema":        {Payload: events.WorkspaceUpdated{Path: "p"}},
			"too large":       own("", "run.started", `"`+string(bytesOf('x', events.MaxPayloadText))+`"`),
		} {
			require.ErrorIs(t, run.Emit(ctx, own("good", "run.started", `{}`), rec), memory.ErrValidation, name)
		}
		require.Empty(t, typesOf(t, log, "acme", "r1"))
		require.NoError(t, run.Emit(ctx))
		rec := own("x", "run.started", `{}`)
		rec.Time = epoch.Add(time.Hour + 1999*time.Microsecond)
		require.NoError(t, run.Emit(ctx, rec))
		page, err := log.Read(ctx, "acme", "r1", 0, 0)
		require.NoError(t, err)
		require.Equal(t, epoch.Add(time.Hour+time.Millisecond), page[0].Time)
	})
}

func bytesOf(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// E4: a replay emits what was recorded in new envelopes, with the ids and instants as they
// were, and doing so again adds nothing.
func TestE4_AReplayEmitsHostEvents(t *testing.T) {
	both(t, func(t *testing.T, h *host, log events.Reader) {
		run := h.run("r1", "acme")
		from, err := run.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, run.Emit(ctx, own("1", "run.started", `{"n":1}`)))
		_, err = run.Put(ctx, "m", memory.Draft{Content: "x"})
		require.NoError(t, err)
		to, err := run.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, run.End(ctx, own("2", "run.completed", `{}`)))
		recorded, err := log.Read(ctx, "acme", "r1", 0, 0)
		require.NoError(t, err)

		for range 2 {
			h.clock.Advance(time.Hour)
			again, err := h.Start(ctx, memory.RunConfig{ID: "fork", Tenant: "acme", Redactor: newVault(),
				Replay: &memory.Replay{Events: recorded, From: from, To: to}})
			require.NoError(t, err)
			replayed := events.Reemit(recorded, "fork")
			require.NoError(t, again.Emit(ctx, replayed[0]))
			_, err = again.Put(ctx, "m", memory.Draft{Content: "x"})
			require.NoError(t, err)
			require.NoError(t, again.End(ctx, replayed[2]))
		}
		page, err := log.Read(ctx, "acme", "fork", 0, 0)
		require.NoError(t, err)
		require.Len(t, page, 3)
		for i, ev := range page {
			require.Equal(t, recorded[i].Payload, ev.Payload)
			require.Equal(t, recorded[i].Time, ev.Time)
		}
	})
}

// A sink that fails keeps the terminal event from overtaking what waits; ending again makes
// up for it, though the registry is closed.
func TestE3_TheTerminalEventWaits(t *testing.T) {
	log, down := new(events.Log), errors.New("down")
	fails := true
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(ctx context.Context, recs ...events.Record) error {
			if fails {
				return down
			}
			return log.Emit(ctx, recs...)
		})
	})
	run := h.run("r1", "acme")
	_, err := run.Put(ctx, "m", memory.Draft{Content: "x"})
	require.NoError(t, err)
	last := own("end", "run.completed", `{"a":"b"}`)
	require.ErrorIs(t, run.Emit(ctx, last), memory.ErrInternal)
	require.ErrorIs(t, run.End(ctx, last), memory.ErrInternal)
	fails = false
	require.NoError(t, run.End(ctx))
	require.Equal(t, []string{"memory.written", "run.completed"}, typesOf(t, log, "acme", "r1"))
}
