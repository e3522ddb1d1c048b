package inspector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const ref = "mem://host/assistant"

// inspected is a host of two tenants. Its handler looks at the store by a bank that is ReadOnly, so that
// every test also shows that nothing is written (I2).
type inspected struct {
	*Handler
	t     *testing.T
	bank  *memory.Bank // the host's own
	log   *events.Log
	clock atomic.Int64 // milliseconds that have passed
	token memory.Token // of run-a
	ids   map[string]string
}

func inspect(t *testing.T) *inspected {
	x := &inspected{t: t, log: &events.Log{}, ids: map[string]string{}}
	start := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	now := func() time.Time { return start.Add(time.Duration(x.clock.Load()) * time.Millisecond) }
	store, ctx := inmem.New(), t.Context()
	var err error
	x.bank, err = memory.New(store, memory.Config{Now: now, Sink: x.log, WriteEvents: true})
	require.NoError(t, err)
	engine, err := commitment.New(x.bank, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
	require.NoError(t, err)
	for _, tenant := range []string{"a", "b"} {
		word := map[string]string{"a": "apricot", "b": "blackberry"}[tenant]
		id := "run-" + tenant
		run, err := x.bank.Start(ctx, memory.RunConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})})
		require.NoError(t, err)
		e, err := run.Put(ctx, ref, memory.Draft{Content: word + " jam lasts a year", Tags: []string{word}, NodeID: "n"})
		require.NoError(t, err)
		x.ids[tenant] = e.ID
		token, err := run.Token(ctx)
		require.NoError(t, err)
		require.NoError(t, run.End(ctx))
		if tenant == "a" {
			x.token = token
		}
		x.clock.Add(1000)
		x.pass(tenant, func(job *memory.Job) {
			_, err := job.Put(ctx, "mem://only/"+tenant, memory.Draft{Content: word + " tart"})
			require.NoError(t, err)
			_, err = engine.Arm(ctx, job, commitment.Source{Ref: ref, MemoryID: e.ID}, commitment.Arm{At: now().Add(time.Hour)})
			require.NoError(t, err)
			done, err := job.Rewrite(ctx, ref, memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: word + " jam lasts two years"}, Sources: []string{e.ID}}}})
			require.NoError(t, err)
			x.ids["head of "+tenant] = done.Entries[0].ID
			_, err = job.Rewrite(ctx, ref, memory.Rewrite{Retire: []memory.Retire{{ID: e.ID, State: memory.Superseded, For: done.Entries[0].ID}}})
			require.NoError(t, err)
		})
	}
	ranker, err := recall.New(recall.Config{})
	require.NoError(t, err)
	looked, err := memory.New(store, memory.Config{Now: now, Ranker: halfNear{ranker}, ReadOnly: true})
	require.NoError(t, err)
	model, err := capability.Derive(capability.Inputs{Bank: x.bank})
	require.NoError(t, err)
	x.Handler = &Handler{
		Wire: wire.Encoder{Version: wire.V1},
		Bank: looked, Tenant: wire.Bearer(map[string]string{"token-a": "a", "token-b": "b"}), Model: model, Log: x.log,
		Commitments: engine.Commitments, Waiting: store.Waiting,
		Agents: func(_ context.Context, tenant string) ([]Agent, error) {
			return []Agent{{ID: "agent." + tenant, Persona: "Agent", Needs: capability.Shape{LongTerm: true}, Degraded: []capability.Dimension{capability.LongTerm}}}, nil
		},
		Runs: func(_ context.Context, tenant string) ([]Run, error) {
			return []Run{{ID: "run-" + tenant, Status: "completed"}}, nil
		},
		Token: func(_ context.Context, tenant, id string) (memory.Token, error) {
			switch {
			case id == "run-"+tenant && tenant == "a":
				return x.token, nil
			case id == "replay-"+tenant:
				return "", nil
			}
			return "", memory.ErrNotFound
		},
	}
	return x
}

// halfNear is a ranker by words that says of every hit that it is half as near in meaning as can be.
type halfNear struct{ *recall.Ranker }

func (r halfNear) Rank(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	hits, err := r.Ranker.Rank(ctx, v, q)
	for i := range hits {
		hits[i].Similarity = 0.5
	}
	return hits, err
}

func (x *inspected) pass(tenant string, f func(*memory.Job)) {
	x.t.Helper()
	c := memory.JobConfig{ID: "pass-" + tenant, Tenant: tenant, Redactor: redact.New(redact.Config{})}
	require.NoError(x.t, x.bank.Pass(x.t.Context(), c, func(job *memory.Job) error { f(job); return nil }))
}

func (x *inspected) do(method, token, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w
}

// get is the answer to a, with the parameters in pairs.
func (x *inspected) get(route string, params ...string) (out map[string]any) {
	x.t.Helper()
	w := x.do("GET", "token-a", address(route, params...))
	require.Equal(x.t, 200, w.Code, "%s: %s", route, w.Body)
	require.NoError(x.t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func address(route string, params ...string) string {
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	return "/inspector/" + route + "?" + q.Encode()
}

// all are requests that a may make, one of each route at least.
func (x *inspected) all() []string {
	return []string{
		address("host"), address("agents"), address("refs"), address("entries", "ref", ref), address("recall", "ref", ref, "q", "jam"),
		address("lineage", "ref", ref, "id", x.ids["a"]), address("subject", "subject", "s"), address("runs"), address("view", "ref", ref, "run", "run-a"),
		address("view", "ref", ref, "token", string(x.token)), address("events", "run", "run-a"), address("commitments"), address("usage"),
	}
}

func field[T any](t *testing.T, doc any, path ...any) T {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			doc = doc.(map[string]any)[step]
		case int:
			require.Greater(t, len(doc.([]any)), step)
			doc = doc.([]any)[step]
		}
	}
	got, ok := doc.(T)
	require.True(t, ok, "%v is %T", path, doc)
	return got
}

func TestRoutes(t *testing.T) {
	x := inspect(t)
	host := x.get("host")
	assert.Len(t, host["dimensions"], 8)
	assert.Equal(t, "long-term-durability", field[string](t, host, "dimensions", 3, "name"))
	assert.False(t, field[bool](t, host, "dimensions", 3, "holds"))
	assert.Equal(t, "the store does not outlive its process", field[string](t, host, "dimensions", 3, "why"))
	assert.Equal(t, "a", host["tenant"])
	assert.Equal(t, []any{"agents", "commitments", "events", "runs", "view", "waiting"}, host["shows"])

	assert.Equal(t, []any{"long-term-durability"}, field[[]any](t, x.get("agents"), "agents", 0, "degraded"))
	assert.Equal(t, []any{ref, "mem://only/a"}, x.get("refs")["refs"])

	entry := field[map[string]any](t, x.get("entries", "ref", ref), "entries", 0)
	assert.Equal(t, "apricot jam lasts two years", entry["content"])
	assert.Equal(t, []any{x.ids["a"]}, entry["sources"])
	assert.Equal(t, "pass-a", entry["runId"])
	assert.Empty(t, x.get("entries", "ref", ref, "tag", "none")["entries"])

	hit := field[map[string]any](t, x.get("recall", "ref", ref, "q", "how long do jams last?"), "hits", 0)
	assert.Equal(t, x.ids["head of a"], field[string](t, hit, "entry", "id"))
	assert.Contains(t, hit["terms"], "jam")
	assert.Greater(t, hit["score"], 0.0)
	assert.Equal(t, 0.5, hit["similarity"])

	lineage := x.get("lineage", "ref", ref, "id", x.ids["a"])
	assert.Equal(t, "superseded", lineage["state"])
	assert.Equal(t, x.ids["head of a"], field[string](t, lineage, "head", "id"))
	assert.Equal(t, "apricot jam lasts a year", field[string](t, lineage, "kin", 0, "content"))
	assert.Equal(t, x.ids["head of a"], field[string](t, lineage, "kin", 0, "for"))

	assert.Equal(t, "run-a", field[string](t, x.get("runs"), "runs", 0, "runId"))
	for _, by := range [][]string{{"run", "run-a"}, {"token", string(x.token)}} {
		view := x.get("view", append(by, "ref", ref)...)
		require.Len(t, view["entries"], 2)
		assert.NotContains(t, view, "next", "this is all")
		assert.Equal(t, map[string]any{"view": false, "live": true}, field[any](t, view, "entries", 0, "in"))
		assert.Equal(t, map[string]any{"view": true, "live": false}, field[any](t, view, "entries", 1, "in"))
		assert.Equal(t, "superseded", field[string](t, view, "entries", 1, "state"))
	}
	said := x.get("events", "run", "run-a")
	assert.Equal(t, "memory.written", field[string](t, said, "events", 0, "type"))
	assert.Equal(t, 1.0, said["next"])
	assert.Empty(t, x.get("events", "run", "run-a", "fromSeq", "1")["events"])

	assert.Equal(t, map[string]any{"mem://only/a": 1.0, ref: 1.0}, x.get("usage")["refs"])

	armed := field[map[string]any](t, x.get("commitments"), "commitments", 0)
	assert.Equal(t, "armed", armed["state"])
	assert.Equal(t, x.ids["a"], armed["memoryId"])
	sample := field[map[string]any](t, x.get("usage"), "samples", 0)
	assert.Equal(t, 2.0, sample["entries"])
	assert.Equal(t, float64(len("apricot jam lasts two years"+"apricot tart")), sample["bytes"])
}

func TestRefusals(t *testing.T) {
	x := inspect(t)
	bare := &inspected{Handler: &Handler{Wire: wire.Encoder{Version: wire.V1}, Bank: x.Bank, Tenant: x.Tenant}, t: t}
	closed := &inspected{Handler: &Handler{Wire: wire.Encoder{Version: wire.V1}, Bank: x.Bank, Tenant: func(*http.Request) (string, error) { return "", errors.New("directory is down: s3cret") }}, t: t}
	nobody := &inspected{Handler: &Handler{Wire: wire.Encoder{Version: wire.V1}, Bank: x.Bank}, t: t}
	for _, c := range []struct {
		at            *inspected
		method, token string
		target        string
		status        int
		code, field   string
	}{
		{x, "GET", "", address("refs"), 401, "unauthenticated", ""},
		{x, "GET", "token-c", address("refs"), 401, "unauthenticated", ""},
		{closed, "GET", "token-a", address("refs"), 403, "forbidden", ""},
		{nobody, "GET", "token-a", address("refs"), 403, "forbidden", ""},
		{x, "GET", "token-a", address("entries"), 400, "validation_error", "ref"},
		{x, "GET", "token-a", address("entries", "ref", ref, "limit", "0"), 400, "validation_error", "limit"},
		{x, "GET", "token-a", address("entries", "ref", ref, "limit", "201"), 400, "validation_error", "limit"},
		{x, "GET", "token-a", address("entries", "ref", ref, "limit", "s3cret"), 400, "validation_error", "limit"},
		{x, "GET", "token-a", address("entries", "ref", ref, "after", "s3cret!"), 400, "validation_error", "after"},
		{x, "GET", "token-a", "/inspector/entries?ref=%zz", 400, "validation_error", "query"},
		{x, "GET", "token-a", address("recall", "ref", ref), 400, "validation_error", "q"},
		{x, "GET", "token-a", address("recall", "q", "s3cret"), 400, "validation_error", "ref"},
		{bare, "GET", "token-a", address("runs"), 501, "capability_not_provided", ""},
		{bare, "GET", "token-a", address("agents"), 501, "capability_not_provided", ""},
		{bare, "GET", "token-a", address("commitments"), 501, "capability_not_provided", ""},
		{bare, "GET", "token-a", address("events", "run", "s3cret"), 501, "capability_not_provided", ""},
		{bare, "GET", "token-a", address("view", "ref", ref, "run", "s3cret"), 501, "capability_not_provided", ""},
		{x, "GET", "token-a", address("lineage", "ref", ref), 400, "validation_error", "id"},
		{x, "GET", "token-a", address("lineage", "ref", ref, "id", "s3cret"), 404, "not_found", ""},
		{x, "GET", "token-a", address("view", "ref", ref), 400, "validation_error", "run"},
		{x, "GET", "token-a", address("view", "run", "run-a"), 400, "validation_error", "ref"},
		{x, "GET", "token-a", address("view", "ref", ref, "run", "s3cret"), 404, "not_found", ""},
		{x, "GET", "token-a", address("view", "ref", ref, "run", "replay-a"), 422, "replay_memory_snapshot_unavailable", ""},
		{x, "GET", "token-a", address("view", "ref", ref, "token", "s3cret"), 422, "replay_memory_snapshot_unavailable", ""},
		{x, "GET", "token-b", address("view", "ref", ref, "token", string(x.token)), 422, "replay_memory_snapshot_unavailable", ""},
		{x, "GET", "token-a", address("events"), 400, "validation_error", "run"},
		{x, "GET", "token-a", address("events", "run", "s3cret"), 404, "not_found", ""},
		{x, "GET", "token-a", address("events", "run", "run-a", "fromSeq", "-1"), 400, "validation_error", "fromSeq"},
		{x, "GET", "token-a", "/inspector/s3cret", 404, "not_found", ""},
		{x, "GET", "token-a", "/s3cret", 404, "not_found", ""},
		{x, "POST", "token-a", "/", 405, "validation_error", ""},
	} {
		w := c.at.do(c.method, c.token, c.target)
		var envelope map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &envelope), c.target)
		assert.Equal(t, c.status, w.Code, "%s: %s", c.target, w.Body)
		assert.Equal(t, c.code, envelope["error"], c.target)
		for name := range envelope {
			assert.Contains(t, []string{"error", "message", "details"}, name)
		}
		if c.field != "" {
			assert.Equal(t, c.field, field[string](t, envelope, "details", "field"), c.target)
		}
		assert.NotContains(t, w.Body.String(), "s3cret")
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, target := range x.all() {
			assert.Equal(t, 405, x.do(method, "token-a", target).Code, "%s %s", method, target)
		}
	}
	// In version 2, what the host does not advertise is not there.
	bare.Handler = &Handler{Bank: x.Bank, Tenant: x.Tenant, Wire: wire.Encoder{Version: wire.V2}}
	assert.Equal(t, 404, bare.do("GET", "token-a", address("runs")).Code)
}

// Over every route: without credentials there is nothing, what belongs to b is as if it did not exist,
// and nothing in a request but its credentials names a tenant.
func TestI1_TenantComesFromCredentialsOnly(t *testing.T) {
	x := inspect(t)
	for _, target := range x.all() {
		assert.Equal(t, 401, x.do("GET", "", target).Code, target)
		plain := x.do("GET", "token-a", target)
		require.Equal(t, 200, plain.Code, "%s: %s", target, plain.Body)
		other := x.do("GET", "token-a", target+"&tenant=b&tenantId=b", "X-Tenant", "b", "X-Tenant-Id", "b", "Cookie", "tenant=b")
		assert.Equal(t, plain.Body.String(), other.Body.String(), target)
	}
	targets := x.all()
	for _, id := range []string{"run-b", x.ids["b"], x.ids["head of b"]} {
		targets = append(targets, address("lineage", "ref", ref, "id", id), address("view", "ref", ref, "run", id), address("events", "run", id))
	}
	for _, r := range []string{"mem://only/b", "b/" + ref, "b\x00" + ref, "%", "*", ""} {
		targets = append(targets, address("entries", "ref", r), address("recall", "ref", r, "q", "tart"), address("view", "ref", r, "run", "run-a"), address("lineage", "ref", r, "id", x.ids["b"]))
	}
	for _, target := range targets {
		body := x.do("GET", "token-a", target).Body.String()
		for _, of := range []string{"blackberry", x.ids["b"], x.ids["head of b"], "only/b", "run-b", "pass-b", "agent.b"} {
			assert.NotContains(t, body, of, target)
		}
	}
	for _, pair := range [][2]string{
		{address("lineage", "ref", ref, "id", x.ids["b"]), address("lineage", "ref", ref, "id", strings.Repeat("0", len(x.ids["b"])))},
		{address("events", "run", "run-b"), address("events", "run", "run-c")},
		{address("view", "ref", ref, "run", "run-b"), address("view", "ref", ref, "run", "run-c")},
		{address("entries", "ref", "mem://only/b"), address("entries", "ref", "mem://only/c")},
	} {
		a, b := x.do("GET", "token-a", pair[0]), x.do("GET", "token-a", pair[1])
		assert.Equal(t, b.Code, a.Code, pair[0])
		assert.Equal(t, b.Body.String(), a.Body.String(), pair[0])
	}
	assert.Contains(t, x.do("GET", "token-b", address("entries", "ref", ref)).Body.String(), "blackberry", "b has it")
}

func TestI3_EventsUsageAndCommitmentsHoldNoContent(t *testing.T) {
	x := inspect(t)
	for _, target := range []string{address("events", "run", "run-a"), address("events", "run", "pass-a"), address("usage"), address("commitments"), address("host"), address("agents")} {
		w := x.do("GET", "token-a", target)
		require.Equal(t, 200, w.Code, target)
		for _, word := range []string{"apricot", "jam", "lasts", "tart"} {
			assert.NotContains(t, w.Body.String(), word, target)
		}
	}
}

// The pages of a ref and of a comparison, put together, are what an oracle says, for pages of any length.
func TestView_IsTheUnionOfBothInOrder(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x, rnd, ctx := inspect(t), rand.New(rand.NewPCG(seed, 22)), t.Context()
			const at = "mem://host/random"
			want := map[string]presence{}
			put := func(tag presence) {
				x.pass("a", func(job *memory.Job) {
					e, err := job.Put(ctx, at, memory.Draft{Content: "c", CreatedAt: x.bank.Now().Add(-time.Duration(rnd.IntN(50)) * time.Millisecond)})
					require.NoError(t, err)
					want[e.ID] = tag
				})
			}
			for range rnd.IntN(12) {
				put(presence{View: true, Live: true})
			}
			run, err := x.bank.Start(ctx, memory.RunConfig{ID: "random", Tenant: "a", Redactor: redact.New(redact.Config{})})
			require.NoError(t, err)
			token, err := run.Token(ctx)
			require.NoError(t, err)
			for _, id := range slices.Sorted(func(yield func(string) bool) {
				for id := range want {
					if !yield(id) {
						return
					}
				}
			}) {
				if rnd.IntN(3) == 0 {
					x.pass("a", func(job *memory.Job) {
						_, err := job.Delete(ctx, at, id)
						require.NoError(t, err)
						want[id] = presence{View: true}
					})
				}
			}
			for range rnd.IntN(12) {
				put(presence{Live: true})
			}
			got, last := map[string]presence{}, ""
			limit := fmt.Sprint(1 + rnd.IntN(7))
			for after := []string(nil); ; {
				page := x.get("view", append(after, "ref", at, "token", string(token), "limit", limit)...)
				for i := range page["entries"].([]any) {
					id := field[string](t, page, "entries", i, "id")
					_, twice := got[id]
					assert.False(t, twice, "an entry comes twice")
					in := field[map[string]any](t, page, "entries", i, "in")
					got[id] = presence{View: in["view"].(bool), Live: in["live"].(bool)}
					key := field[string](t, page, "entries", i, "createdAt") + id
					assert.True(t, last == "" || len(key) != len(last) || key < last, "newest first")
					last = key
					if !got[id].Live {
						assert.Equal(t, "deleted", field[string](t, page, "entries", i, "state"))
					}
				}
				next, more := page["next"].(string)
				if !more {
					break
				}
				after = []string{"after", next}
			}
			assert.Equal(t, want, got)
		})
	}
}

// An entry that came to nothing is not quoted by its lineage, nor is a replaced one that has expired.
func TestLineage_DoesNotQuoteWhatIsGone(t *testing.T) {
	x := inspect(t)
	ctx := t.Context()
	var brief, head string
	x.pass("a", func(job *memory.Job) {
		e, err := job.Put(ctx, ref, memory.Draft{Content: "brief", ExpiresAt: x.bank.Now().Add(time.Minute)})
		require.NoError(t, err)
		h, err := job.Put(ctx, ref, memory.Draft{Content: "its heir"})
		require.NoError(t, err)
		brief, head = e.ID, h.ID
		_, err = job.Rewrite(ctx, ref, memory.Rewrite{Retire: []memory.Retire{{ID: brief, State: memory.Merged, For: head}}})
		require.NoError(t, err)
	})
	assert.Len(t, x.get("lineage", "ref", ref, "id", head)["kin"], 1, "no other lineage of the ref")
	assert.Equal(t, "brief", field[string](t, x.get("lineage", "ref", ref, "id", head), "kin", 0, "content"))
	x.clock.Add(time.Hour.Milliseconds())
	kin := field[map[string]any](t, x.get("lineage", "ref", ref, "id", head), "kin", 0)
	assert.Equal(t, "", kin["content"])
	assert.Equal(t, "merged, expired", kin["state"])
	x.pass("a", func(job *memory.Job) {
		_, err := job.Delete(ctx, ref, head)
		require.NoError(t, err)
	})
	assert.Equal(t, map[string]any{"id": brief, "state": "deleted"}, x.get("lineage", "ref", ref, "id", brief))
}

// A stream has what was there and what comes, and ends at the run's terminal event.
func TestEvents_AreStreamed(t *testing.T) {
	x := inspect(t)
	server := httptest.NewServer(x)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of a stream that does not end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+address("events", "run", "run-a"), nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer token-a")
	r.Header.Set("Accept", "text/event-stream")
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	next := func() (ev struct {
		Type     string
		Sequence int
	}) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				require.NoError(t, json.Unmarshal([]byte(data), &ev))
				break
			}
		}
		return ev
	}
	assert.Equal(t, "memory.written", next().Type)
	host := func(kind events.Type) {
		require.NoError(t, x.log.Emit(t.Context(), events.Record{ID: string(kind), Tenant: "a", RunID: "run-a", Time: x.bank.Now(), Payload: events.HostPayload{Type: kind, JSON: []byte("{}")}}))
	}
	host("node.started")
	ev := next()
	assert.Equal(t, "node.started", ev.Type)
	assert.Equal(t, 1, ev.Sequence)
	host("run.completed")
	assert.Equal(t, "run.completed", next().Type)
	assert.Empty(t, next().Type, "the stream has ended")
	assert.NoError(t, lines.Err())
}

// A stream ends with its client.
func TestEvents_StreamEndsWithItsClient(t *testing.T) {
	x := inspect(t)
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", address("events", "run", "run-a"), nil)
	r.Header.Set("Authorization", "Bearer token-a")
	r.Header.Set("Accept", "text/event-stream")
	ended := make(chan struct{})
	go func() { x.ServeHTTP(httptest.NewRecorder(), r); close(ended) }()
	leave()
	<-ended
}

// Samples are as far apart as they should be, as many as the ring holds, and each tenant's own; and
// however many tenants come, few have one.
func TestUsage_IsBounded(t *testing.T) {
	x := inspect(t)
	for i := range ringLength + 30 {
		x.get("usage")
		assert.Len(t, x.get("usage")["samples"], min(i+1, ringLength), "a second call at once takes no sample")
		x.clock.Add(samplePause.Milliseconds())
	}
	last := field[map[string]any](t, x.get("usage"), "samples", ringLength-1)
	assert.Equal(t, 0.0, last["overdue"])
	x.clock.Add(time.Hour.Milliseconds())
	assert.Equal(t, 1.0, field[float64](t, x.get("usage"), "samples", ringLength-1, "overdue"))
	x.Tenant = func(r *http.Request) (string, error) { return r.Header.Get("Who"), nil }
	for i := range 3 * mostRings {
		w := x.do("GET", "", address("usage"), "Who", fmt.Sprint("t", i))
		require.Equal(t, 200, w.Code)
		require.NotContains(t, w.Body.String(), `"entries":2`)
	}
	assert.LessOrEqual(t, len(x.usages.rings), mostRings)
}

// I3: a commitment says what it waits for, how far it has fired and when it ended. One that this process
// cannot read is shown by its id, and more than an answer holds are not shown.
func TestI3_CommitmentsAreListedInEachStateOfTheirs(t *testing.T) {
	x := inspect(t)
	at := time.UnixMilli(1_700_000_000_000)
	x.Handler.Commitments = func(context.Context, string) iter.Seq2[commitment.Commitment, error] {
		return func(yield func(commitment.Commitment, error) bool) {
			_ = yield(commitment.Commitment{ID: "newer"}, commitment.ErrNewerFormat) &&
				yield(commitment.Commitment{ID: "fact", Arm: commitment.Arm{Predicate: "ticket.closed"}}, nil) &&
				yield(commitment.Commitment{ID: "daily", Arm: commitment.Arm{Every: 24 * time.Hour}, Due: at, Mark: at, Fired: 3}, nil) &&
				yield(commitment.Commitment{ID: "cron", Arm: commitment.Arm{Spec: "0 9 * * 1"}, EndedAt: at}, nil) &&
				yield(commitment.Commitment{ID: "lost", State: commitment.GivenUp, GivenUp: commitment.Claim{Instant: at, Tries: 33}}, nil)
			for i := 5; i <= 1000 && yield(commitment.Commitment{ID: fmt.Sprint(i)}, nil); i++ {
			}
		}
	}
	list := x.get("commitments")
	shown := func(i int, name string) any { return field[map[string]any](t, list, "commitments", i)[name] }
	assert.Equal(t, []any{"newer", true}, []any{shown(0, "id"), shown(0, "unreadable")})
	assert.Equal(t, []any{"when ticket.closed", "predicate"}, []any{shown(1, "arm"), shown(1, "condition")})
	assert.Equal(t, []any{"every 24h0m0s", 3.0, 1.7e12, 1.7e12}, []any{shown(2, "arm"), shown(2, "fired"), shown(2, "due"), shown(2, "firedUpTo")})
	assert.Equal(t, []any{"0 9 * * 1", 1.7e12}, []any{shown(3, "arm"), shown(3, "endedAt")})
	assert.Equal(t, []any{"given-up", true, 33.0, 1.7e12}, []any{shown(4, "state"), shown(4, "final"), shown(4, "givenUp"), shown(4, "givenUpFor")})
	assert.Len(t, list["commitments"], 1000)
	assert.Equal(t, true, list["more"])
	x.Handler.Commitments = func(context.Context, string) iter.Seq2[commitment.Commitment, error] {
		return func(yield func(commitment.Commitment, error) bool) {
			yield(commitment.Commitment{}, errors.New("the disk is gone"))
		}
	}
	assert.Equal(t, 500, x.do("GET", "token-a", address("commitments")).Code)
}

// What is about a subject is what forgetting it erases, in every ref and with all that was made of it; and
// nothing of it is quoted that has expired.
func TestM10_ASubjectIsWhatForgettingItErases(t *testing.T) {
	x := inspect(t)
	x.pass("a", func(job *memory.Job) {
		own, err := job.Put(t.Context(), "mem://one", memory.Draft{Content: "Ann's own", Subjects: []string{"ann"}})
		require.NoError(t, err)
		_, err = job.Rewrite(t.Context(), "mem://one", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "made of it"}, Sources: []string{own.ID}}}})
		require.NoError(t, err)
		_, err = job.Put(t.Context(), "mem://two", memory.Draft{Content: "soon gone", Subjects: []string{"ann"}, ExpiresAt: x.bank.Now().Add(time.Second)})
		require.NoError(t, err)
		_, err = job.Put(t.Context(), "mem://two", memory.Draft{Content: "of another", Subjects: []string{"bob"}})
		require.NoError(t, err)
		ended, err := job.Put(t.Context(), "mem://three", memory.Draft{Content: "ended", Subjects: []string{"ann"}})
		require.NoError(t, err)
		_, err = job.Rewrite(t.Context(), "mem://three", memory.Rewrite{Retire: []memory.Retire{{ID: ended.ID, State: memory.Deleted}}})
		require.NoError(t, err)
		_, err = job.Rewrite(t.Context(), "mem://one", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: driver.Document{Scope: driver.Scope{Tenant: "a", Ref: "mem://one"}, Class: driver.Content, Kind: "vector", Key: "k", Value: []byte("v"), Of: []string{own.ID}}}}
		}})
		require.NoError(t, err)
	})
	x.clock.Add(2000)
	about := x.get("subject", "subject", "ann")
	var texts []string
	for _, e := range about["entries"].([]any) {
		e := e.(map[string]any)
		texts = append(texts, fmt.Sprintf("%s %s: %s", e["ref"], e["state"], e["content"]))
	}
	assert.ElementsMatch(t, []string{"mem://one live: Ann's own", "mem://one live: made of it", "mem://two live, expired: ", "mem://three deleted: "}, texts)
	assert.Equal(t, map[string]any{"vector": 1.0}, about["documents"])
	assert.Empty(t, x.get("subject", "subject", "nobody")["entries"])
	var other map[string]any
	require.NoError(t, json.Unmarshal(x.do("GET", "token-b", address("subject", "subject", "ann")).Body.Bytes(), &other))
	assert.Empty(t, other["entries"], "another tenant's")
	done, err := x.bank.Forget(t.Context(), "a", "ann")
	require.NoError(t, err)
	assert.Len(t, done.Erased, len(texts))
	assert.Empty(t, x.get("subject", "subject", "ann")["entries"])
}
