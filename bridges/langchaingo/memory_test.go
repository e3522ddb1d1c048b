package langchaingo_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	lcmemory "github.com/tmc/langchaingo/memory"

	"github.com/openwop/agentmemory/bridges/langchaingo"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// model answers every prompt, which it keeps, by a function.
type model struct {
	prompts []string
	answer  func(prompt string) string
}

func (m *model) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	prompt := fmt.Sprint(messages[len(messages)-1].Parts[0])
	m.prompts = append(m.prompts, prompt)
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: m.answer(prompt)}}}, nil
}

func (m *model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

func says(text string) *model { return &model{answer: func(string) string { return text }} }

var budgets = langchaingo.Config{Ref: bridgetest.Ref, RecallTokens: 1000, RememberTokens: 500}

func open(t *testing.T, h *bridgetest.Host, tenant string, cfg langchaingo.Config) *langchaingo.Memory {
	mem, err := langchaingo.New(t.Context(), h.Bank, memory.RunConfig{ID: "run-" + rand.Text(), Tenant: tenant, Redactor: bridgetest.Secrets(t)}, cfg)
	require.NoError(t, err)
	return mem
}

// history is what a chain puts into its prompt.
func history(t *testing.T, mem *langchaingo.Memory, input string) string {
	t.Helper()
	values, err := mem.LoadMemoryVariables(t.Context(), map[string]any{"input": input})
	require.NoError(t, err)
	require.Len(t, values, 1)
	return values["history"].(string)
}

func save(t *testing.T, mem *langchaingo.Memory, input, output string) {
	t.Helper()
	require.NoError(t, mem.SaveContext(t.Context(), map[string]any{"input": input}, map[string]any{"text": output}))
}

// TestLaws runs the suite of all bridges: a session is one Memory.
func TestLaws(t *testing.T) {
	bridgetest.Run(t, bridgetest.Bridge{Open: func(t *testing.T, h *bridgetest.Host, tenant string) bridgetest.Session {
		var fact bridgetest.Fact
		cfg := budgets
		cfg.RecallTokens = 10_000
		cfg.Draft = func(_ context.Context, _, output string) memory.Draft {
			return memory.Draft{Content: output, Subjects: fact.Subjects, ExpiresAt: fact.ExpiresAt}
		}
		mem := open(t, h, tenant, cfg)
		return bridgetest.Session{
			Remember: func(f bridgetest.Fact) string {
				fact = f
				save(t, mem, "Keep it.", f.Text)
				return ""
			},
			Recall: func(question string) string { return history(t, mem, question) },
		}
	}})
}

// What one conversation has learned, the next one is told before its model answers.
func TestAChainRecallsAndRemembers(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	first := says("In the kitchen.")
	mem := open(t, h, "acme", budgets)
	answer, err := chains.Run(t.Context(), chains.NewConversation(first, mem), "Where does Ann keep the tea?")
	require.NoError(t, err)
	assert.Equal(t, "In the kitchen.", answer)
	assert.NotContains(t, first.prompts[0], "<memory-", "it knew nothing")
	require.NoError(t, mem.End(t.Context()))
	assert.Equal(t, []string{"Asked: Where does Ann keep the tea?\nAnswered: In the kitchen."}, h.Texts("acme"))

	second := says("Kitchen.")
	_, err = chains.Run(t.Context(), chains.NewConversation(second, open(t, h, "acme", budgets)), "Remind me: where is the tea?")
	require.NoError(t, err)
	assert.Contains(t, second.prompts[0], "Answered: In the kitchen.")
	assert.Contains(t, second.prompts[0], "never an instruction")
}

// S5: the history is within its budget, best first, and an entry is whole or absent.
func TestS5_ARecallKeepsToItsBudget(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	for n := range 30 {
		h.Put("acme", memory.Draft{Content: fmt.Sprintf("Note %d %sends here.", n, strings.Repeat("leaf ", n*n%37))})
		h.Advance(time.Second)
	}
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen, says note 31; it ends here."})
	for n := range 20 {
		h.Put("acme", memory.Draft{Content: fmt.Sprintf("Note %d ends here.", 40+n)})
	}
	fitted := 0
	for budget := 1; budget < 2000; budget = budget*3/2 + 1 {
		cfg := budgets
		cfg.RecallTokens = budget
		said := history(t, open(t, h, "acme", cfg), "Where is the tea?")
		assert.LessOrEqual(t, distill.Estimator{}.Count(said), budget)
		if said != "" {
			fitted++
			assert.Contains(t, said, "\n1 (2026-09-21): Tea is in the kitchen", "the best comes first, the newest after it")
			assert.Equal(t, strings.Count(said, "\n")-2, strings.Count(said, "ends here."), "%q", said)
		}
	}
	assert.Positive(t, fitted)
}

// M10: an exchange goes with what it was made from.
func TestM10_AnExchangeGoesWithItsSources(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	ann := memory.Draft{Content: "Ann takes Tazorin.", Subjects: []string{"person:ann"}, TTL: time.Hour}
	h.Put("acme", ann)
	mem := open(t, h, "acme", budgets)
	require.Contains(t, history(t, mem, "What does Ann take?"), "Tazorin")
	save(t, mem, "What does Ann take?", "Tazorin.")
	save(t, mem, "Is it late?", "No.")
	require.Len(t, h.Texts("acme"), 3)
	_, err := h.Forget(t.Context(), "acme", "person:ann")
	require.NoError(t, err)
	assert.Equal(t, []string{"Asked: Is it late?\nAnswered: No."}, h.Texts("acme"), "which was not made from it")

	// What has ended meanwhile, or ends later, takes the exchange along.
	h.Put("acme", ann)
	mem = open(t, h, "acme", budgets)
	history(t, mem, "What does Ann take?")
	save(t, mem, "What does Ann take?", "Tazorin.")
	history(t, mem, "Again?")
	h.Advance(time.Hour)
	assert.Len(t, h.Texts("acme"), 1)
	save(t, mem, "Again?", "Tazorin.")
	assert.Len(t, h.Texts("acme"), 1)
}

// R5: an exchange counts as derived text.
func TestR5_AnExchangeIsDerivedText(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	save(t, open(t, h, "acme", budgets), "Which key?", "<REDACTED:abc> and [BYOK:openai]")
	assert.NotContains(t, h.Texts("acme")[0], "BYOK")
}

// Clear leaves nothing of the ref, in the run and for others, and touches no other ref or tenant.
func TestClear(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	for n := range 150 {
		h.Put("acme", memory.Draft{Content: fmt.Sprint("Note ", n)})
	}
	h.Put("globex", memory.Draft{Content: "Note"})
	mem := open(t, h, "acme", budgets)
	save(t, mem, "A", "B")
	require.NotEmpty(t, history(t, mem, "note"))
	require.NoError(t, mem.Clear(t.Context()))
	assert.Empty(t, history(t, mem, "note"))
	assert.Empty(t, h.Texts("acme"))
	assert.Len(t, h.Texts("globex"), 1)
}

// Bad input is langchaingo's own kind of error, without a word of the input.
func TestBadInput(t *testing.T) {
	h := bridgetest.NewHost(t, inmem.New())
	var log bytes.Buffer
	cfg := budgets
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	mem := open(t, h, "acme", cfg)
	good := map[string]any{"x": "hidden words"}
	for _, bad := range []map[string]any{nil, {}, {"x": 7}, {"a": "hidden words", "b": "hidden words"}} {
		for _, err := range []error{mem.SaveContext(t.Context(), bad, good), mem.SaveContext(t.Context(), good, bad)} {
			require.ErrorIs(t, err, lcmemory.ErrInvalidInputValues)
			assert.NotContains(t, err.Error(), "hidden")
		}
		if len(bad) > 0 {
			_, err := mem.LoadMemoryVariables(t.Context(), bad)
			assert.ErrorIs(t, err, lcmemory.ErrInvalidInputValues)
		}
	}
	cfg.InputKey, cfg.OutputKey = "a", "b"
	keyed := open(t, h, "acme", cfg)
	two := map[string]any{"a": "asked", "b": "answered"}
	require.NoError(t, keyed.SaveContext(t.Context(), two, two))
	assert.Equal(t, []string{"Asked: asked\nAnswered: answered"}, h.Texts("acme"))

	save(t, mem, "hidden", "a\x00b")
	save(t, mem, "hidden", strings.Repeat("word ", 600))
	assert.Len(t, h.Texts("acme"), 1)
	assert.Contains(t, log.String(), "validation_error")
	assert.Contains(t, log.String(), "too long")
	assert.NotContains(t, log.String(), "hidden")
	assert.NotContains(t, history(t, mem, "a\x00\xff"), "\x00")

	require.NoError(t, mem.End(t.Context()))
	assert.ErrorIs(t, mem.SaveContext(t.Context(), good, good), memory.ErrEnded)
	_, err := mem.LoadMemoryVariables(t.Context(), good)
	assert.ErrorIs(t, err, memory.ErrEnded)
	assert.ErrorIs(t, mem.Clear(t.Context()), memory.ErrEnded)
	for _, bad := range []langchaingo.Config{{}, {Ref: "x"}, {RecallTokens: 1}, {Ref: "x", RecallTokens: 1, RememberTokens: -1}} {
		_, err := langchaingo.New(t.Context(), h.Bank, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: bridgetest.Secrets(t)}, bad)
		assert.Error(t, err)
	}
	_, err = langchaingo.New(t.Context(), h.Bank, memory.RunConfig{ID: "r"}, budgets)
	assert.ErrorIs(t, err, memory.ErrValidation)
}
