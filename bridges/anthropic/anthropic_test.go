package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/anthropic"
	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// script is a local server that speaks the messages API: one answer after the other, in the
// shapes that the service has.
type script struct {
	answers  []string
	requests []map[string]any
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var request map[string]any
	if json.Unmarshal(raw, &request) != nil || r.URL.Path != "/v1/messages" || len(s.requests) == len(s.answers) {
		http.Error(w, `{"type":"error","error":{"type":"invalid_request_error","message":"unexpected"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, s.answers[len(s.requests)])
	s.requests = append(s.requests, request)
}

func toolUse(n int, input string) string {
	return fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[
		{"type":"text","text":"I will look into my memory."},
		{"type":"tool_use","id":"toolu_%d","name":"memory","input":%s},
		{"type":"tool_use","id":"toolu_other_%d","name":"weather","input":{"city":"Rome"}}],
		"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":20}}`, n, n, input, n)
}

const end = `{"id":"msg_end","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],
	"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":20}}`

func TestConversation(t *testing.T) {
	s := &script{answers: []string{
		toolUse(1, `{"command":"view","path":"/memories"}`),
		toolUse(2, `{"command":"create","path":"/memories/ann.md","file_text":"Ann likes tea & <b>"}`),
		toolUse(3, `{"command":"view","path":"/memories/../etc/passwd"}`),
		end,
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("test"), option.WithMaxRetries(0))

	bank, err := memory.New(inmem.New(), memory.Config{})
	require.NoError(t, err)
	run, err := bank.Start(t.Context(), memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	files := memorytool.New(memorytool.Config{Memory: memorytool.InRun(run), Ref: "assistant"})

	params := sdk.BetaMessageNewParams{
		MaxTokens: 1000, Model: "claude-sonnet-4-5",
		Betas:    []sdk.AnthropicBeta{sdk.AnthropicBetaContextManagement2025_06_27},
		Messages: []sdk.BetaMessageParam{sdk.NewBetaUserMessage(sdk.NewBetaTextBlock("What do you know of Ann?"))},
		Tools:    []sdk.BetaToolUnionParam{{OfMemoryTool20250818: &sdk.BetaMemoryTool20250818Param{}}},
	}
	for {
		message, err := client.Beta.Messages.New(t.Context(), params)
		require.NoError(t, err)
		results := anthropic.Results(t.Context(), files, message)
		if len(results) == 0 {
			break
		}
		require.Len(t, results, 1, "the other tool is the host's")
		params.Messages = append(params.Messages, message.ToParam(), sdk.NewBetaUserMessage(results...))
	}
	require.Len(t, s.requests, 4)
	assert.Equal(t, []any{map[string]any{"type": "memory_20250818", "name": "memory"}}, s.requests[0]["tools"])
	for i, want := range []struct {
		text   string
		failed bool
	}{
		{"Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0\t/memories", false},
		{"File created successfully at: /memories/ann.md", false},
		{`Error: The path "/memories/../etc/passwd" is not valid: it must be below /memories`, true},
	} {
		messages := s.requests[i+1]["messages"].([]any)
		block := messages[len(messages)-1].(map[string]any)["content"].([]any)[0].(map[string]any)
		assert.Equal(t, "tool_result", block["type"])
		assert.Equal(t, fmt.Sprintf("toolu_%d", i+1), block["tool_use_id"])
		assert.Equal(t, want.text, block["content"].([]any)[0].(map[string]any)["text"])
		assert.Equal(t, want.failed, block["is_error"])
	}
	e, err := run.Memory().List(t.Context(), "assistant", memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, e, 1)
	assert.Equal(t, "Ann likes tea & <b>", e[0].Content)
}

func ExampleResults() {
	ctx := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	files := memorytool.New(memorytool.Config{Memory: memorytool.InRun(run), Ref: "assistant"})

	var message sdk.BetaMessage // as client.Beta.Messages.New returned it
	if err := json.Unmarshal([]byte(toolUse(1, `{"command":"create","path":"/memories/todo.md","file_text":"call Ann"}`)), &message); err != nil {
		log.Fatal(err)
	}
	for _, result := range anthropic.Results(ctx, files, &message) {
		fmt.Println(result.OfToolResult.Content[0].OfText.Text)
	}
	text, _ := files.Do(ctx, []byte(`{"command":"view","path":"/memories/todo.md"}`))
	fmt.Println(text)
	// Output:
	// File created successfully at: /memories/todo.md
	// Here's the content of /memories/todo.md with line numbers:
	//      1	call Ann
}

// The program of the README compiles.
func TestReadme(t *testing.T) { bridgetest.Readme(t) }
