package pagetest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/inspector"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const (
	home    = "mem://acme/assistant"
	hostile = "mem://acme/inbox"
)

// sample is a host with a week of memory of two tenants.
type sample struct {
	t       *testing.T
	bank    *memory.Bank
	handler *inspector.Handler
	mu      sync.Mutex
	behind  time.Duration // how far the bank's clock is behind
	live    int
	run     string // is under way until finish
	merged  string // an entry that two were merged into
	finish  func()
}

func (s *sample) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(-s.behind)
}

func (s *sample) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind -= d
}

// url serves the host until the test ends.
func (s *sample) url() string {
	server := httptest.NewServer(s.handler)
	s.t.Cleanup(server.Close)
	return server.URL
}

// measure lets the handler take a sample of what acme has.
func (s *sample) measure() {
	s.t.Helper()
	r := httptest.NewRequest("GET", "/inspector/usage", nil)
	r.Header.Set("Authorization", "Bearer a")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	require.Equal(s.t, 200, w.Code, w.Body)
}

func (s *sample) pass(tenant string, f func(ctx context.Context, job *memory.Job) error) {
	s.t.Helper()
	ctx := s.t.Context()
	require.NoError(s.t, s.bank.Pass(ctx, memory.JobConfig{ID: "pass", Tenant: tenant, Redactor: redact.New(redact.Config{})},
		func(job *memory.Job) error { return f(ctx, job) }))
}

func (s *sample) put(tenant, ref, content string, tags ...string) (e memory.Entry) {
	s.t.Helper()
	s.pass(tenant, func(ctx context.Context, job *memory.Job) (err error) {
		e, err = job.Put(ctx, ref, memory.Draft{Content: content, Tags: tags})
		return err
	})
	return e
}

func newSample(t *testing.T) *sample {
	s := &sample{t: t, behind: 6*24*time.Hour + 30*time.Minute}
	ctx, store, log := t.Context(), inmem.New(), &events.Log{}
	ranker, err := recall.New(recall.Config{})
	require.NoError(t, err)
	s.bank, err = memory.New(store, memory.Config{Now: s.clock, Sink: log, WriteEvents: true, Ranker: halfNear{ranker}})
	require.NoError(t, err)
	engine, err := commitment.New(s.bank, commitment.Config{
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
		Predicate: func(string, string) bool { return true },
	})
	require.NoError(t, err)
	consolidator, err := consolidate.New(consolidate.Config{})
	require.NoError(t, err)

	var token memory.Token
	s.handler = &inspector.Handler{
		Bank: s.bank, Tenant: wire.Bearer(map[string]string{"a": "acme", "b": "other"}), Log: log, Waiting: store.Waiting,
		Commitments: engine.Commitments,
		Agents: func(context.Context, string) ([]inspector.Agent, error) {
			return []inspector.Agent{
				{ID: "acme.assistant", Persona: "Assistant", Needs: capability.Shape{LongTerm: true, Conversation: true}},
				{ID: "acme.archivist", Persona: "Archivist", Needs: capability.Shape{LongTerm: true}, Degraded: []capability.Dimension{capability.Write}},
				{ID: "acme.router", Persona: "Router", Needs: capability.Shape{Scratchpad: true}},
			}, nil
		},
		Runs: func(_ context.Context, tenant string) ([]inspector.Run, error) {
			if tenant != "acme" {
				return nil, nil
			}
			return []inspector.Run{{ID: s.run, Workflow: "mail.triage", Status: "running", StartedAt: s.clock().Add(-5 * 24 * time.Hour)}}, nil
		},
		Token: func(_ context.Context, tenant, id string) (memory.Token, error) {
			if tenant != "acme" || id != s.run {
				return "", memory.ErrNotFound
			}
			return token, nil
		},
	}
	s.handler.Model, err = capability.Derive(capability.Inputs{Bank: s.bank, Consolidator: consolidator, Commitments: engine})
	require.NoError(t, err)
	s.pass("acme", func(ctx context.Context, job *memory.Job) error {
		e, err := job.Put(ctx, home, memory.Draft{Content: "Ann asked to be called in the morning.", Subjects: []string{"ann"}})
		if err != nil {
			return err
		}
		_, err = job.Rewrite(ctx, home, memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "Ann takes calls before noon."}, Sources: []string{e.ID}}}})
		return err
	})
	arm := func(e memory.Entry, a commitment.Arm) {
		s.pass("acme", func(ctx context.Context, job *memory.Job) error {
			_, err := engine.Arm(ctx, job, commitment.Source{Ref: home, MemoryID: e.ID}, a)
			return err
		})
	}
	s.put("other", home, "Bob keeps his own notes here.")
	s.put("acme", home, "The office lease ends on 31 March 2028, with six months of notice.", "contract", "source:mail")
	report := s.put("acme", home, "Send Ann the quarterly report on the first Friday.", "intent")
	arm(report, commitment.Arm{At: s.clock().Add(30 * time.Hour)})
	arm(report, commitment.Arm{Every: 24 * time.Hour})
	arm(report, commitment.Arm{At: s.clock().Add(9 * 24 * time.Hour)})
	arm(report, commitment.Arm{Predicate: "ticket.closed"})
	short := s.put("acme", home, "Ann likes her mails short.", "preference")
	gone := s.put("acme", home, "The meeting room is booked until Tuesday.")
	arm(gone, commitment.Arm{At: s.clock().Add(3 * 24 * time.Hour)})
	lost := fmt.Sprintf(`{"format":1,"ref":%q,"memoryId":%q,"arm":{"at":%[3]q},"armedAt":%[3]q,"state":"given-up","endedAt":%[3]q,`+
		`"givenUp":{"instant":%[3]q,"tries":33}}`, home, report.ID, s.clock().Format(time.RFC3339))
	_, err = store.Apply(ctx, "acme", driver.Mutation{At: s.clock(), Documents: []driver.DocumentSwap{{Document: driver.Document{
		Scope: driver.Scope{Tenant: "acme"}, Kind: "commitment", Key: "cmt_lost", Value: []byte(lost),
	}}}})
	require.NoError(t, err)
	s.measure()
	s.later(2 * time.Hour)
	_, err = engine.Tick(ctx)
	require.NoError(t, err)

	run, err := s.bank.Start(ctx, memory.RunConfig{ID: "run-7QK2M4", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	s.run = run.ID()
	host := func(kind events.Type, payload string) events.Record {
		return events.Record{ID: string(kind), Tenant: "acme", RunID: s.run, Time: s.bank.Now(), Payload: events.HostPayload{Type: kind, JSON: []byte(payload)}}
	}
	require.NoError(t, log.Emit(ctx, host("run.started", `{"workflowId":"mail.triage"}`)))
	s.later(time.Second)
	for _, text := range []string{"Ann moved to the platform team in March.", "Platform reviews are on Thursdays at ten."} {
		_, err = run.Put(ctx, home, memory.Draft{Content: text, NodeID: "triage", AgentID: "acme.assistant", Tags: []string{"source:run"}})
		require.NoError(t, err)
	}
	token, err = run.Token(ctx)
	require.NoError(t, err)
	s.finish = func() {
		require.NoError(t, run.End(ctx))
		require.NoError(t, log.Emit(ctx, host("run.completed", `{}`)))
	}

	s.measure()
	s.later(24 * time.Hour)
	s.pass("acme", func(ctx context.Context, job *memory.Job) error {
		done, err := job.Rewrite(ctx, home, memory.Rewrite{
			Derive: []memory.Derived{{Draft: memory.Draft{Content: "Ann prefers short mails, without attachments.", Tags: []string{"preference"}}, Sources: []string{short.ID}}},
		})
		if err != nil {
			return err
		}
		s.merged = done.Entries[0].ID
		_, err = job.Rewrite(ctx, home, memory.Rewrite{Retire: []memory.Retire{{ID: short.ID, State: memory.Merged, For: s.merged}}})
		if err == nil {
			_, err = job.Delete(ctx, home, gone.ID)
		}
		return err
	})
	for _, text := range []string{
		`<img src=x onerror="window.hit=1"> and <b>bold</b> &amp; <iframe src="https://example.com">`,
		`</script><script>window.hit=1</script>`, "a bell \a and a reversed \u202egnp.exe\u202c name", strings.Repeat("x", 64<<10),
	} {
		s.put("acme", hostile, text, "<i>tag</i>")
	}
	s.put("acme", "mem://acme/"+strings.Repeat("a-very-long-name-", 12), "A ref may be long.")
	for range 5 {
		s.measure()
		s.later(20 * time.Hour)
		_, err = engine.Tick(ctx)
		require.NoError(t, err)
	}
	s.put("acme", home, "The deploy of the platform runs at nine, after the review.", "ops")
	s.later(s.behind)
	s.measure()
	s.live = 2 + 6 + 4 + 1

	return s
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
