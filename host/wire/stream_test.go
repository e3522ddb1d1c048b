package wire_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
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
		require.NoError(t, enc.Stream(w, httptest.NewRequest("GET", "/", nil), log, "acme", "run-1", from))
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
