package eino

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/memory"
)

// exchange is what is remembered of a question and its answer unless the host says otherwise.
func exchange(_ context.Context, question, answer string) memory.Draft {
	return memory.Draft{Content: "Asked: " + question + "\nAnswered: " + answer, Tags: []string{"exchange"}}
}

// after takes out of the messages what before has put in, and remembers a final answer.
func (m *Memory) after(ctx context.Context, s *adk.ChatModelAgentState) error {
	s.Messages = m.without(s.Messages)
	if m.cfg.RememberTokens == 0 || len(s.Messages) == 0 {
		return nil
	}
	answer := s.Messages[len(s.Messages)-1]
	_, question := asked(s.Messages)
	if answer.Role != schema.Assistant || len(answer.ToolCalls) > 0 || strings.TrimSpace(answer.Content) == "" || question == "" {
		return nil
	}
	d := m.cfg.Draft(ctx, question, answer.Content)
	failed, fatal := in(ctx, func(r *Run, run *memory.Run) error { return m.remember(ctx, r, run, d) })
	if fatal != nil {
		return fatal
	}
	if failed != nil {
		return fmt.Errorf("eino: the answer was not remembered: %w", failed)
	}
	return nil
}

// remember writes an answer, or tells the host why not.
func (m *Memory) remember(ctx context.Context, r *Run, run *memory.Run, d memory.Draft) error {
	why, err := conversation.Answer{
		Bank: r.bank, Tenant: r.cfg.Tenant, Redactor: r.cfg.Redactor, Ref: m.cfg.Ref, Draft: d, Bridge: "eino",
		HasRoom: func(content string) bool { return m.cfg.Tokens.Count(content) <= m.cfg.RememberTokens },
		Sources: func(ctx context.Context) ([]memory.Entry, bool, error) { return r.sources(ctx, run) },
	}.Remember(ctx, run)
	if why != "" {
		m.cfg.Logger.WarnContext(ctx, "an answer was not remembered", "why", why)
	}
	return err
}
