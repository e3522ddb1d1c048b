package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

const (
	secret = bridgetest.Secret
	ref    = bridgetest.Ref
)

// host is a bank with a clock, and a memory for agents.
type host struct {
	*bridgetest.Host
	t           testing.TB
	mem         *eino.Memory
	cfg         eino.Config
	tools       []tool.BaseTool // besides those of memory
	stream      bool
	instruction string
	points      *checkpoints
}

func newHost(t testing.TB, store driver.Adapter) *host { return on(t, bridgetest.NewHost(t, store)) }

// on is a host over a bank that others may use too.
func on(t testing.TB, bank *bridgetest.Host) *host {
	h := &host{Host: bank, t: t, instruction: "Be brief.", points: &checkpoints{at: map[string][]byte{}}}
	h.configure(eino.Config{Ref: ref, RecallTokens: 1000, RememberTokens: 500})
	return h
}

func (h *host) configure(cfg eino.Config) {
	mem, err := eino.New(cfg)
	require.NoError(h.t, err)
	h.mem, h.cfg = mem, cfg
}

// scripted is a chat model in the process: the step of each call says what it answers.
type scripted struct {
	steps []func(messages []*schema.Message) *schema.Message
	mu    sync.Mutex
	seen  [][]*schema.Message
	tools []*schema.ToolInfo
	// pauseAt is the call at which the model interrupts the agent; -1 is none.
	pauseAt int
}

var errNoAnswer = errors.New("the model gives no answer")

func (s *scripted) Generate(ctx context.Context, messages []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	s.mu.Lock()
	n := len(s.seen)
	s.seen = append(s.seen, append([]*schema.Message(nil), messages...))
	s.mu.Unlock()
	if n == s.pauseAt {
		return nil, compose.Interrupt(ctx, "the model waits")
	}
	if n >= len(s.steps) {
		return nil, errNoAnswer
	}
	return s.steps[n](messages), nil
}

// Stream answers in pieces of three bytes, so that nothing works on a piece.
func (s *scripted) Stream(ctx context.Context, messages []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	var pieces []*schema.Message
	for text := m.Content; text != ""; {
		n := min(3, len(text))
		pieces, text = append(pieces, schema.AssistantMessage(text[:n], nil)), text[n:]
	}
	if len(m.ToolCalls) > 0 {
		pieces = append(pieces, schema.AssistantMessage("", m.ToolCalls))
	}
	return schema.StreamReaderFromArray(pieces), nil
}

func (s *scripted) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	s.tools = tools
	return s, nil
}

// last is everything that the model was given at its last call.
func (s *scripted) last() string {
	return fmt.Sprint(s.seen[len(s.seen)-1])
}

// block is what stands in the prompt of a call between the lines of memory.
func (s *scripted) block(call int) string {
	for _, m := range s.seen[call] {
		if _, list, ok := strings.Cut(m.Content, "<memory-"); ok {
			_, list, _ = strings.Cut(list, ">\n")
			list, _, _ = strings.Cut(list, "</memory-")
			return list
		}
	}
	return ""
}

func says(text string) func([]*schema.Message) *schema.Message {
	return func([]*schema.Message) *schema.Message { return schema.AssistantMessage(text, nil) }
}

// calls has the model call a tool with names and values.
func calls(id, name string, pairs ...any) func([]*schema.Message) *schema.Message {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return callsRaw(id, name, string(raw))
}

func callsRaw(id, name, arguments string) func([]*schema.Message) *schema.Message {
	return func([]*schema.Message) *schema.Message {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}})
	}
}

func script(steps ...func([]*schema.Message) *schema.Message) *scripted {
	return &scripted{steps: steps, pauseAt: -1}
}

// turn is what came of a run of an agent.
type turn struct {
	answer      string
	results     []string // of tools
	interrupted []*adk.InterruptCtx
	err         error
}

func (h *host) runner(m *scripted) *adk.Runner {
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "answers", Instruction: h.instruction, Model: m, MaxIterations: 100,
		Middlewares: []adk.AgentMiddleware{h.mem.Middleware(), {AdditionalTools: h.tools}},
	})
	require.NoError(h.t, err)
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent, EnableStreaming: h.stream, CheckPointStore: h.points})
}

// ask lets an agent answer, in a run that it ends if it comes to its end.
func (h *host) ask(tenant, id, question string, m *scripted) turn {
	h.t.Helper()
	ctx, run := h.with(tenant, id)
	out := follow(h.t, h.runner(m).Query(ctx, question, adk.WithCheckPointID(id)))
	if out.interrupted == nil {
		require.NoError(h.t, run.End(context.Background()))
	}
	return out
}

// with is the context of a run.
func (h *host) with(tenant, id string) (context.Context, *eino.Run) {
	return eino.WithRun(context.Background(), h.Bank, memory.RunConfig{ID: id, Tenant: tenant, Redactor: bridgetest.Secrets(h.t)})
}

// resume goes on from a checkpoint as another process would.
func (h *host) resume(tenant, id string, m *scripted) turn {
	h.t.Helper()
	ctx, run := h.with(tenant, id)
	iter, err := h.runner(m).Resume(ctx, id)
	require.NoError(h.t, err)
	out := follow(h.t, iter)
	if out.err == nil && out.interrupted == nil {
		require.NoError(h.t, run.End(context.Background()))
	}
	return out
}

func follow(t testing.TB, iter *adk.AsyncIterator[*adk.AgentEvent]) (out turn) {
	for {
		event, ok := iter.Next()
		if !ok {
			return out
		}
		if event.Err != nil {
			out.err = event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			out.interrupted = event.Action.Interrupted.InterruptContexts
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		if msg.Role == schema.Tool {
			out.results = append(out.results, msg.Content)
		} else {
			out.answer = msg.Content
		}
	}
}

// checkpoints keeps what eino gives it.
type checkpoints struct {
	mu sync.Mutex
	at map[string][]byte
}

func (c *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, ok := c.at[id]
	return raw, ok, nil
}

func (c *checkpoints) Set(_ context.Context, id string, raw []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[id] = raw
	return nil
}

// pauses is a tool that interrupts the agent the first time.
type pauses struct{}

func (pauses) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "confirm", Desc: "asks a person"}, nil
}

func (pauses) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[string](ctx); !was {
		return "", tool.Interrupt(ctx, "may I?")
	}
	return "confirmed", nil
}
