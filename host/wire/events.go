package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

const (
	followPause = 200 * time.Millisecond // between two looks at a log
	keepAlive   = 15 * time.Second       // after so long a silence a stream says that it is there
	writeTime   = 30 * time.Second       // a client that takes longer for an event has gone
	longestPage = 1000
)

// timedLog is a log of the host whose reads are bounded in time, and whose panics are errors.
type timedLog struct {
	events.Reader
	before func() // each read
}

func (l timedLog) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	if l.before != nil {
		l.before()
	}
	return hostcall.Call(ctx, "the log", memory.PluginTimeout, func(ctx context.Context) ([]events.RunEvent, error) {
		return l.Reader.Read(ctx, tenant, runID, from, limit)
	})
}

// Events answers with a page of a run's log, from fromSeq of the query on, or with a stream of server-sent
// events if the client takes one: to the run's terminal event (run.completed, run.failed or run.cancelled),
// or until the client goes; with bufferMs of the query each frame is a batch. Both continue behind the
// header Last-Event-ID. All events of a run are in the modes updates and debug; another streamMode is
// unsupported_stream_mode. status is that of the run: a stream of one that has ended does not wait. The
// caller has looked whether there is such a run. A read of the log has memory.PluginTimeout, and a client
// has 30 seconds to take an event. An error after the first event ends the stream.
func (e Encoder) Events(w http.ResponseWriter, r *http.Request, log events.Reader, tenant, runID, status string) error {
	if mode := r.URL.Query().Get("streamMode"); mode != "" && !servedModes.MatchString(mode) {
		return &Error{Kind: CodeStreamMode, Message: "the mode is not served", Details: map[string]any{"supported": []string{"updates", "debug"}}}
	}
	from, err := sequence(r.URL.Query().Get("fromSeq"), "fromSeq", 0)
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		from, err = sequence(last, "Last-Event-ID", 0)
		from++
	}
	if err != nil {
		return err
	}
	page, err := timedLog{Reader: log}.Read(r.Context(), tenant, runID, from, longestPage)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		if _, ended := isTerminal(events.Type("run." + status)); ended && len(page) == 0 {
			w.WriteHeader(http.StatusOK)
			return nil
		}
		return e.stream(w, r, log, tenant, runID, from)
	}
	docs, err := e.docs(page)
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, map[string]any{"events": docs, "next": from + int64(len(docs))})
}

var servedModes = regexp.MustCompile(`^(updates|debug)(,(updates|debug))*$`)

// sequence reads a number from 0 to events.MaxInteger out of a request.
func sequence(text, field string, absent int64) (int64, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > events.MaxInteger {
		return 0, Invalid(field, "it is not a number from 0")
	}
	return n, nil
}

func (e Encoder) docs(page []events.RunEvent) ([]json.RawMessage, error) {
	docs := make([]json.RawMessage, len(page))
	for i, ev := range page {
		var err error
		if docs[i], err = e.RunEvent(ev); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// Poll answers with the events of a run behind afterSequence of the query (in version 1 also
// lastSequence), and waits up to its timeout, 1 to 60 seconds and 30 by default, until there is one
// or the run has ended. status is that of the run as long as its log has no terminal event. The caller
// has looked whether there is such a run.
func (e Encoder) Poll(w http.ResponseWriter, r *http.Request, log events.Reader, tenant, runID, status string) error {
	q := r.URL.Query()
	after, err := sequence(q.Get("afterSequence"), "afterSequence", -1)
	if old := q.Get("lastSequence"); err == nil && old != "" && e.Version == V1 {
		after, err = sequence(old, "lastSequence", -1)
	}
	if err != nil {
		return err
	}
	timeout, err := sequence(q.Get("timeout"), "timeout", 30)
	if err != nil || timeout < 1 || timeout > 60 {
		return Invalid("timeout", "it is not a number of seconds from 1 to 60")
	}
	waited, cancel := context.WithTimeout(r.Context(), time.Duration(timeout)*time.Second)
	defer cancel()
	last, page := int64(-1), []events.RunEvent{}
	_, ended := isTerminal(events.Type("run." + status))
	for whole := false; !whole; {
		all, err := timedLog{Reader: log}.Read(r.Context(), tenant, runID, last+1, 0)
		if err != nil {
			return err
		}
		for _, ev := range all {
			last = ev.Sequence
			if last > after && len(page) < longestPage {
				page = append(page, ev)
			}
			if s, terminal := isTerminal(ev.Payload.EventType()); terminal {
				status, ended, whole = s, true, true
			}
		}
		if len(all) == 0 {
			whole = len(page) > 0 || ended || !waits(waited)
		}
	}
	docs, err := e.docs(page)
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, map[string]any{
		"runId": e.RunID(tenant, runID), "events": docs, "lastSequence": last, "status": status, "isTerminal": ended,
	})
}

// waits waits for the next look at a log; false is the end of the context.
func waits(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(followPause):
		return true
	}
}

// stream writes the events of a run from a sequence on, as they come.
func (e Encoder) stream(w http.ResponseWriter, r *http.Request, log events.Reader, tenant, runID string, from int64) error {
	buffer, err := sequence(r.URL.Query().Get("bufferMs"), "bufferMs", 0)
	if err != nil {
		return err
	}
	control, said := http.NewResponseController(w), time.Now()
	write := func(format string, args ...any) error {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // a writer without deadlines has none
		said = time.Now()
		_, err := fmt.Fprintf(w, format, args...)
		_ = control.Flush() // a writer that cannot sends it all at the end
		return err
	}
	ping := func() {
		if time.Since(said) >= keepAlive {
			_ = write(": still here\n\n") // the client's going ends the request
		}
	}
	for ev, err := range events.Follow(r.Context(), timedLog{log, ping}, tenant, runID, from, followPause) {
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
		name := e.EventType(t)
		if buffer > 0 { // a batch may be of one
			name, raw = "batch", slices.Concat([]byte("["), raw, []byte("]"))
		}
		if write("id: %d\nevent: %s\ndata: %s\n\n", ev.Sequence, name, raw) != nil {
			return nil // the client has gone
		}
		if _, terminal := isTerminal(t); terminal {
			return nil
		}
	}
	return nil
}
