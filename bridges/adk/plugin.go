package adk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/memory"
)

// Plugin returns the plugin for a runner. An invocation whose run cannot be started, or whose recall fails, ends with that error.
func (m *Memory) Plugin() *plugin.Plugin {
	p, err := plugin.New(plugin.Config{
		Name:              "agentmemory",
		BeforeRunCallback: m.begin, AfterRunCallback: m.end,
		BeforeModelCallback: m.preload, AfterModelCallback: m.mark,
	})
	if err != nil {
		panic(err) // its configuration is constant
	}
	return p
}

func (m *Memory) begin(ctx agent.InvocationContext) (*genai.Content, error) {
	s := ctx.Session()
	place := m.cfg.Place(s.AppName(), s.UserID())
	secrets, err := m.cfg.Secrets(ctx, s.AppName(), s.UserID(), s.ID())
	if err != nil {
		return nil, fmt.Errorf("adk: the secrets of the session are not known: %w", err)
	}
	// A resumed invocation has its id again, and a run has one of its own.
	id := "adk-" + conversation.Digest(ctx.InvocationID()) + "-" + rand.Text()
	run, err := m.cfg.Bank.Start(ctx, memory.RunConfig{ID: id, Tenant: place.Tenant, Redactor: secrets})
	if err != nil {
		return nil, fmt.Errorf("adk: the run cannot be started: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invocations[ctx.InvocationID()] = &invocation{place: place, run: run, deleted: map[string]bool{}}
	return nil, nil
}

func (m *Memory) end(ctx agent.InvocationContext) {
	m.mu.Lock()
	v := m.invocations[ctx.InvocationID()]
	delete(m.invocations, ctx.InvocationID())
	m.mu.Unlock()
	if v == nil {
		return
	}
	if err := v.run.End(context.WithoutCancel(ctx)); err != nil {
		m.cfg.Logger.WarnContext(ctx, "a run did not end", "why", memory.CodeOf(err))
	}
}

// preload puts what memory says before the last content of the user that is no result of a tool.
func (m *Memory) preload(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	v, question := m.invocation(ctx.InvocationID()), conversation.Question(textOf(ctx.UserContent()))
	if v == nil || question == "" {
		return nil, nil
	}
	hits, err := v.search(ctx, question)
	if err != nil {
		return nil, fmt.Errorf("adk: the recall failed: %w", err)
	}
	kept, notes := conversation.Fit(hits, m.hasRoom, conversation.Notes)
	if len(kept) == 0 {
		return nil, nil
	}
	v.show(kept)
	at := 0
	for i, c := range req.Contents {
		if c != nil && c.Role == genai.RoleUser && textOf(c) != "" {
			at = i
		}
	}
	req.Contents = slices.Insert(slices.Clone(req.Contents), at, genai.NewContentFromText(notes, genai.RoleUser))
	return nil, nil
}

// mark notes on a response what the model was shown, for the event that becomes of it.
func (m *Memory) mark(ctx agent.Context, res *model.LLMResponse, failed error) (*model.LLMResponse, error) {
	v := m.invocation(ctx.InvocationID())
	if v == nil || res == nil || failed != nil {
		return nil, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.shown) == 0 {
		return nil, nil
	}
	if res.CustomMetadata == nil {
		res.CustomMetadata = map[string]any{}
	}
	res.CustomMetadata[sourcesKey] = strings.Join(v.shown, " ")
	return res, nil
}

type forgetIn struct {
	ID string `json:"id" jsonschema:"the id of an entry, as load_memory returned it"`
}

type forgetOut struct {
	Deleted bool `json:"deleted" jsonschema:"whether there was such an entry"`
}

// Tool returns forget_memory, by which a model deletes one entry of what its invocation sees. It needs the plugin. What it
// fails for is told to the model without a word of what is stored.
func (m *Memory) Tool() tool.Tool {
	t, err := functiontool.New(functiontool.Config{
		Name:        "forget_memory",
		Description: "Takes one entry out of long-term memory, by the id that load_memory returned.",
	}, func(ctx agent.Context, in forgetIn) (forgetOut, error) {
		v := m.invocation(ctx.InvocationID())
		if v == nil {
			return forgetOut{}, errors.New("memory is not available; nothing was changed")
		}
		deleted, err := v.delete(ctx, in.ID)
		switch {
		case errors.Is(err, memory.ErrOutcomeUnknown):
			err = errors.New("memory is not available, and it is not known whether the change was made")
		case err != nil:
			err = errors.New("memory is not available; nothing was changed")
		}
		return forgetOut{deleted}, err
	})
	if err != nil {
		panic(err) // its configuration is constant
	}
	return t
}
