package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/events/eventschema"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// served is the host over a file, as a client sees it.
type served struct {
	t    testing.TB
	host *host
	http http.Handler
}

func serve(t testing.TB, o options) *served {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "host.db"), sqlite.Options{Relaxed: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return over(t, db.Memory(), o)
}

// reopen is the host over what another process has left.
func reopen(t testing.TB, o options) *served {
	store, closeStore, err := openStore(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, closeStore()) })
	return over(t, store, o)
}

// runs are all that a tenant has.
func (s *served) runs(tenant string) (ids []string) {
	err := s.host.pass(s.t.Context(), tenant, "test", func(job *memory.Job) error {
		for d, err := range job.Documents(s.t.Context(), "", driver.DocumentQuery{Kind: runKind, Bare: true}) {
			if err != nil {
				return err
			}
			ids = append(ids, d.Key)
		}
		return nil
	})
	require.NoError(s.t, err)
	return ids
}

// over is the host over a store. When the test ends, all events that it has stored are valid.
func over(t testing.TB, store driver.Adapter, o options) *served {
	l := rememberLogs(t, store)
	h, err := newHost(l, slog.New(slog.NewTextHandler(io.Discard, nil)))
	require.NoError(t, err)
	s := &served{t: t, host: h}
	t.Cleanup(func() { s.everyEventIsValid(l) })
	require.NoError(t, h.recover(t.Context()))
	upkeep, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- h.keep(upkeep) }()
	t.Cleanup(func() { stop(); <-kept })
	if o.seams {
		require.NoError(t, h.plantSeams(t.Context()))
	}
	if o.expiredRun != "" {
		require.NoError(t, h.makeExpiredRun(t.Context(), o.expiredRun))
	}
	o.token, o.tenantB, o.approver = "a", "b", "approver"
	s.http = h.handler(o)
	return s
}

func (s *served) do(token, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

// ok does a request and reads its answer.
func (s *served) ok(status int, token, method, path, body string) map[string]any {
	s.t.Helper()
	w := s.do(token, method, path, body)
	require.Equal(s.t, status, w.Code, "%s %s: %s", method, path, w.Body)
	var out map[string]any
	if w.Body.Len() > 0 {
		require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &out))
	}
	return out
}

// run starts a workflow and returns its run as the host shows it.
func (s *served) run(token, workflow string) map[string]any {
	s.t.Helper()
	made := s.ok(201, token, "POST", "/v1/runs", fmt.Sprintf(`{"workflowId":%q}`, workflow))
	return s.ok(200, token, "GET", "/v1/runs/"+made["runId"].(string), "")
}

func (s *served) events(token string, run any) []map[string]any {
	s.t.Helper()
	var out struct{ Events []map[string]any }
	w := s.do(token, "GET", fmt.Sprintf("/v1/runs/%s/events", run), "")
	require.Equal(s.t, 200, w.Code, w.Body)
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &out))
	return out.Events
}

func TestDiscovery(t *testing.T) {
	s := serve(t, options{})
	w := s.do("", "GET", "/.well-known/openwop", "", "OpenWOP-Version", "1")
	require.Equal(t, 200, w.Code)
	var doc struct {
		ProtocolVersion string
		Fixtures        []string
		Agents          struct{ MemoryBackends []string }
		Memory          struct{ Supported, Writable bool }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	assert.True(t, strings.HasPrefix(doc.ProtocolVersion, "1."))
	assert.Equal(t, []string{"long-term"}, doc.Agents.MemoryBackends)
	assert.True(t, doc.Memory.Supported && doc.Memory.Writable)
	for name := range workflows {
		assert.Contains(t, doc.Fixtures, name)
	}
	for _, name := range unaided() {
		assert.Equal(t, "completed", s.run("a", name)["status"], "what is advertised runs")
	}
	holds, why := s.host.model.Profile()
	assert.True(t, holds, why)
}

// unaided are the workflows that need no inputs.
func unaided() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(workflows)), func(name string) bool { return name == witnessFixture })
}

func TestAgents(t *testing.T) {
	s := serve(t, options{})
	var list struct {
		Agents []struct {
			AgentID                  string
			MemoryDegraded           bool
			DegradedMemoryDimensions []string
		}
		Total int
	}
	require.NoError(t, json.Unmarshal(s.do("a", "GET", "/v1/agents", "").Body.Bytes(), &list))
	require.Equal(t, 3, list.Total)
	for _, a := range list.Agents {
		assert.Equal(t, a.AgentID == "host.sample.read-only", a.MemoryDegraded, a.AgentID)
	}
	one := s.ok(200, "a", "GET", "/v1/agents/host.sample.read-only", "")
	assert.Equal(t, []any{"write"}, one["degradedMemoryDimensions"])
	s.ok(404, "a", "GET", "/v1/agents/nobody", "")
}

// The protocol's scenarios about memory.
func TestFixtures(t *testing.T) {
	s := serve(t, options{})
	back := s.run("a", "conformance-agent-memory-roundtrip")["variables"].(map[string]any)["memoryReadback"].(map[string]any)
	for _, name := range []string{"id", "content", "createdAt"} {
		assert.IsType(t, "", back[name])
	}
	assert.IsType(t, []any{}, back["tags"])
	back = s.run("a", "conformance-agent-memory-redaction")["variables"].(map[string]any)["memoryReadback"].(map[string]any)
	assert.Equal(t, "The vault resolved [REDACTED:conformance-test-secret] for this run.", back["content"])
	vars := s.run("a", "conformance-agent-memory-ttl")["variables"].(map[string]any)
	for _, e := range vars["memoryList"].([]any) {
		if at, ok := e.(map[string]any)["expiresAt"]; ok {
			expires, err := time.Parse(time.RFC3339, at.(string))
			require.NoError(t, err)
			assert.True(t, expires.After(time.Now()))
		}
	}
	vars = s.run("a", "conformance-agent-memory-cross-tenant")["variables"].(map[string]any)
	assert.Equal(t, []any{}, vars["crossTenantProbe"])
	assert.Equal(t, vars["ownerEntryId"], vars["ownerProbe"].([]any)[0].(map[string]any)["id"])
	vars = s.run("a", "conformance-agent-memory-injection-budget")["variables"].(map[string]any)
	assert.Equal(t, true, vars["overBudgetEntryOmitted"])
	assert.LessOrEqual(t, vars["budgetedTokenTotal"], vars["tokenBudget"])
	assert.Equal(t, []any{}, vars["crossTenantBudgetedProbe"])
	assert.Regexp(t, `\[REDACTED:[^\]]+\]`, vars["redactedContentSample"])
}

// Every log is complete: it starts with run.started, ends with the one terminal event, has no gaps,
// validates, and holds no word of any entry.
func TestE1_LogsAreCompleteAndHoldNoContent(t *testing.T) {
	s := serve(t, options{})
	for _, name := range unaided() {
		run := s.run("a", name)
		all := s.events("a", run["runId"])
		require.GreaterOrEqual(t, len(all), 3, name)
		for i, ev := range all {
			assert.Equal(t, float64(i), ev["sequence"])
			raw, err := json.Marshal(ev)
			require.NoError(t, err)
			assert.Equal(t, i == 0, ev["type"] == "run.started")
			assert.Equal(t, i == len(all)-1, ev["type"] == "run.completed")
			if ev["type"] == "memory.written" {
				assert.NoError(t, eventschema.ValidateEvent(raw))
				assert.Equal(t, nodeID, ev["nodeId"])
			}
			for _, word := range []string{"session ended", "was asked", "vault", "note", testSecret} {
				assert.NotContains(t, string(raw), word)
			}
		}
	}
}

func TestM7_ForkReplaysTheRun(t *testing.T) {
	s := serve(t, options{expiredRun: "run-of-lost-memory"})
	for _, name := range unaided() {
		source := s.run("a", name)
		s.run("a", "conformance-noop") // memory goes on
		id := source["runId"].(string)
		again := s.ok(201, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":0,"mode":"replay"}`)
		replay := s.ok(200, "a", "GET", "/v1/runs/"+again["runId"].(string), "")
		assert.Equal(t, "completed", replay["status"], name)
		assert.Equal(t, source["variables"], replay["variables"], "%s reads what it read", name)
		first, second := s.events("a", id), s.events("a", again["runId"])
		require.Len(t, second, len(first))
		for i := range first {
			assert.Equal(t, first[i]["payload"], second[i]["payload"], "payload ids are pinned")
			assert.NotEqual(t, first[i]["eventId"], second[i]["eventId"], "the envelope is another")
		}
		s.ok(201, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":0,"mode":"branch"}`)
		s.ok(422, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":1000,"mode":"replay"}`)
		s.ok(400, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":0,"mode":"other"}`)
		s.ok(404, "b", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":0,"mode":"replay"}`)
	}
	bounds := s.ok(422, "a", "POST", "/v1/runs/run-of-lost-memory:fork", `{"fromSeq":99,"mode":"replay"}`)
	assert.Equal(t, "invalid_from_seq", bounds["error"], "bounds are checked first")
	refused := s.ok(422, "a", "POST", "/v1/runs/run-of-lost-memory:fork", `{"fromSeq":0,"mode":"replay"}`)
	assert.Equal(t, "replay_memory_snapshot_unavailable", refused["error"])
	assert.Equal(t, "retention_expired", refused["details"].(map[string]any)["reason"])
}

// CTI-1: the same ref is another memory for another tenant, and nothing of one is the other's.
func TestM1_TenantsShareNothing(t *testing.T) {
	s := serve(t, options{seams: true})
	a, b := s.run("a", "conformance-agent-memory-cross-tenant"), s.run("b", "conformance-agent-memory-cross-tenant")
	ids := func(run map[string]any) string { return run["variables"].(map[string]any)["ownerEntryId"].(string) }
	assert.NotEqual(t, ids(a), ids(b))
	for _, token := range []string{"a", "b"} {
		list := s.do(token, "GET", "/v1/memory/"+url.PathEscape(sharedRef), "").Body.String()
		assert.Equal(t, token == "a", strings.Contains(list, ids(a)))
		assert.Equal(t, token == "b", strings.Contains(list, ids(b)))
	}
	for _, path := range []string{"/v1/runs/%s", "/v1/runs/%s/events"} {
		foreign := s.do("b", "GET", fmt.Sprintf(path, a["runId"]), "")
		absent := s.do("b", "GET", fmt.Sprintf(path, "run-none"), "")
		assert.Equal(t, 404, foreign.Code)
		assert.Equal(t, absent.Body.String(), foreign.Body.String())
	}
}

// Requests with one key at the same moment are one run.
func TestOneKeyIsOneRun(t *testing.T) {
	s := serve(t, options{})
	var clients sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		clients.Go(func() {
			w := s.do("a", "POST", "/v1/runs", `{"workflowId":"conformance-noop"}`, "Idempotency-Key", "one-key-of-eight-clients")
			assert.Equal(t, 201, w.Code)
			answers[i] = w.Body.String()
		})
	}
	clients.Wait()
	require.Len(t, slices.Compact(answers), 1)
	ids := s.runs(tenantA)
	require.Len(t, ids, 1)
	assert.Len(t, s.events("a", ids[0]), 3)
}

// A run that begins while a request with its key looks for it is that run, and no background pass.
func TestRunBegunMeanwhileIsNoPass(t *testing.T) {
	s := serve(t, options{})
	const key = "one-key-of-two-clients-in-turn"
	post := func() *httptest.ResponseRecorder {
		return s.do("a", "POST", "/v1/runs", `{"workflowId":"conformance-noop"}`, "Idempotency-Key", key)
	}
	var first *httptest.ResponseRecorder
	log := s.host.log
	s.host.log = readerFunc(func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
		s.host.log = log
		first = post()
		return log.Read(ctx, tenant, run, from, limit)
	})
	second := post()
	require.Equal(t, 201, first.Code, first.Body)
	assert.Equal(t, 201, second.Code)
	assert.Equal(t, first.Body.String(), second.Body.String())
}

type readerFunc func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error)

func (f readerFunc) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	return f(ctx, tenant, run, from, limit)
}

// What the seams serve is the contract's; without them there is none.
func TestSeamsAreClosed(t *testing.T) {
	closed := serve(t, options{})
	for _, path := range []string{seam + "/memory/consolidate", seam + "/memory/distill", seam + "/commitment/fire", "/v1/test/memory/seed", "/v1/test/memory/compact",
		"/conformance/seams/sample/memory/distill"} {
		assert.Equal(t, 404, closed.do("a", "POST", path, "{}").Code, path)
	}
	for _, path := range []string{"/v1/memory/x", "/conformance/seams/workspace/files", "/conformance/seams/sample/proposals"} {
		assert.Equal(t, 404, closed.do("a", "GET", path, "").Code, path)
	}
}

func TestWorkspaceIsSeenByRuns(t *testing.T) {
	s := serve(t, options{})
	s.ok(200, "a", "PUT", "/v1/host/workspace/files/behavior%2FSNAPSHOT.md", `{"content":"snapshot body"}`)
	run := s.run("a", "conformance-noop")
	raw, err := json.Marshal(run["workspace"])
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"behavior/SNAPSHOT.md"`)
	assert.NotContains(t, string(raw), "snapshot body")
	s.ok(404, "b", "GET", "/v1/host/workspace/files/behavior%2FSNAPSHOT.md", "")
}

func TestEventStream(t *testing.T) {
	s := serve(t, options{})
	id := s.run("a", "conformance-noop")["runId"].(string)
	w := s.do("a", "GET", "/v1/runs/"+id+"/events", "", "Accept", "text/event-stream")
	assert.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
	assert.Equal(t, 3, strings.Count(w.Body.String(), "\ndata: "))
	assert.True(t, strings.HasPrefix(w.Body.String(), "id: 0\nevent: run.started\n"))
	w = s.do("a", "GET", "/v1/runs/"+id+"/events", "", "Accept", "text/event-stream", "Last-Event-ID", "1")
	assert.True(t, strings.HasPrefix(w.Body.String(), "id: 2\nevent: run.completed\n"), w.Body)
	snapshot := s.do("a", "GET", "/v1/runs/"+id, "")
	assert.Equal(t, 304, s.do("a", "GET", "/v1/runs/"+id, "", "If-None-Match", snapshot.Header().Get("ETag")).Code, "a snapshot is not sent twice")
	for _, path := range []string{"/v1/runs/none/events", "/v1/runs/none/events?fromSeq=5"} {
		for _, accept := range []string{"text/event-stream", "application/json"} {
			assert.Equal(t, 404, s.do("a", "GET", path, "", "Accept", accept).Code)
		}
	}
	assert.Equal(t, 400, s.do("a", "GET", "/v1/runs/"+id+"/events", "", "Last-Event-ID", "9223372036854775807").Code)
}

// The page and what is behind it are there for people: of their own tenant, and read-only. Its laws
// are proven by package inspector.
func TestPage(t *testing.T) {
	s := serve(t, options{seams: true})
	page := s.do("", "GET", "/", "")
	require.Equal(t, 200, page.Code)
	assert.Contains(t, page.Body.String(), "<title>Memory inspector</title>")
	assert.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")

	made := s.run("a", "conformance-agent-memory-roundtrip")
	run := made["runId"].(string)
	s.ok(200, "a", "POST", "/v1/host/sample/commitment/fire", `{"memoryRef":"mem://c/page","condition":"time"}`)
	get := func(token, target string) map[string]any { return s.ok(200, token, "GET", "/inspector/"+target, "") }
	assert.Equal(t, "tenant-a", get("a", "host")["tenant"])
	assert.Len(t, get("a", "host")["dimensions"], 8)
	degraded := 0
	for _, a := range get("a", "agents")["agents"].([]any) {
		if a.(map[string]any)["degraded"] != nil {
			degraded++
		}
	}
	assert.Equal(t, 1, degraded)
	assert.Contains(t, get("a", "refs")["refs"], homeRef)
	assert.Equal(t, run, get("a", "runs")["runs"].([]any)[1].(map[string]any)["runId"], "the newest but the commitment's")
	view := get("a", "view?ref="+url.QueryEscape(homeRef)+"&run="+run)["entries"].([]any)
	require.Len(t, view, 3, "that of the commitment's run, its own, and one of an earlier run")
	assert.Equal(t, map[string]any{"view": false, "live": true}, view[0].(map[string]any)["in"])
	assert.Equal(t, map[string]any{"view": true, "live": true}, view[1].(map[string]any)["in"])
	assert.NotEmpty(t, get("a", "recall?q=remember&ref="+url.QueryEscape(homeRef))["hits"])
	assert.Equal(t, "acknowledged", get("a", "commitments")["commitments"].([]any)[0].(map[string]any)["state"])
	assert.Equal(t, 8.0, get("a", "usage")["samples"].([]any)[0].(map[string]any)["entries"], "four of the corpus, three of runs, and the commitment's")
	events := s.do("a", "GET", "/inspector/events?run="+run, "", "Accept", "text/event-stream").Body.String()
	assert.Contains(t, events, `"type":"run.completed"`)

	assert.NotContains(t, get("b", "refs")["refs"], "mem://c/page")
	assert.Len(t, get("b", "runs")["runs"], 1, "the one that its proposal is made of")
	s.ok(404, "b", "GET", "/inspector/events?run="+run, "")
	s.ok(404, "b", "GET", "/inspector/view?ref="+url.QueryEscape(homeRef)+"&run="+run, "")
	s.ok(401, "", "GET", "/inspector/refs", "")
	s.ok(404, "a", "POST", "/inspector/refs", "{}")
}
