package adk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	adkmemory "google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/loadmemorytool"
	"google.golang.org/genai"

	"github.com/openwop/agentmemory/bridges/adk"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// scripted is a model in the process: the step of each call says what it answers.
type scripted struct {
	steps []func(prompt string) *genai.Content
	mu    sync.Mutex
	seen  []string // prompts
}

func (s *scripted) Name() string { return "scripted" }

func (s *scripted) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		prompt := ""
		for _, c := range req.Contents {
			for _, p := range c.Parts {
				prompt += p.Text + "\n"
				if p.FunctionResponse != nil {
					result, _ := json.Marshal(p.FunctionResponse.Response)
					prompt += fmt.Sprintf("result: %s\n", result)
				}
			}
		}
		s.mu.Lock()
		n := len(s.seen)
		s.seen = append(s.seen, prompt)
		s.mu.Unlock()
		yield(&model.LLMResponse{Content: s.steps[n](prompt), TurnComplete: true}, nil)
	}
}

func says(text string) func(string) *genai.Content {
	return func(string) *genai.Content { return genai.NewContentFromText(text, genai.RoleModel) }
}

func calls(name string, args map[string]any) func(string) *genai.Content {
	return func(string) *genai.Content { return genai.NewContentFromFunctionCall(name, args, genai.RoleModel) }
}

func script(steps ...func(string) *genai.Content) *scripted { return &scripted{steps: steps} }

// host is a bank with agents: a user's name is the tenant.
type host struct {
	*bridgetest.Host
	t        testing.TB
	cfg      adk.Config
	mem      *adk.Memory
	sessions session.Service
}

func newHost(t testing.TB) *host { return on(t, bridgetest.NewHost(t, inmem.New())) }

func on(t testing.TB, bank *bridgetest.Host) *host {
	h := &host{Host: bank, t: t, sessions: session.InMemoryService()}
	h.configure(adk.Config{Bank: bank.Bank, RecallTokens: 10_000,
		Place: func(_, user string) adk.Place { return adk.Place{Tenant: user, Ref: bridgetest.Ref} },
		Secrets: func(context.Context, string, string, string) (memory.Redactor, error) {
			return bridgetest.Secrets(t), nil
		}})
	return h
}

func (h *host) configure(cfg adk.Config) {
	mem, err := adk.New(cfg)
	require.NoError(h.t, err)
	h.mem, h.cfg = mem, cfg
}

// ask runs one invocation, and returns its error if it has one.
func (h *host) ask(user, sessionID, question string, m *scripted) error {
	a, err := llmagent.New(llmagent.Config{Name: "assistant", Model: m, Tools: []tool.Tool{loadmemorytool.New(), h.mem.Tool()}})
	require.NoError(h.t, err)
	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: h.sessions, MemoryService: h.mem.Service(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{h.mem.Plugin()}}})
	require.NoError(h.t, err)
	for _, err := range r.Run(h.t.Context(), user, sessionID, genai.NewContentFromText(question, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// session returns a session, as it is held.
func (h *host) session(user, id string) session.Session {
	got, err := h.sessions.Get(h.t.Context(), &session.GetRequest{AppName: "app", UserID: user, SessionID: id})
	if err != nil {
		made, err := h.sessions.Create(h.t.Context(), &session.CreateRequest{AppName: "app", UserID: user, SessionID: id})
		require.NoError(h.t, err)
		return made.Session
	}
	return got.Session
}

func (h *host) add(user, id string) {
	h.t.Helper()
	require.NoError(h.t, h.mem.Service().AddSessionToMemory(h.t.Context(), h.session(user, id)))
}

func (h *host) search(user, query string) (said string) {
	found, err := h.mem.Service().SearchMemory(h.t.Context(), &adkmemory.SearchRequest{AppName: "app", UserID: user, Query: query})
	require.NoError(h.t, err)
	for _, e := range found.Memories {
		said += e.Content.Parts[0].Text + "\n"
	}
	return said
}

var asks atomic.Int64

// TestLaws runs the suite of all bridges: what is remembered is an event of an ADK session, each question is an invocation, and
// what it says is what the model is shown at first and by load_memory, and what the service finds.
func TestLaws(t *testing.T) {
	bridgetest.Run(t, bridgetest.Bridge{Store: sqliteStore, Without: map[string]string{"M6": "a view is that of one invocation, see TestM6_AnInvocationHasOneView"},
		Open: func(t *testing.T, bank *bridgetest.Host, tenant, id string) bridgetest.Session {
			h := on(t, bank)
			about := map[string]bridgetest.Fact{}
			h.cfg.Draft = func(e *session.Event, d memory.Draft) memory.Draft {
				f, ok := about[e.ID]
				if !ok {
					return memory.Draft{}
				}
				d.Subjects, d.ExpiresAt = append(d.Subjects, f.Subjects...), f.ExpiresAt
				return d
			}
			h.configure(h.cfg)
			return bridgetest.Session{
				Remember: func(f bridgetest.Fact) string {
					if _, again := about[f.Text]; !again {
						about[f.Text] = f
						e := session.NewEvent(t.Context(), "invocation")
						e.ID, e.Author, e.Content = f.Text, "user", genai.NewContentFromText(f.Text, genai.RoleUser)
						require.NoError(t, h.sessions.AppendEvent(t.Context(), h.session(tenant, id), e))
					}
					h.add(tenant, id)
					return h.Entries(tenant)[0].ID
				},
				Recall: func(question string) string {
					m := script(calls("load_memory", map[string]any{"query": question}), says("I see."))
					require.NoError(t, h.ask(tenant, fmt.Sprint("asks-", asks.Add(1)), question, m)) // ADK's history has earlier results
					return strings.ReplaceAll(strings.Join(m.seen, "\n"), question, "") + h.search(tenant, question)
				},
				Delete: func(entry string) bool {
					m := script(calls("forget_memory", map[string]any{"id": entry}), says("Done."))
					require.NoError(t, h.ask(tenant, id+" deletes", "Delete it.", m))
					return strings.Contains(m.seen[1], `"deleted":true`)
				},
			}
		}})
}

func sqliteStore(t *testing.T, file string) driver.Adapter {
	db, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db.Memory()
}

// What one session has said, the next one is told before its model answers, and its events hold nothing of that.
func TestAgentsRememberSessions(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.ask("acme", "s1", "Ann keeps the tea in the kitchen.", script(says("I have noted it."))))
	h.add("acme", "s1")
	m := script(says("In the kitchen."))
	require.NoError(t, h.ask("acme", "s2", "Where is the tea?", m))
	assert.Contains(t, m.seen[0], "Ann keeps the tea in the kitchen.")
	assert.Contains(t, m.seen[0], "never an instruction")
	assert.Less(t, strings.Index(m.seen[0], "</memory-"), strings.Index(m.seen[0], "Where is the tea?"), "before the question")
	for e := range h.session("acme", "s2").Events().All() {
		assert.NotContains(t, e.Content.Parts[0].Text, "<memory-")
	}
	h.add("acme", "s2")
	assert.ElementsMatch(t, []string{"Ann keeps the tea in the kitchen.", "I have noted it.", "Where is the tea?", "In the kitchen."}, h.Texts("acme"))
}

// ids is a redactor that keeps the ids of runs and passes, which are checked for secrets as all identifiers are.
type ids struct {
	memory.Redactor
	mu   sync.Mutex
	seen map[string]bool
}

func (r *ids) Redact(text string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(text, "adk") && !strings.HasPrefix(text, "adk event ") {
		r.seen[text] = true
	}
	return r.Redactor.Redact(text)
}

// E5: runs and passes have ids of their own, which both versions of the protocol take (identity.md §5).
func TestE5_RunsAndPassesHaveIDsOfTheProtocol(t *testing.T) {
	h, seen := newHost(t), map[string]bool{}
	h.cfg.Secrets = func(context.Context, string, string, string) (memory.Redactor, error) {
		return &ids{Redactor: bridgetest.Secrets(t), seen: seen}, nil
	}
	h.configure(h.cfg)
	require.NoError(t, h.ask("acme", "s1", "Ann keeps the tea in the kitchen.", script(says("I have noted it."))))
	h.add("acme", "s1")
	require.Len(t, seen, 2)
	for id := range seen {
		assert.Regexp(t, `^[A-Za-z0-9._~-]{16,128}$`, id)
	}
}

// M6: an invocation sees memory as it was when it began, by the prompt and by load_memory, and what it was told is deleted
// stays gone.
func TestM6_AnInvocationHasOneView(t *testing.T) {
	h := newHost(t)
	old := h.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	load := calls("load_memory", map[string]any{"query": "where is tea"})
	m := script(
		func(prompt string) *genai.Content {
			h.Put("acme", memory.Draft{Content: "Tea is in the garden."})
			return load(prompt)
		},
		calls("forget_memory", map[string]any{"id": old.ID}),
		load,
		calls("forget_memory", map[string]any{"id": old.ID}),
		says("Nowhere."))
	require.NoError(t, h.ask("acme", "s", "Where is tea?", m))
	for n, prompt := range m.seen {
		assert.NotContains(t, prompt, "garden")
		block, _, _ := strings.Cut(prompt, "Where is tea?")
		assert.Equal(t, n < 2, strings.Contains(block, "kitchen"), "prompt %d", n)
	}
	assert.Contains(t, m.seen[1], "kitchen", "the tool has found it")
	results := strings.Split(m.seen[4], "result: ")
	require.Len(t, results, 5)
	assert.Contains(t, results[2], `"deleted":true`)
	assert.NotContains(t, results[3], "kitchen")
	assert.Contains(t, results[4], `"deleted":false`)
	assert.Equal(t, []string{"Tea is in the garden."}, h.Texts("acme"))
	m = script(says("In the garden."))
	require.NoError(t, h.ask("acme", "s", "Where is tea now?", m))
	assert.Contains(t, m.seen[0], "garden")
}

// M8: a session that is added again and again is stored once, and what was deleted does not come back.
func TestM8_ASessionIsAddedOnce(t *testing.T) {
	h := newHost(t)
	for n := range 3 {
		require.NoError(t, h.ask("acme", "s", fmt.Sprint("Note ", n), script(says("Noted."))))
		h.add("acme", "s")
		h.add("acme", "s")
		assert.Len(t, h.Texts("acme"), 2*(n+1))
	}
	err := h.Pass(t.Context(), memory.JobConfig{ID: "host", Tenant: "acme", Redactor: bridgetest.Secrets(t)}, func(j *memory.Job) error {
		_, err := j.Delete(t.Context(), bridgetest.Ref, h.Entries("acme")[0].ID)
		return err
	})
	require.NoError(t, err)
	h.add("acme", "s")
	assert.Len(t, h.Texts("acme"), 5)
	assert.Contains(t, h.Entries("acme")[0].Subjects, adk.Subject("s"))
	_, err = h.Forget(t.Context(), "acme", adk.Subject("s"))
	require.NoError(t, err)
	assert.Empty(t, h.Texts("acme"))
}

// M10: what a model has said goes with what it was shown, by the prompt or by load_memory.
func TestM10_AnAnswerGoesWithItsSources(t *testing.T) {
	for name, m := range map[string]*scripted{
		"What does Ann take?": script(says("Ann takes Tazorin.")),
		"What is known?":      script(calls("load_memory", map[string]any{"query": "Tazorin"}), says("Ann takes Tazorin.")),
	} {
		h := newHost(t)
		h.Put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}, TTL: time.Hour})
		require.NoError(t, h.ask("acme", "s", name, m))
		h.add("acme", "s")
		require.Len(t, h.Texts("acme"), 3)
		_, err := h.Forget(t.Context(), "acme", "person:ann")
		require.NoError(t, err)
		assert.Equal(t, []string{name}, h.Texts("acme"))

		// A session that is added after a source has ended keeps nothing that was made of it.
		h = newHost(t)
		h.Put("acme", memory.Draft{Content: "Ann takes Tazorin.", TTL: time.Hour})
		m.seen = nil
		require.NoError(t, h.ask("acme", "s", name, m))
		h.Advance(time.Hour)
		h.add("acme", "s")
		assert.Equal(t, []string{name}, h.Texts("acme"))
	}
}

// R5: what a model says counts as derived text. Thoughts, calls and results are not stored.
func TestR5_AnAnswerIsDerivedText(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.ask("acme", "s", "Which key?", script(func(string) *genai.Content {
		return &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "hidden thought", Thought: true}, {Text: "[BYOK:openai] and " + bridgetest.Secret}}}
	})))
	h.add("acme", "s")
	require.Len(t, h.Texts("acme"), 2)
	for _, text := range h.Texts("acme") {
		for _, word := range []string{"BYOK", "thought", bridgetest.Secret} {
			assert.NotContains(t, text, word)
		}
	}
}

// S5: what is preloaded, and what load_memory returns, is within the budget.
func TestS5_ARecallKeepsToItsBudget(t *testing.T) {
	h := newHost(t)
	for n := range 30 {
		h.Put("acme", memory.Draft{Content: fmt.Sprintf("Tea %d %sends here.", n, strings.Repeat("leaf ", n*n%37))})
	}
	fitted := 0
	for budget := 1; budget < 1500; budget = budget*2 + 1 {
		h.cfg.RecallTokens = budget
		h.configure(h.cfg)
		m := script(says("Yes."))
		require.NoError(t, h.ask("acme", "s", "What tea?", m))
		if notes, _, ok := strings.Cut(m.seen[len(m.seen)-1], ">\nWhat tea?"); ok && strings.Contains(notes, "<memory-") {
			assert.LessOrEqual(t, distill.Estimator{}.Count(notes[strings.LastIndex(notes, "Notes from"):]), budget)
			fitted++
		}
		assert.LessOrEqual(t, distill.Estimator{}.Count(h.search("acme", "tea")), budget)
	}
	assert.Positive(t, fitted)
}

// What cannot work is refused, and the error of an invocation holds nothing that was said.
func TestFailures(t *testing.T) {
	h := newHost(t)
	for _, cfg := range []adk.Config{{}, {Bank: h.Bank, Place: h.cfg.Place, RecallTokens: 1}, {Bank: h.Bank, Place: h.cfg.Place, Secrets: h.cfg.Secrets}} {
		_, err := adk.New(cfg)
		assert.Error(t, err)
	}
	var log bytes.Buffer
	h.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h.configure(h.cfg)
	require.NoError(t, h.ask("acme", "s", "hidden a\x00b", script(says(strings.Repeat("hidden ", memory.DefaultMaxEntryBytes)))))
	h.add("acme", "s")
	assert.Empty(t, h.Texts("acme"))
	assert.Contains(t, log.String(), "validation_error")
	assert.NotContains(t, log.String(), "hidden")
	assert.Empty(t, h.search("acme", " \n"))

	place := h.cfg.Place
	h.cfg.Place = func(string, string) adk.Place { return adk.Place{} }
	h.configure(h.cfg)
	assert.ErrorIs(t, h.ask("acme", "s", "hidden", script(says("x"))), memory.ErrValidation)
	h.cfg.Place = place
	h.cfg.Secrets = func(context.Context, string, string, string) (memory.Redactor, error) {
		return nil, errors.New("no vault")
	}
	h.configure(h.cfg)
	m := script(says("x"))
	assert.ErrorContains(t, h.ask("acme", "s", "hidden", m), "no vault")
	assert.Empty(t, m.seen, "no model is asked")
	assert.Error(t, h.mem.Service().AddSessionToMemory(t.Context(), h.session("acme", "s")))
	_, err := h.mem.Service().SearchMemory(t.Context(), &adkmemory.SearchRequest{UserID: "acme", Query: "tea"})
	assert.Error(t, err)
}

// The program of the README compiles.
func TestReadme(t *testing.T) { bridgetest.Readme(t) }
