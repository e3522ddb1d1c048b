package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// over is the host over a store.
func over(t testing.TB, store driver.Adapter, o options) *served {
	h, err := newHost(store, slog.New(slog.NewTextHandler(io.Discard, nil)))
	require.NoError(t, err)
	require.NoError(t, h.recover(t.Context()))
	upkeep, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- h.keep(upkeep) }()
	t.Cleanup(func() { stop(); <-kept })
	o.token, o.tenantB, o.approver = "a", "b", "approver"
	return &served{t, h, h.handler(o)}
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
	w := s.do("", "GET", "/.well-known/openwop", "")
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
		assert.Equal(t, "completed", s.run("a", name)["status"], "what is advertised runs")
	}
	holds, why := s.host.model.Profile()
	assert.True(t, holds, why)
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
	for name := range workflows {
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
			for _, word := range []string{"session ended", "remember", "vault", "note", testSecret} {
				assert.NotContains(t, string(raw), word)
			}
		}
	}
}

func TestM7_ForkReplaysTheRun(t *testing.T) {
	s := serve(t, options{expiredRun: "old"})
	require.NoError(t, s.host.makeExpiredRun(t.Context(), "old"))
	for name := range workflows {
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
		s.ok(400, "a", "POST", "/v1/runs/"+again["runId"].(string)+":fork", `{"fromSeq":0,"mode":"replay"}`)
	}
	bounds := s.ok(422, "a", "POST", "/v1/runs/old:fork", `{"fromSeq":99,"mode":"replay"}`)
	assert.Equal(t, "invalid_from_seq", bounds["error"], "bounds are checked first")
	refused := s.ok(422, "a", "POST", "/v1/runs/old:fork", `{"fromSeq":0,"mode":"replay"}`)
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
		list := s.do(token, "GET", "/v1/memory/"+url.PathEscape(homeRef), "").Body.String()
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

func TestSeams(t *testing.T) {
	s := serve(t, options{seams: true})
	const base = "/v1/host/sample"
	for pass, want := range [][2]float64{{6, 4}, {4, 4}} {
		out := s.ok(200, "a", "POST", base+"/memory/consolidate", `{"memoryRef":"`+conformanceRef+`","includeSecretCanary":true}`)
		payload := out["event"].(map[string]any)["payload"].(map[string]any)
		assert.Equal(t, want, [2]float64{payload["inputCount"].(float64), payload["outputCount"].(float64)}, "pass %d", pass)
		assert.Equal(t, false, out["secretLeaked"])
	}
	s.ok(400, "a", "POST", base+"/commitment/fire", `{"condition":"nope"}`)
	planted := s.ok(200, "a", "POST", base+"/memory/consolidate", `{"memoryRef":"mem://c/late"}`)
	assert.Equal(t, false, planted["secretLeaked"])
	planted = s.ok(200, "a", "POST", base+"/memory/consolidate", `{"memoryRef":"mem://c/late","includeSecretCanary":true}`)
	assert.Equal(t, float64(4), planted["event"].(map[string]any)["payload"].(map[string]any)["inputCount"], "the canary is planted beside what is there")
	for _, condition := range []string{"time", "predicate", ""} {
		out := s.ok(200, "a", "POST", base+"/commitment/fire", `{"memoryRef":"mem://c/fire","condition":"`+condition+`","includeIntentionCanary":true}`)
		assert.Equal(t, float64(1), out["fireCount"])
		raw, err := json.Marshal(out["event"])
		require.NoError(t, err)
		assert.NoError(t, eventschema.ValidateEvent(raw))
		assert.NotContains(t, string(raw), out["intentionCanary"])
		payload := out["event"].(map[string]any)["payload"].(map[string]any)
		started := s.ok(200, "a", "GET", "/v1/runs/"+payload["enqueuedRunId"].(string), "")
		assert.Equal(t, "completed", started["status"], "the run that it started is there")
	}
	body := `{"memoryRef":"mem://c/distill","indexEmitted":true,"includeSecretCanary":true}`
	first, second := s.ok(200, "a", "POST", base+"/memory/distill", body), s.ok(200, "a", "POST", base+"/memory/distill", body)
	assert.Equal(t, first["archiveChecksum"], second["archiveChecksum"], "byte for byte")
	assert.Equal(t, []any{true, false, false}, []any{first["indexUpdated"], second["indexUpdated"], first["secretLeaked"]})
	assert.Contains(t, first["indexFile"], first["archiveChecksum"])
	index := s.ok(200, "a", "GET", "/v1/host/workspace/files/MEMORY-INDEX.json", "")
	assert.Equal(t, first["indexFile"], index["content"])
	exceeded := s.ok(422, "a", "POST", base+"/memory/distill", `{"memoryRef":"mem://c/distill","tokenBudget":3}`)
	assert.Equal(t, "token_budget_exceeded", exceeded["error"])

	assert.Contains(t, s.ok(201, "a", "POST", "/v1/test/memory/seed", `{"memoryRef":"mem://c/x","content":"one `+testSecret+`"}`)["content"], "[REDACTED:")
	compacted := s.ok(200, "a", "POST", "/v1/test/memory/compact", `{"memoryRef":"mem://c/x"}`)
	assert.Equal(t, "memory.compacted", compacted["type"])
	assert.NotContains(t, compacted["outputContent"], testSecret)
	s.ok(400, "a", "POST", "/v1/test/memory/compact", "")
	s.ok(400, "a", "POST", "/v1/test/memory/compact", `{"memoryRef":"mem://c/empty"}`)
	assert.Len(t, s.ok(200, "a", "GET", "/v1/memory/"+url.PathEscape("mem://c/x")+"?limit=1", "")["entries"], 1)
	s.ok(400, "a", "GET", "/v1/memory/x?limit=many", "")

	closed := serve(t, options{})
	for _, path := range []string{base + "/memory/consolidate", base + "/memory/distill", base + "/commitment/fire", "/v1/test/memory/seed", "/v1/test/memory/compact"} {
		assert.Equal(t, 404, closed.do("a", "POST", path, "{}").Code, path)
	}
	assert.Equal(t, 404, closed.do("a", "GET", "/v1/memory/x", "").Code)
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

func TestProposals(t *testing.T) {
	s := serve(t, options{seams: true})
	made := s.ok(201, "a", "POST", "/v1/test/proposals", `{"kind":"automation","artifact":{"schedule":"0 9 * * 1","steps":[{"say":"hello"}]},"title":"Mondays","sourceRunIds":["run-1"]}`)
	at := "/v1/host/sample/proposals/" + made["id"].(string)
	s.ok(403, "a", "POST", at+"/apply", "{}")
	assert.Equal(t, "draft", s.ok(200, "a", "GET", at, "")["state"])
	assert.Equal(t, "applied", s.ok(200, "approver", "POST", at+"/apply", "{}")["state"])
	s.ok(409, "approver", "POST", at+"/apply", "{}")
	s.ok(422, "a", "POST", "/v1/test/proposals", `{"kind":"automation","artifact":{"steps":[]},"sourceRunIds":["run-1"]}`)
	s.ok(404, "b", "GET", at, "")
}

func TestEveryRefusalIsAnEnvelope(t *testing.T) {
	s := serve(t, options{})
	for _, c := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"", "GET", "/v1/agents", "", 401}, {"x", "GET", "/v1/runs/r", "", 401}, {"", "POST", "/v1/runs", "{}", 401},
		{"", "GET", "/v1/host/workspace/files", "", 401}, {"", "GET", "/v1/host/sample/proposals", "", 401},
		{"a", "POST", "/v1/runs", "", 400}, {"a", "POST", "/v1/runs", "{", 400}, {"a", "POST", "/v1/runs", `{"workflowId":"none"}`, 400},
		{"a", "POST", "/v1/runs", `{"workflowId":"conformance-noop","extra":1}`, 400}, {"a", "POST", "/v1/runs", `{"workflowId":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		{"a", "GET", "/v1/runs/none", "", 404}, {"a", "GET", "/v1/runs/none/events", "", 404}, {"a", "GET", "/v1/runs/none/events?fromSeq=x", "", 400},
		{"a", "POST", "/v1/runs/none:fork", `{}`, 404}, {"a", "POST", "/v1/runs/none", `{}`, 404},
		{"a", "DELETE", "/v1/runs", "", 405}, {"a", "GET", "/v1/nothing", "", 404}, {"a", "GET", "/v2/runs", "", 404},
	} {
		w := s.do(c.token, c.method, c.path, c.body)
		assert.Equal(t, c.status, w.Code, "%s %s", c.method, c.path)
		var envelope struct{ Error, Message string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &envelope), "%s", w.Body)
		assert.NotEmpty(t, envelope.Error)
		assert.NotEmpty(t, envelope.Message)
	}
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
	s.ok(200, "a", "POST", "/v1/host/sample/commitment/fire", `{"condition":"time"}`)
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
	require.Len(t, view, 2, "its own entry, and that of the commitment's run")
	assert.Equal(t, map[string]any{"view": false, "live": true}, view[0].(map[string]any)["in"])
	assert.Equal(t, map[string]any{"view": true, "live": true}, view[1].(map[string]any)["in"])
	assert.NotEmpty(t, get("a", "recall?q=remember&ref="+url.QueryEscape(homeRef))["hits"])
	assert.Equal(t, "acknowledged", get("a", "commitments")["commitments"].([]any)[0].(map[string]any)["state"])
	assert.Equal(t, 3.0, get("a", "usage")["samples"].([]any)[0].(map[string]any)["entries"])
	events := s.do("a", "GET", "/inspector/events?run="+run, "", "Accept", "text/event-stream").Body.String()
	assert.Contains(t, events, `"type":"run.completed"`)

	assert.Empty(t, get("b", "refs")["refs"])
	assert.Empty(t, get("b", "runs")["runs"])
	s.ok(404, "b", "GET", "/inspector/events?run="+run, "")
	s.ok(404, "b", "GET", "/inspector/view?ref="+url.QueryEscape(homeRef)+"&run="+run, "")
	s.ok(401, "", "GET", "/inspector/refs", "")
	s.ok(405, "a", "POST", "/inspector/refs", "{}")
}
