package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// E3: a stream has every event of the run in its order, from the one asked for to the terminal one,
// under the names of its version.
func TestE3_StreamEndsWithTheTerminalEvent(t *testing.T) {
	log := new(events.Log)
	for i, p := range []events.Payload{
		events.HostPayload{Type: "run.started", JSON: json.RawMessage(`{}`)},
		events.MemoryConsolidated{MemoryRef: "notes", InputCount: 2, OutputCount: 1},
		events.HostPayload{Type: "run.cancelled", JSON: json.RawMessage(`{}`)},
		events.HostPayload{Type: "host.later", JSON: json.RawMessage(`{}`)},
	} {
		require.NoError(t, log.Emit(t.Context(), events.Record{
			ID: string(rune('a' + i)), Tenant: "acme", RunID: "run-1", Time: time.UnixMilli(1_700_000_000_000).UTC(), Payload: p,
		}))
	}
	for from, want := range map[int64][]string{
		0: {"run.started", "agent.memory-consolidated", "run.cancelled"}, 1: {"agent.memory-consolidated", "run.cancelled"}, 2: {"run.cancelled"},
	} {
		w := httptest.NewRecorder()
		enc := wire.Encoder{Version: wire.V2}
		r := httptest.NewRequest("GET", fmt.Sprint("/?fromSeq=", from), nil)
		r.Header.Set("Accept", "text/event-stream")
		require.NoError(t, enc.Events(w, r, log, "acme", "run-1", "running"))
		var got []string
		for line := range strings.Lines(w.Body.String()) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok {
				got = append(got, name)
			}
		}
		assert.Equal(t, want, got)
		assert.True(t, w.Flushed)
		assert.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
	}
}

// E3: a client that was interrupted goes on behind the last event that it has, and one that asks for
// batches gets the same events.
func TestE3_StreamsGoOnAndComeInBatches(t *testing.T) {
	for _, c := range []struct{ query, last, status, want string }{
		{"", "0", "failed", "id: 1\nevent: memory.written\nid: 2\nevent: run.failed\n"},
		{"?fromSeq=2", "0", "failed", "id: 1\nevent: memory.written\nid: 2\nevent: run.failed\n"},
		{"?bufferMs=100", "1", "failed", "id: 2\nevent: batch\n"},
		{"", "2", "failed", ""}, // it does not wait for what will not come
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/"+c.query, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", c.last)
		require.NoError(t, wire.Encoder{Version: wire.V1}.Events(w, r, logged(t), "acme", "ended", c.status))
		var got strings.Builder
		for line := range strings.Lines(w.Body.String()) {
			data, isData := strings.CutPrefix(line, "data: ")
			if !isData && line != "\n" {
				got.WriteString(line)
			}
			assert.Equal(t, isData && c.query == "?bufferMs=100", strings.HasPrefix(data, "["), line)
		}
		assert.Equal(t, c.want, got.String(), "%+v", c)
	}
	for query, last := range map[string]string{"": "x", "?bufferMs=x": "0"} {
		r := httptest.NewRequest("GET", "/"+query, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", last)
		err := wire.Encoder{Version: wire.V1}.Events(httptest.NewRecorder(), r, logged(t), "acme", "ended", "failed")
		assert.Equal(t, memory.CodeValidation, memory.CodeOf(err), "%q %q", query, last)
	}
}

// logged are a run and, but for its terminal event, another.
func logged(t *testing.T) *events.Log {
	log := new(events.Log)
	emit := func(run, id string, p events.Payload) {
		require.NoError(t, log.Emit(t.Context(), events.Record{ID: id, Tenant: "acme", RunID: run, Time: time.UnixMilli(1_700_000_000_000).UTC(), Payload: p}))
	}
	for _, run := range []string{"ended", "going"} {
		emit(run, "event-000000000001", events.HostPayload{Type: "run.started", JSON: json.RawMessage(`{}`)})
		emit(run, "event-000000000002", events.MemoryWritten{MemoryRef: "notes", MemoryID: "e1"})
	}
	emit("ended", "event-000000000003", events.HostPayload{Type: "run.failed", JSON: json.RawMessage(`{}`)})
	return log
}

// A poll answers at once with what there is, and of a run that goes on waits as long as it is told.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logged(t)
		for _, c := range []struct {
			version           wire.Version
			run, query        string
			sequences         []int64
			last              int64
			status            string
			terminal          bool
			waits             time.Duration
			refusedWithStatus int
		}{
			{wire.V2, "ended", "", []int64{0, 1, 2}, 2, "failed", true, 0, 0},
			{wire.V2, "ended", "afterSequence=1", []int64{2}, 2, "failed", true, 0, 0},
			{wire.V2, "ended", "afterSequence=7", []int64{}, 2, "failed", true, 0, 0},
			{wire.V2, "ended", "lastSequence=1", []int64{0, 1, 2}, 2, "failed", true, 0, 0},
			{wire.V1, "ended", "lastSequence=1", []int64{2}, 2, "failed", true, 0, 0},
			{wire.V2, "going", "afterSequence=0", []int64{1}, 1, "running", false, 0, 0},
			{wire.V2, "going", "afterSequence=1&timeout=3", []int64{}, 1, "running", false, 3 * time.Second, 0},
			{wire.V2, "going", "afterSequence=1", []int64{}, 1, "running", false, 30 * time.Second, 0},
			{wire.V2, "none", "timeout=1", []int64{}, -1, "running", false, time.Second, 0},
			{wire.V2, "ended", "timeout=0", nil, 0, "", false, 0, 400},
			{wire.V2, "ended", "timeout=61", nil, 0, "", false, 0, 400},
			{wire.V2, "ended", "afterSequence=-1", nil, 0, "", false, 0, 400},
		} {
			enc, w, began := wire.Encoder{Version: c.version}, httptest.NewRecorder(), time.Now()
			err := enc.Poll(w, httptest.NewRequest("GET", "/?"+c.query, nil), log, "acme", c.run, "running")
			if c.refusedWithStatus != 0 {
				_, status := enc.Envelope(err)
				assert.Equal(t, c.refusedWithStatus, status, c.query)
				continue
			}
			require.NoError(t, err)
			assert.InDelta(t, c.waits, time.Since(began), float64(250*time.Millisecond), c.query)
			var out struct {
				RunID        string
				Events       []struct{ Sequence int64 }
				LastSequence int64
				Status       string
				IsTerminal   bool
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
			got := []int64{}
			for _, ev := range out.Events {
				got = append(got, ev.Sequence)
			}
			assert.Equal(t, c.sequences, got, "%+v", c)
			assert.Equal(t, c.last, out.LastSequence, "%+v", c)
			assert.Equal(t, []any{c.status, c.terminal}, []any{out.Status, out.IsTerminal}, "%+v", c)
		}
	})
}

// A stream that has nothing to say for a while says that it is there, and ends with its client.
func TestStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
		r.Header.Set("Accept", "text/event-stream")
		require.NoError(t, wire.Encoder{Version: wire.V1}.Events(w, r, logged(t), "acme", "going", "running"))
		assert.Equal(t, 2, strings.Count(w.Body.String(), ": still here\n\n"))
		assert.Equal(t, 2, strings.Count(w.Body.String(), "\ndata: "))
	})
}

func TestEventsByMode(t *testing.T) {
	for query, served := range map[string]bool{
		"": true, "streamMode=updates": true, "streamMode=debug,updates": true, "streamMode=values": false, "streamMode=messages": false,
		"streamMode=debug,values": false, "fromSeq=x": false, "fromSeq=-1": false, "fromSeq=9007199254740992": false,
	} {
		w := httptest.NewRecorder()
		err := wire.Encoder{Version: wire.V1}.Events(w, httptest.NewRequest("GET", "/?"+query, nil), logged(t), "acme", "ended", "failed")
		assert.Equal(t, served, err == nil, query)
	}
}
