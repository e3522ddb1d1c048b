package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	asdk "github.com/anthropics/anthropic-sdk-go"
	osdk "github.com/openai/openai-go/v3"
	ooption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/anthropic"
	"github.com/openwop/agentmemory/bridges/models/openai"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

func TestRequestsAreThoseOfTheAPIs(t *testing.T) {
	s := serve(t, func(models.Task, string) string { return same("a") })
	for name, m := range s.over(t, models.Config{}) {
		text, err := m.Merger().Merge(redacting(t.Context()), group)
		require.NoError(t, err, name)
		assert.Equal(t, "a", text)
		request := s.requests()[len(s.requests())-1]
		assert.Contains(t, request, `"additionalProperties":false`, name)
		assert.Contains(t, request, "json_schema", name)
		assert.Contains(t, request, "8192", name)
		assert.Equal(t, 1, strings.Count(request, "You look after the memory of an agent."), name)
	}
}

// Strict structured output takes schemas in which each object names all of its fields as required and allows
// no others.
func TestSchemasAreStrict(t *testing.T) {
	files, err := filepath.Glob("prompts/*.json")
	require.NoError(t, err)
	require.Len(t, files, 5)
	var strict func(v any) (objects int)
	strict = func(v any) (objects int) {
		list, _ := v.([]any)
		for _, item := range list {
			objects += strict(item)
		}
		node, _ := v.(map[string]any)
		if node["type"] == "object" {
			objects++
			assert.Equal(t, false, node["additionalProperties"])
			var required []string
			for _, name := range node["required"].([]any) {
				required = append(required, name.(string))
			}
			properties, _ := node["properties"].(map[string]any)
			assert.ElementsMatch(t, slices.Collect(maps.Keys(properties)), required)
		}
		for _, item := range node {
			objects += strict(item)
		}
		return objects
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		var schema any
		require.NoError(t, json.Unmarshal(raw, &schema))
		assert.Positive(t, strict(schema), name)
	}
}

func TestBothAPIsAreTriedAgainAndCounted(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		for _, first := range []string{doStatus + "429", doStatus + "500", doStatus + "529", doBreak} {
			var n atomic.Int64
			s := serve(t, func(models.Task, string) string {
				if n.Add(1) == 1 {
					return first
				}
				return same("a")
			})
			var calls []models.Call
			m := s.over(t, models.Config{Tries: 2, Calls: func(c models.Call) { calls = append(calls, c) }})[name]
			_, err := m.Merger().Merge(redacting(t.Context()), group)
			require.NoError(t, err, name)
			require.Len(t, calls, 2)
			assert.Equal(t, models.CodeUnavailable, memory.CodeOf(calls[0].Err))
			assert.Equal(t, models.Tokens{Input: 100, Cached: 30, Output: 20}, calls[1].Tokens, name)
		}
	}
}

func TestARefusalHasACodeAndItsTokens(t *testing.T) {
	s := serve(t, func(models.Task, string) string { return doRefuse })
	var calls []models.Call
	for _, m := range s.over(t, models.Config{Calls: func(c models.Call) { calls = append(calls, c) }}) {
		_, err := m.Merger().Merge(redacting(t.Context()), group)
		assert.ErrorIs(t, err, consolidate.ErrDiffer)
	}
	require.Len(t, calls, 2)
	for _, c := range calls {
		assert.Equal(t, models.CodeRefused, memory.CodeOf(c.Err))
		assert.EqualValues(t, 20, c.Tokens.Output)
	}
}

// No count and no cost is below zero, also if a service says so.
func TestHostileCounts(t *testing.T) {
	for _, n := range []string{"-5", "1000000", "9223372036854775807", "-9223372036854775808"} {
		s := serve(t, func(models.Task, string) string {
			return doRaw + strings.NewReplacer("N", n).Replace(`{"type":"message","role":"assistant","model":"m","id":"x","stop_reason":"end_turn",
				"content":[{"type":"text","text":"{\"same\":true,\"text\":\"a\"}"}],
				"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"same\":true,\"text\":\"a\"}"}}],
				"usage":{"input_tokens":N,"cache_read_input_tokens":N,"cache_creation_input_tokens":N,"output_tokens":N,
				"prompt_tokens":10,"completion_tokens":N,"prompt_tokens_details":{"cached_tokens":N}}}`)
		})
		calls := 0
		for name, m := range s.over(t, models.Config{Prices: models.Prices{Input: 3, Cached: 0.3, Output: 15}, Calls: func(c models.Call) {
			calls++
			assert.GreaterOrEqual(t, c.Cost, 0.0)
			assert.GreaterOrEqual(t, min(c.Tokens.Input, c.Tokens.Cached, c.Tokens.Output, c.Tokens.Input-c.Tokens.Cached), int64(0), "%+v", c.Tokens)
		}}) {
			text, err := m.Merger().Merge(redacting(t.Context()), group)
			require.NoError(t, err, name)
			assert.Equal(t, "a", text)
		}
		assert.Equal(t, 2, calls)
	}
}

func TestHostileVectors(t *testing.T) {
	vector := func(index int, v string) string {
		return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, v)
	}
	list := func(data ...string) string {
		return `{"object":"list","model":"m","usage":{"prompt_tokens":2,"total_tokens":2},"data":[` + strings.Join(data, ",") + `]}`
	}
	var answer string
	s := serve(t, func(models.Task, string) string { return answer })
	e := s.over(t, models.Config{})["openai"].RankerEmbedder()
	answer = list(vector(1, "[0,1]"), vector(0, "[1,0]"))
	vectors, err := e.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 0}, {0, 1}}, vectors, "in the order of the texts")
	for name, hostile := range map[string]string{
		"none": list(), "one": list(vector(0, "[1,0]")), "three": list(vector(0, "[1]"), vector(1, "[1]"), vector(2, "[1]")),
		"twice": list(vector(0, "[1,0]"), vector(0, "[1,0]")), "out of range": list(vector(0, "[1,0]"), vector(7, "[1,0]")),
		"negative": list(vector(0, "[1,0]"), vector(-1, "[1,0]")), "two lengths": list(vector(0, "[1,0]"), vector(1, "[1]")),
		"zeros": list(vector(0, "[0,0]"), vector(1, "[1,0]")), "empty": list(vector(0, "[]"), vector(1, "[]")),
		"infinite": list(vector(0, "[1e300,0]"), vector(1, "[1,0]")), "words": list(vector(0, `["a"]`), vector(1, "[1]")),
		"null": "null", "not of the API": `{"a":1}`, "not JSON": "<html>", "broken": doBreak, "429": doStatus + "429",
		"twenty megabytes": list(vector(0, "[1"+strings.Repeat(",1", 10<<20)+"]"), vector(1, "[1]")),
	} {
		answer = hostile
		vectors, err := e.Embed(t.Context(), []string{"a", "b"})
		assert.ErrorIs(t, err, memory.ErrInternal, name)
		assert.Nil(t, vectors, name)
	}
}

// TestCTI1_PromptsHoldOneTenant runs the passes of two tenants and looks at every request.
func TestCTI1_PromptsHoldOneTenant(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		w, s := newWorld(t), serve(t, good)
		m := s.over(t, models.Config{})[name]
		_, err := w.infer(m)
		require.NoError(t, err)
		_, err = w.distill(m)
		require.NoError(t, err)
		_, err = w.consolidate(m)
		require.NoError(t, err)
		asked := len(s.requests())
		require.GreaterOrEqual(t, asked, 7)
		runner, err := distill.New(distill.Config{Summarizer: m.Summarizer()})
		require.NoError(t, err)
		_, err = runner.Distill(t.Context(), w.job("globex"), "ref", distill.Options{TokenBudget: 100})
		require.NoError(t, err)
		require.Len(t, s.requests(), asked+1)
		for i, request := range s.requests() {
			assert.Contains(t, request, "json_schema", "structured output, whatever the task")
			assert.NotContains(t, request, secret)
			assert.Equal(t, i == asked, strings.Contains(request, "Globex"))
			assert.Equal(t, i != asked, strings.Contains(request, "Kestrel") || strings.Contains(request, "Lena") ||
				strings.Contains(request, "depot") || strings.Contains(request, "Ignore"))
			assert.NotContains(t, request, "acme")
			assert.NotContains(t, request, "mem_")
		}
	}
}

func Example_anthropic() {
	m, err := models.New(models.Config{
		Model:  anthropic.New(asdk.NewClient(), "claude-sonnet-5-5"),
		Prices: models.Prices{Input: 3, Cached: 0.3, Output: 15},
		Calls:  func(c models.Call) { log.Println(c.Task, c.Tokens, c.Cost, c.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	inferrer, err := m.Inferrer("Europe/Rome")
	if err != nil {
		log.Fatal(err)
	}
	merging, err := consolidate.New(consolidate.Config{Merger: m.Merger()})
	if err != nil {
		log.Fatal(err)
	}
	distilling, err := distill.New(distill.Config{Summarizer: m.Summarizer()})
	if err != nil {
		log.Fatal(err)
	}
	_ = func(ctx context.Context, bank *memory.Bank, job *memory.Job, secrets memory.Redactor) error {
		ctx = models.WithRedactor(ctx, secrets) // the job's
		if _, err := merging.Run(ctx, job, "support", consolidate.Options{}); err != nil {
			return err
		}
		_, err := distilling.Distill(ctx, job, "support", distill.Options{})
		return err
	}
	_ = commitment.Config{Inferrer: inferrer}
}

func Example_openai() {
	// A local server, such as that of llama.cpp, vLLM or Ollama.
	client := osdk.NewClient(ooption.WithBaseURL("http://localhost:11434/v1"), ooption.WithAPIKey("none"))
	m, err := models.New(models.Config{
		Model:   openai.New(client, "qwen3:8b"),
		Vectors: openai.NewVectors(client, "nomic-embed-text", 0),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = consolidate.New(consolidate.Config{Merger: m.Merger()})
	fmt.Println(err, m.RankerEmbedder().Model())
	// Output: <nil> openai/nomic-embed-text
}
