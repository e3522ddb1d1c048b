package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// remembered is the entry that a call of memory_remember has returned.
func remembered(t *testing.T, result string) (e struct {
	ID, Content string
	Tags        []string
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(result), &e))
	require.NotEmpty(t, e.ID, result)
	return e
}

// TestLaws runs the suite of all bridges: a session is one run, whose agents call the tools. What they say to a question is
// what the model finds in its prompt and by memory_recall, and what the Retriever finds.
func TestLaws(t *testing.T) {
	bridgetest.Run(t, bridgetest.Bridge{Store: sqliteStore, Open: func(t *testing.T, bank *bridgetest.Host, tenant, name string) bridgetest.Session {
		h := on(t, bank)
		h.configure(eino.Config{Ref: ref, RecallTokens: 10_000})
		ctx, _ := h.with(tenant, name)
		call := func(question string, step func([]*schema.Message) *schema.Message) (result string, m *scripted) {
			m = script(step, says("Done."))
			out := follow(t, h.runner(m).Query(ctx, question))
			require.NoError(t, out.err)
			require.Len(t, out.results, 1)
			return out.results[0], m
		}
		return bridgetest.Session{
			Remember: func(f bridgetest.Fact) string {
				pairs := []any{"content", f.Text, "subjects", f.Subjects}
				if !f.ExpiresAt.IsZero() {
					pairs = append(pairs, "expires_at", f.ExpiresAt.Format(time.RFC3339Nano))
				}
				result, _ := call("Keep it.", calls(f.Text, "memory_remember", pairs...))
				return remembered(t, result).ID
			},
			Recall: func(question string) string {
				result, m := call(question, calls("c", "memory_recall", "query", question))
				docs, err := h.mem.Retriever().Retrieve(ctx, question)
				require.NoError(t, err)
				for _, d := range docs {
					result += d.Content
				}
				return result + m.block(0) + m.block(1)
			},
			Delete: func(id string) bool {
				result, _ := call("Delete it.", calls("c", "memory_delete", "id", id))
				return result == `{"deleted":true}`
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

// Another ref of the same tenant is another scope.
func TestM1_AnotherRefIsAnotherScope(t *testing.T) {
	h := newHost(t, inmem.New())
	h.Put("acme", memory.Draft{Content: "Our number is 4711."})
	h.cfg.Ref = "other"
	h.configure(h.cfg)
	m := script(says("I do not know."))
	require.NoError(t, h.ask("acme", "run-3", "What is our number?", m).err)
	assert.NotContains(t, m.last(), "4711")
}

// One message may call a tool several times at once, and the run sees all that they have written.
func TestParallelCallsOfATool(t *testing.T) {
	h := newHost(t, inmem.New())
	out := h.ask("acme", "run-1", "What tea is there?", script(
		func([]*schema.Message) *schema.Message {
			var all []schema.ToolCall
			for k := range 4 {
				all = append(all, calls(fmt.Sprint("w", k), "memory_remember", "content", fmt.Sprintf("Tea %d.", k))(nil).ToolCalls...)
			}
			return schema.AssistantMessage("", all)
		},
		calls("r", "memory_recall", "query", "tea"), says("Done.")))
	require.NoError(t, out.err)
	for k := range 4 {
		assert.Contains(t, out.results[4], fmt.Sprintf("Tea %d.", k))
	}
}

// SR-1: neither tags nor answers hold a secret, and a run whose registry is closed answers nothing.
func TestM3_SecretsAreTakenOutOfTagsAndAnswers(t *testing.T) {
	h := newHost(t, inmem.New())
	out := h.ask("acme", "run-1", "What about the key "+secret+"?", script(
		calls("c1", "memory_remember", "content", "The key is "+secret, "tags", []string{"t " + secret}), says("It is "+secret+".")))
	require.NoError(t, out.err)
	assert.Equal(t, []string{"t [REDACTED:key]"}, remembered(t, out.results[0]).Tags)
	assert.Contains(t, h.Texts("acme"), "Asked: What about the key [REDACTED:key]?\nAnswered: It is [REDACTED:key].")
	ctx, run := h.with("acme", "run-2")
	opened, err := run.Open(ctx)
	require.NoError(t, err)
	require.NoError(t, opened.End(ctx))
	assert.ErrorIs(t, follow(t, h.runner(script(says(secret))).Query(ctx, "key")).err, memory.ErrEnded)
}

// R5: an answer counts as derived text, out of which well-known shapes and markers of other systems are taken too.
func TestR5_AnAnswerIsDerivedText(t *testing.T) {
	h := newHost(t, inmem.New())
	require.NoError(t, h.ask("acme", "run-1", "Which key?", script(says("<REDACTED:abc> and [BYOK:openai]"))).err)
	require.Len(t, h.Texts("acme"), 1)
	assert.NotContains(t, h.Texts("acme")[0], "BYOK")
	assert.NotContains(t, h.Texts("acme")[0], "<REDACTED")
}

// M4 and M10: an answer lives no longer than what it was made from, is about the same subjects, and is
// not remembered if one of those has ended while the model was thinking.
func TestM10_AnAnswerGoesWithItsSources(t *testing.T) {
	meanwhile := func(end func(h *host, id string)) (*host, *scripted) {
		h := newHost(t, inmem.New())
		e := h.Put("acme", memory.Draft{Content: "Ann takes 5 mg of Tazorin.", Subjects: []string{"person:ann"}, TTL: time.Hour})
		h.Put("acme", memory.Draft{Content: "Bob likes tea.", Subjects: []string{"person:bob"}})
		m := script(func([]*schema.Message) *schema.Message {
			end(h, e.ID)
			return schema.AssistantMessage("Ann takes Tazorin.", nil)
		})
		require.NoError(t, h.ask("acme", "run-1", "What does Ann take?", m).err)
		require.Contains(t, m.block(0), "Tazorin")
		return h, m
	}
	answer := "Asked: What does Ann take?\nAnswered: Ann takes Tazorin."

	h, _ := meanwhile(func(*host, string) {})
	require.Contains(t, h.Texts("acme"), answer)
	_, err := h.Forget(t.Context(), "acme", "person:bob")
	require.NoError(t, err)
	require.Contains(t, h.Texts("acme"), answer, "it was not made from that")
	_, err = h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.Texts("acme"))

	// The host's own end counts if it is the earlier one.
	for ttl, lives := range map[time.Duration]time.Duration{time.Minute: time.Minute, 2 * time.Hour: time.Hour, 0: time.Hour} {
		h = newHost(t, inmem.New())
		h.Put("acme", memory.Draft{Content: "Ann takes 5 mg of Tazorin.", TTL: time.Hour})
		h.cfg.Draft = func(_ context.Context, _, answer string) memory.Draft { return memory.Draft{Content: answer, TTL: ttl} }
		h.configure(h.cfg)
		require.NoError(t, h.ask("acme", "run-1", "What of Tazorin?", script(says("Yes."))).err)
		h.Advance(lives - time.Millisecond)
		require.Contains(t, h.Texts("acme"), "Yes.")
		h.Advance(time.Millisecond)
		require.NotContains(t, h.Texts("acme"), "Yes.")
	}

	h, _ = meanwhile(func(*host, string) {})
	h.Advance(time.Hour)
	assert.Equal(t, []string{"Bob likes tea."}, h.Texts("acme"))

	h, _ = meanwhile(func(h *host, _ string) { h.Advance(time.Hour) })
	assert.Equal(t, []string{"Bob likes tea."}, h.Texts("acme"))

	h, _ = meanwhile(func(h *host, _ string) {
		_, err := h.Forget(context.Background(), "acme", "person:ann")
		require.NoError(t, err)
	})
	assert.Equal(t, []string{"Bob likes tea."}, h.Texts("acme"))

	// The same for what a tool or a Retriever has shown, and for what the run itself deletes.
	h = newHost(t, inmem.New())
	e := h.Put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	m := script(calls("c1", "memory_recall", "query", "Tazorin"), says("Yes."))
	require.NoError(t, h.ask("acme", "run-1", "Is it known?", m).err)
	assert.Empty(t, m.block(0))
	m = script(calls("c1", "memory_recall", "query", "Tazorin"), calls("c2", "memory_delete", "id", e.ID), says("She takes none."))
	require.NoError(t, h.ask("acme", "run-2", "Delete that.", m).err)
	assert.Equal(t, []string{"Asked: Is it known?\nAnswered: Yes."}, h.Texts("acme"))
	_, err = h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.Texts("acme"))
}

// interrupting is a store that does something else before and after its next write.
type interrupting struct {
	driver.Versioned
	mu            sync.Mutex
	before, after func()
}

func (s *interrupting) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	s.mu.Lock()
	before, after := s.before, s.after
	s.before, s.after = nil, nil
	s.mu.Unlock()
	if before != nil {
		before()
		defer after()
	}
	return s.Versioned.Apply(ctx, tenant, m)
}

// An answer whose source is forgotten while it is being written is in no version, whether its agent was cancelled or not; and the
// run goes on with its secrets.
func TestM10_AnAnswerIsNotWrittenAfterAForgetting(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		store := &interrupting{Versioned: inmem.New()}
		h := newHost(t, store)
		h.Put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
		ctx, cancel := context.WithCancel(t.Context())
		ctx, run := eino.WithRun(ctx, h.Bank, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: bridgetest.Secrets(t)})
		m := script(func([]*schema.Message) *schema.Message {
			store.before = func() {
				_, err := h.Forget(context.Background(), "acme", "person:ann")
				require.NoError(t, err)
			}
			store.after = func() {
				if cancelled {
					cancel()
				}
			}
			return schema.AssistantMessage("Ann takes Tazorin.", nil)
		})
		out := follow(t, h.runner(m).Query(ctx, "What does Ann take?"))
		assert.Equal(t, cancelled, out.err != nil, "%v", out.err)
		assert.Empty(t, h.Texts("acme"))
		open, err := run.Open(t.Context())
		require.NoError(t, err)
		for _, err := range open.Scan(t.Context(), ref) {
			require.NoError(t, err)
			t.Error("the run's own view has an entry")
		}
		e, err := open.Put(t.Context(), ref, memory.Draft{Content: "It is " + secret})
		require.NoError(t, err)
		assert.NotContains(t, e.Content, secret)
		cancel()
	}
}

// searches is a tool of a host that asks the Retriever.
type searches struct{ mem *eino.Memory }

func (searches) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "search", Desc: "searches"}, nil
}

func (s searches) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	docs, err := s.mem.Retriever().Retrieve(ctx, "Tazorin")
	if err != nil || len(docs) != 1 {
		return "", fmt.Errorf("%d documents, %w", len(docs), err)
	}
	return docs[0].Content, nil
}

func TestM10_AnAnswerGoesWithWhatARetrieverFound(t *testing.T) {
	h := newHost(t, inmem.New())
	h.Put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	h.tools = []tool.BaseTool{searches{h.mem}}
	require.NoError(t, h.ask("acme", "run-1", "Is it known?", script(calls("c1", "search"), says("Yes."))).err)
	require.Len(t, h.Texts("acme"), 2)
	_, err := h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.Texts("acme"))
}

// Idempotence: what is repeated under the run's id is written once, comes back as it was, and does not revive
// what was deleted; another call, another run and other words are other entries.
func TestM8_ARepeatedRunWritesOnce(t *testing.T) {
	h := newHost(t, inmem.New())
	again := func(id, call, content string) turn {
		h.Advance(time.Second)
		out := h.ask("acme", id, "Keep it.", script(calls(call, "memory_remember", "content", content, "tags", []string{"b", "a"}), says("Kept.")))
		require.NoError(t, out.err)
		return out
	}
	first := again("run-1", "c1", "Tea.")
	for range 3 {
		assert.Equal(t, first.results, again("run-1", "c1", "Tea.").results)
	}
	assert.Len(t, h.Texts("acme"), 2, "the entry and the answer")
	again("run-1", "c2", "Tea.")
	again("run-1", "c1", "Coffee.")
	assert.Len(t, h.Texts("acme"), 4)
	again("run-2", "c1", "Tea.")
	assert.Len(t, h.Texts("acme"), 6)
	again("run-2", "", "Tea.")
	again("run-2", "", "Tea.")
	assert.Len(t, h.Texts("acme"), 8, "a call without an id cannot be told from another")

	out := h.ask("acme", "run-3", "Delete it.", script(calls("d", "memory_delete", "id", remembered(t, first.results[0]).ID), says("")))
	require.NoError(t, out.err)
	require.Equal(t, []string{`{"deleted":true}`}, out.results)
	assert.Len(t, h.Texts("acme"), 7)
	assert.Contains(t, again("run-1", "c1", "Tea.").results[0], `"error"`)
	assert.Len(t, h.Texts("acme"), 7, "it stays deleted")

	h = newHost(t, inmem.New())
	h.configure(eino.Config{Ref: ref, RecallTokens: 1000})
	mortal := script(calls("c1", "memory_remember", "content", "Tea.", "expires_at", h.Now().Add(time.Second).Format(time.RFC3339)), says("Kept."))
	require.NoError(t, h.ask("acme", "run-1", "Keep it.", mortal).err)
	require.Len(t, h.Texts("acme"), 1)
	h.Advance(time.Second)
	mortal.seen = nil
	out = h.ask("acme", "run-1", "Keep it.", mortal)
	require.NoError(t, out.err)
	assert.Contains(t, out.results[0], `"error"`)
	assert.Empty(t, h.Texts("acme"), "what has expired does not come back")
}

// An answer that is repeated under the run's id is written once, also if it was deleted since or would get other tags now.
func TestM8_ARepeatedAnswerIsWrittenOnce(t *testing.T) {
	h := newHost(t, inmem.New())
	tag := "a"
	h.cfg.Draft = func(_ context.Context, _, answer string) memory.Draft {
		return memory.Draft{Content: answer, Tags: []string{tag}}
	}
	h.configure(h.cfg)
	again := func(id string) {
		t.Helper()
		require.NoError(t, h.ask("acme", id, "Go on.", script(says("Yes."))).err)
	}
	again("run-1")
	again("run-1")
	tag = "b"
	again("run-1")
	entries, err := h.Reader("acme").List(t.Context(), ref, memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, []string{"a"}, entries[0].Tags)
	require.NoError(t, h.Pass(t.Context(), memory.JobConfig{ID: "clean", Tenant: "acme", Redactor: redact.New(redact.Config{})}, func(j *memory.Job) error {
		_, err := j.Delete(t.Context(), ref, entries[0].ID)
		return err
	}))
	tag = "a"
	again("run-1")
	assert.Empty(t, h.Texts("acme"), "it stays deleted")
	again("run-2")
	assert.Equal(t, []string{"Yes."}, h.Texts("acme"))
}

// What a model says beside a call of a tool is no answer.
func TestOnlyFinalAnswersAreRemembered(t *testing.T) {
	h := newHost(t, inmem.New())
	require.NoError(t, h.ask("acme", "run-1", "Where is tea?", script(func([]*schema.Message) *schema.Message {
		return schema.AssistantMessage("Let me look.", calls("c1", "memory_recall", "query", "tea")(nil).ToolCalls)
	}, says("I do not know."))).err)
	assert.Equal(t, []string{"Asked: Where is tea?\nAnswered: I do not know."}, h.Texts("acme"))
}

// broken is a store that fails when it is told to.
type broken struct {
	driver.Versioned
	mu           sync.Mutex
	reads, wrote error
}

func (b *broken) set(reads, writes error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads, b.wrote = reads, writes
}

func (b *broken) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	b.mu.Lock()
	err := b.reads
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return b.Versioned.List(ctx, s, q)
}

func (b *broken) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	b.mu.Lock()
	err := b.wrote
	b.mu.Unlock()
	if err != nil {
		return driver.Applied{}, err
	}
	return b.Versioned.Apply(ctx, tenant, m)
}

// M2: a store that fails is told of in words of ours, and none of its own reaches a model or an event.
func TestM2_AFailingStore(t *testing.T) {
	store := &broken{Versioned: inmem.New()}
	h := newHost(t, store)
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	fault := errors.New("disk of acme at /var is full of Tea")

	store.set(fault, nil)
	out := h.ask("acme", "run-1", "Where is tea?", script(says("x")))
	assert.ErrorIs(t, out.err, memory.ErrInternal, "an agent does not begin without what it should know")
	assert.NotContains(t, out.err.Error(), "/var")
	assert.Empty(t, out.answer)

	store.set(nil, fault)
	out = h.ask("acme", "run-2", "Where is tea?", script(calls("c1", "memory_remember", "content", "Tea."), says("In the kitchen.")))
	require.Len(t, out.results, 1)
	assert.Equal(t, `{"error":"memory is not available; nothing was changed"}`, out.results[0])
	assert.Equal(t, "In the kitchen.", out.answer, "the answer is given")
	assert.ErrorIs(t, out.err, memory.ErrInternal, "and the host is told that it was not remembered")
	assert.NotContains(t, out.err.Error(), "/var")

	store.set(nil, nil)
	assert.Equal(t, []string{"Tea is in the kitchen."}, h.Texts("acme"))
}

// A cancelled agent ends, and what was acknowledged before is there.
func TestACancelledAgent(t *testing.T) {
	h := newHost(t, inmem.New())
	ctx, cancel := context.WithCancel(t.Context())
	ctx, _ = eino.WithRun(ctx, h.Bank, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	out := follow(t, h.runner(script(
		calls("c1", "memory_remember", "content", "Tea."),
		func(messages []*schema.Message) *schema.Message {
			cancel()
			return calls("c2", "memory_remember", "content", "Coffee.")(messages)
		},
		says("Done."))).Query(ctx, "Go on."))
	assert.ErrorIs(t, out.err, context.Canceled)
	assert.Equal(t, []string{"Tea."}, h.Texts("acme"))
	for _, each := range h.mem.Middleware().AdditionalTools {
		_, err := each.(tool.InvokableTool).InvokableRun(ctx, `{"query":"tea","id":"x","content":"x"}`)
		assert.ErrorIs(t, err, context.Canceled, "it is not told to a model")
	}
}
