package eino

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

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
	if strings.TrimSpace(d.Content) == "" {
		return nil
	}
	failed, fatal := in(ctx, func(r *Run, run *memory.Run) error { return m.remember(ctx, r, run, d) })
	if fatal != nil {
		return fatal
	}
	if failed != nil {
		return fmt.Errorf("eino: the answer was not remembered: %w", failed)
	}
	return nil
}

// remember writes what is to be known of an answer, unless what it says or was made from stands against it.
func (m *Memory) remember(ctx context.Context, r *Run, run *memory.Run, d memory.Draft) error {
	sources, held, err := r.sources(ctx, run)
	if err != nil {
		return err
	}
	if !held {
		m.skipped(ctx, "a source has ended")
		return nil
	}
	inherit(&d, sources, r.bank)
	// What a model says may repeat what it was told of a secret, so it counts as derived text.
	if d.Content, err = r.cfg.Redactor.RedactDerived(d.Content); err != nil {
		m.skipped(ctx, string(memory.CodeSecretLeakage))
		return nil
	}
	if m.cfg.Tokens.Count(d.Content) > m.cfg.RememberTokens {
		m.skipped(ctx, "too long")
		return nil
	}
	if d.Key == "" {
		d.Key = "eino answer " + digest(run.ID(), d.Content)
	}
	_, err = run.Put(ctx, m.cfg.Ref, d)
	switch {
	case errors.Is(err, memory.ErrDeleted), errors.Is(err, memory.ErrConflict):
		return nil // it was remembered before
	case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
		m.skipped(ctx, string(memory.CodeOf(err)))
		return nil
	}
	return err
}

func (m *Memory) skipped(ctx context.Context, why string) {
	m.cfg.Logger.WarnContext(ctx, "an answer was not remembered", "why", why)
}

// inherit gives a draft the subjects of what it was made from, and the end of what ends first.
func inherit(d *memory.Draft, sources []memory.Entry, bank *memory.Bank) {
	d.Subjects = slices.Clone(d.Subjects)
	if d.TTL > 0 && d.ExpiresAt.IsZero() && len(sources) > 0 {
		d.ExpiresAt, d.TTL = bank.Now().Add(d.TTL), 0
	}
	for _, e := range sources {
		for _, subject := range e.Subjects {
			if !slices.Contains(d.Subjects, subject) {
				d.Subjects = append(d.Subjects, subject)
			}
		}
		if !e.ExpiresAt.IsZero() && (d.ExpiresAt.IsZero() || e.ExpiresAt.Before(d.ExpiresAt)) {
			d.ExpiresAt = e.ExpiresAt
		}
	}
	slices.Sort(d.Subjects)
}
