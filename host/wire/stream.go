package wire

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// timedLog is a log of the host whose reads are bounded in time, and whose panics are errors.
type timedLog struct{ events.Reader }

func (c timedLog) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	return hostcall.Call(ctx, "the log", memory.PluginTimeout, func(ctx context.Context) ([]events.RunEvent, error) {
		return c.Reader.Read(ctx, tenant, runID, from, limit)
	})
}

// Stream answers with the events of a run from a sequence on, as server-sent events, and goes on
// as they come until the run's terminal event (run.completed, run.failed or run.cancelled) or until
// the client goes. A client that comes back names the last sequence that it has by the header
// Last-Event-ID. A run that the log does not have is waited for: whoever calls Stream has
// looked whether there is one. An error after the first event ends the stream. A read of the log
// has memory.PluginTimeout.
func (e Encoder) Stream(w http.ResponseWriter, r *http.Request, log events.Reader, tenant, runID string, from int64) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	for ev, err := range events.Follow(r.Context(), timedLog{log}, tenant, runID, from, 200*time.Millisecond) {
		if r.Context().Err() != nil {
			return nil // the client has gone
		}
		if err != nil {
			return err
		}
		raw, err := e.RunEvent(ev)
		if err != nil {
			return err
		}
		t := ev.Payload.EventType()
		if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", ev.Sequence, e.EventType(t), raw); err != nil {
			return nil // the client has gone
		}
		_ = flush.Flush() // a writer that cannot sends it all at the end
		switch t {
		case "run.completed", "run.failed", "run.cancelled":
			return nil
		}
	}
	return nil
}
