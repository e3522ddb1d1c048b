package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
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

// CTI-1: agents of two tenants over one memory share nothing, by any way; what a foreign id answers
// is what one answers that nobody has.
func TestM1_TenantsShareNothing(t *testing.T) {
	h := newHost(t, inmem.New())
	a := h.ask("acme", "run-1", "What is our number?", script(
		calls("c1", "memory_remember", "content", "Our number is 4711.", "subjects", []string{"x"}), says("It is 4711.")))
	require.NoError(t, a.err)
	id := remembered(t, a.results[0]).ID
	for _, tenant := range []string{"globex", "Acme", "acme ", "acm", "acme/notes", "%"} {
		m := script(calls("c1", "memory_recall", "query", "our number 4711"), calls("c2", "memory_delete", "id", id),
			calls("c3", "memory_delete", "id", "mem_none"), says("I do not know."))
		g := h.ask(tenant, "run-1", "What is our number?", m)
		require.NoError(t, g.err)
		assert.Equal(t, []string{`{"hits":[]}`, `{"deleted":false}`, `{"deleted":false}`}, g.results)
		for _, messages := range m.seen {
			assert.NotContains(t, fmt.Sprint(messages), "Our number is 4711")
		}
		ctx, run := h.with(tenant, "run-2")
		docs, err := h.mem.Retriever().Retrieve(ctx, "number 4711")
		require.NoError(t, err)
		for _, d := range docs {
			assert.NotContains(t, d.Content, "Our number is 4711")
		}
		require.NoError(t, run.End(ctx))
	}
	assert.Contains(t, h.texts("acme"), "Our number is 4711.")

	// Another ref of the same tenant is another scope.
	cfg := h.cfg
	cfg.Ref = "other"
	h.configure(cfg)
	m := script(says("I do not know."))
	require.NoError(t, h.ask("acme", "run-3", "What is our number?", m).err)
	assert.NotContains(t, m.last(), "4711")
}

// CTI-1, with -race: agents of two tenants work at the same time, each with parallel calls of tools, and
// each sees its own.
func TestM1_ConcurrentAgentsOfTwoTenants(t *testing.T) {
	h := newHost(t, inmem.New())
	var wg sync.WaitGroup
	for n := range 12 {
		tenant := []string{"acme", "globex"}[n%2]
		wg.Go(func() {
			id := fmt.Sprintf("run-%d", n)
			m := script(
				func([]*schema.Message) *schema.Message {
					var all []schema.ToolCall
					for k := range 4 {
						all = append(all, calls(fmt.Sprint("w", k), "memory_remember", "content", fmt.Sprintf("Tea %d of %s, note %d.", k, tenant, n))(nil).ToolCalls...)
					}
					return schema.AssistantMessage("", all)
				},
				calls("r", "memory_recall", "query", "tea", "limit", 100),
				says("Done with "+tenant))
			out := h.ask(tenant, id, "What tea has "+tenant+"?", m)
			assert.NoError(t, out.err)
			for k := range 4 {
				assert.Contains(t, out.results[4], fmt.Sprintf("Tea %d of %s, note %d.", k, tenant, n), "own writes, all of them")
			}
			other := map[string]string{"acme": "globex", "globex": "acme"}[tenant]
			for _, messages := range m.seen {
				assert.NotContains(t, fmt.Sprint(messages), other)
			}
		})
	}
	wg.Wait()
	for _, tenant := range []string{"acme", "globex"} {
		assert.Len(t, h.texts(tenant), 6*5)
	}
}

// SR-1: secrets are in nothing that is stored, recalled or compared, in whatever form.
func TestM3_SecretsAreTakenOut(t *testing.T) {
	store := inmem.New()
	h := newHost(t, store)
	escaped, err := json.Marshal(secret)
	require.NoError(t, err)
	out := h.ask("acme", "run-1", "What about the key "+secret+"?", script(
		calls("c1", "memory_remember", "content", "The key is "+secret, "tags", []string{"t " + secret}),
		calls("c2", "memory_remember", "content", "As JSON: "+string(escaped)+", in hex 736b2d766572792d7365637265742d76616c7565."),
		calls("c3", "memory_recall", "query", "which key, "+secret+"?"),
		says("It is "+secret+".")))
	require.NoError(t, out.err)
	e := remembered(t, out.results[0])
	assert.Equal(t, "The key is [REDACTED:key]", e.Content)
	assert.Equal(t, []string{"t [REDACTED:key]"}, e.Tags)
	assert.Contains(t, out.results[2], "The key is [REDACTED:key]")
	assert.Contains(t, h.texts("acme"), "Asked: What about the key [REDACTED:key]?\nAnswered: It is [REDACTED:key].")
	for _, text := range h.texts("acme") {
		assert.NotContains(t, text, secret)
		assert.NotContains(t, text, "736b2d76")
	}
	assert.NotContains(t, fmt.Sprint(out.results), secret)

	// Under no circumstances does a closed registry let something through.
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
	require.Len(t, h.texts("acme"), 1)
	assert.NotContains(t, h.texts("acme")[0], "BYOK")
	assert.NotContains(t, h.texts("acme")[0], "<REDACTED")
}

// TTL: an entry is gone at its instant, by every way, also for a run that began before.
func TestM4_EntriesExpire(t *testing.T) {
	h := newHost(t, inmem.New())
	at := h.now.Add(time.Second).Format(time.RFC3339)
	out := h.ask("acme", "run-1", "Keep it.", script(calls("c1", "memory_remember", "content", "The code is 99.", "expires_at", at), says("Kept.")))
	require.NoError(t, out.err)
	assert.Contains(t, out.results[0], at)
	id := remembered(t, out.results[0]).ID
	m := script(
		calls("c1", "memory_recall", "query", "code"),
		func(messages []*schema.Message) *schema.Message {
			h.pass(time.Second)
			return calls("c2", "memory_recall", "query", "code")(messages)
		},
		calls("c3", "memory_delete", "id", id),
		says("I have seen no code."))
	out = h.ask("acme", "run-2", "Which code?", m)
	require.NoError(t, out.err)
	assert.Contains(t, out.results[0], "The code is 99.")
	assert.Equal(t, []string{`{"hits":[]}`, `{"deleted":false}`}, out.results[1:])
	assert.Contains(t, m.block(1), "99")
	assert.NotContains(t, m.block(2), "99", "not in the prompt either")
	for _, text := range h.texts("acme") {
		assert.NotContains(t, text, "99")
	}
}

// M4 and M10: an answer lives no longer than what it was made from, is about whatever that is about, and is
// not remembered if one of those has ended while the model was thinking.
func TestM10_AnAnswerGoesWithItsSources(t *testing.T) {
	meanwhile := func(end func(h *host, id string)) (*host, *scripted) {
		h := newHost(t, inmem.New())
		e := h.put("acme", memory.Draft{Content: "Ann takes 5 mg of Tazorin.", Subjects: []string{"person:ann"}, TTL: time.Hour})
		h.put("acme", memory.Draft{Content: "Bob likes tea.", Subjects: []string{"person:bob"}})
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
	require.Contains(t, h.texts("acme"), answer)
	_, err := h.Forget(t.Context(), "acme", "person:bob")
	require.NoError(t, err)
	require.Contains(t, h.texts("acme"), answer, "it was not made from that")
	_, err = h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.texts("acme"))

	// The host's own end counts if it is the earlier one.
	for ttl, lives := range map[time.Duration]time.Duration{time.Minute: time.Minute, 2 * time.Hour: time.Hour, 0: time.Hour} {
		h = newHost(t, inmem.New())
		h.put("acme", memory.Draft{Content: "Ann takes 5 mg of Tazorin.", TTL: time.Hour})
		h.cfg.Draft = func(_ context.Context, _, answer string) memory.Draft { return memory.Draft{Content: answer, TTL: ttl} }
		h.configure(h.cfg)
		require.NoError(t, h.ask("acme", "run-1", "What of Tazorin?", script(says("Yes."))).err)
		h.pass(lives - time.Millisecond)
		require.Contains(t, h.texts("acme"), "Yes.")
		h.pass(time.Millisecond)
		require.NotContains(t, h.texts("acme"), "Yes.")
	}

	h, _ = meanwhile(func(*host, string) {})
	h.pass(time.Hour)
	assert.Equal(t, []string{"Bob likes tea."}, h.texts("acme"))

	h, _ = meanwhile(func(h *host, _ string) { h.pass(time.Hour) })
	assert.Equal(t, []string{"Bob likes tea."}, h.texts("acme"))

	h, _ = meanwhile(func(h *host, _ string) {
		_, err := h.Forget(context.Background(), "acme", "person:ann")
		require.NoError(t, err)
	})
	assert.Equal(t, []string{"Bob likes tea."}, h.texts("acme"))

	// The same for what a tool or a Retriever has shown, and for what the run itself deletes.
	h = newHost(t, inmem.New())
	e := h.put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	m := script(calls("c1", "memory_recall", "query", "Tazorin"), says("Yes."))
	require.NoError(t, h.ask("acme", "run-1", "Is it known?", m).err)
	assert.Empty(t, m.block(0))
	m = script(calls("c1", "memory_recall", "query", "Tazorin"), calls("c2", "memory_delete", "id", e.ID), says("She takes none."))
	require.NoError(t, h.ask("acme", "run-2", "Delete that.", m).err)
	assert.Equal(t, []string{"Asked: Is it known?\nAnswered: Yes."}, h.texts("acme"))
	_, err = h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.texts("acme"))
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
		h.put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
		ctx, cancel := context.WithCancel(t.Context())
		ctx, run := eino.WithRun(ctx, h.Bank, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets(t)})
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
		assert.Empty(t, h.texts("acme"))
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
	h.put("acme", memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	h.tools = []tool.BaseTool{searches{h.mem}}
	require.NoError(t, h.ask("acme", "run-1", "Is it known?", script(calls("c1", "search"), says("Yes."))).err)
	require.Len(t, h.texts("acme"), 2)
	_, err := h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Empty(t, h.texts("acme"))
}

// Idempotence: what is repeated under the run's id is written once, comes back as it was, and does not revive
// what was deleted; another call, another run and other words are other entries.
func TestM8_ARepeatedRunWritesOnce(t *testing.T) {
	h := newHost(t, inmem.New())
	again := func(id, call, content string) turn {
		h.pass(time.Second)
		out := h.ask("acme", id, "Keep it.", script(calls(call, "memory_remember", "content", content, "tags", []string{"b", "a"}), says("Kept.")))
		require.NoError(t, out.err)
		return out
	}
	first := again("run-1", "c1", "Tea.")
	for range 3 {
		assert.Equal(t, first.results, again("run-1", "c1", "Tea.").results)
	}
	assert.Len(t, h.texts("acme"), 2, "the entry and the answer")
	again("run-1", "c2", "Tea.")
	again("run-1", "c1", "Coffee.")
	assert.Len(t, h.texts("acme"), 4)
	again("run-2", "c1", "Tea.")
	assert.Len(t, h.texts("acme"), 6)
	again("run-2", "", "Tea.")
	again("run-2", "", "Tea.")
	assert.Len(t, h.texts("acme"), 8, "a call without an id cannot be told from another")

	out := h.ask("acme", "run-3", "Delete it.", script(calls("d", "memory_delete", "id", remembered(t, first.results[0]).ID), says("")))
	require.NoError(t, out.err)
	require.Equal(t, []string{`{"deleted":true}`}, out.results)
	assert.Len(t, h.texts("acme"), 7)
	assert.Contains(t, again("run-1", "c1", "Tea.").results[0], `"error"`)
	assert.Len(t, h.texts("acme"), 7, "it stays deleted")

	h = newHost(t, inmem.New())
	h.configure(eino.Config{Ref: ref, RecallTokens: 1000})
	mortal := script(calls("c1", "memory_remember", "content", "Tea.", "expires_at", h.now.Add(time.Second).Format(time.RFC3339)), says("Kept."))
	require.NoError(t, h.ask("acme", "run-1", "Keep it.", mortal).err)
	require.Len(t, h.texts("acme"), 1)
	h.pass(time.Second)
	mortal.seen = nil
	out = h.ask("acme", "run-1", "Keep it.", mortal)
	require.NoError(t, out.err)
	assert.Contains(t, out.results[0], `"error"`)
	assert.Empty(t, h.texts("acme"), "what has expired does not come back")
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
	assert.Empty(t, h.texts("acme"), "it stays deleted")
	again("run-2")
	assert.Equal(t, []string{"Yes."}, h.texts("acme"))
}

// What a model says beside a call of a tool is no answer.
func TestOnlyFinalAnswersAreRemembered(t *testing.T) {
	h := newHost(t, inmem.New())
	require.NoError(t, h.ask("acme", "run-1", "Where is tea?", script(func([]*schema.Message) *schema.Message {
		return schema.AssistantMessage("Let me look.", calls("c1", "memory_recall", "query", "tea")(nil).ToolCalls)
	}, says("I do not know."))).err)
	assert.Equal(t, []string{"Asked: Where is tea?\nAnswered: I do not know."}, h.texts("acme"))
}

// M6: a run sees memory as it was at its start and its own changes, and what it was told is gone stays gone.
func TestM6_AViewDoesNotMove(t *testing.T) {
	h := newHost(t, inmem.New())
	h.configure(eino.Config{Ref: ref, RecallTokens: 1000})
	old := h.put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	m := script(
		func(messages []*schema.Message) *schema.Message {
			h.put("acme", memory.Draft{Content: "Tea is in the garden."})
			return calls("c1", "memory_recall", "query", "where is tea")(messages)
		},
		calls("c2", "memory_remember", "content", "Tea is on the roof."),
		calls("c3", "memory_recall", "query", "where is tea"),
		calls("c4", "memory_delete", "id", old.ID),
		calls("c5", "memory_recall", "query", "where is tea"),
		calls("c6", "memory_delete", "id", old.ID),
		func(messages []*schema.Message) *schema.Message {
			var e struct{ ID string }
			for _, msg := range messages {
				if msg.ToolCallID == "c2" {
					_ = json.Unmarshal([]byte(msg.Content), &e)
				}
			}
			return calls("c7", "memory_delete", "id", e.ID)(messages)
		},
		calls("c8", "memory_recall", "query", "where is tea"),
		says("Nowhere."))
	out := h.ask("acme", "run-1", "Where is tea?", m)
	require.NoError(t, out.err)
	places := func(result string) (found []string) {
		for _, place := range []string{"kitchen", "garden", "roof"} {
			if strings.Contains(result, place) {
				found = append(found, place)
			}
		}
		return found
	}
	assert.Equal(t, []string{"kitchen"}, places(out.results[0]))
	assert.Equal(t, []string{"kitchen", "roof"}, places(out.results[2]))
	assert.Equal(t, `{"deleted":true}`, out.results[3])
	assert.Equal(t, []string{"roof"}, places(out.results[4]))
	assert.Equal(t, `{"deleted":false}`, out.results[5])
	assert.Equal(t, `{"deleted":true}`, out.results[6])
	assert.Equal(t, `{"hits":[]}`, out.results[7])
	assert.Equal(t, []string{"kitchen", "roof"}, places(m.block(3)))
	assert.Equal(t, []string{"roof"}, places(m.block(4)), "nor in the prompt")
	assert.Empty(t, m.block(8))
	assert.Equal(t, []string{"Tea is in the garden."}, h.texts("acme"))
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
	h.put("acme", memory.Draft{Content: "Tea is in the kitchen."})
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
	assert.Equal(t, []string{"Tea is in the kitchen."}, h.texts("acme"))
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
	assert.Equal(t, []string{"Tea."}, h.texts("acme"))
	for _, each := range h.mem.Middleware().AdditionalTools {
		_, err := each.(tool.InvokableTool).InvokableRun(ctx, `{"query":"tea","id":"x","content":"x"}`)
		assert.ErrorIs(t, err, context.Canceled, "it is not told to a model")
	}
}
