package eino_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// suspended is a host whose run has seen, written and deleted something, and waits for a person.
func suspended(t *testing.T, streaming bool) (h *host, before turn, at string) {
	store := inmem.New()
	h = newHost(t, store)
	h.stream, h.tools = streaming, []tool.BaseTool{pauses{}}
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen.", Subjects: []string{"place:kitchen"}})
	gone := h.Put("acme", memory.Draft{Content: "Beer is in the cellar."})
	before = h.ask("acme", "run-1", "Where is tea?", script(
		calls("c1", "memory_delete", "id", gone.ID),
		calls("c2", "memory_recall", "query", "tea"),
		func([]*schema.Message) *schema.Message {
			both := calls("c3", "memory_remember", "content", "Tea is on the roof.")(nil).ToolCalls
			both = append(both, calls("c4", "confirm")(nil).ToolCalls...)
			return schema.AssistantMessage("", both)
		}))
	require.NoError(t, before.err)
	require.Len(t, before.interrupted, 1)
	h.Advance(time.Minute)
	h.Put("acme", memory.Draft{Content: "Tea is in the garden."})

	// Another process: nothing is shared but the store and the checkpoints.
	other := newHost(t, store)
	other.stream, other.tools, other.points = streaming, h.tools, h.points
	other.Advance(h.Now().Sub(other.Now()))
	raw, ok, err := h.points.Get(t.Context(), "run-1")
	require.NoError(t, err)
	require.True(t, ok)
	return other, before, string(raw)
}

// M7: an agent that is resumed from eino's own checkpoint, in another process, has the view that it had: not what
// others wrote meanwhile, its own writes, and nothing that it was told is deleted.
func TestM7_AResumedAgentHasItsViewBack(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		h, before, checkpoint := suspended(t, streaming)
		assert.Contains(t, checkpoint, eino.TokenKey)
		assert.NotContains(t, checkpoint, "<memory-", "what was put before the model is taken out again")

		m := script(calls("c5", "memory_recall", "query", "where is tea or beer"), calls("c6", "confirm"))
		again := h.resume("acme", "run-1", m)
		require.NoError(t, again.err)
		require.NotNil(t, again.interrupted, "a second time")
		assert.Contains(t, m.block(0), "kitchen")
		assert.Contains(t, m.block(0), "roof")
		for _, out := range append(before.results, again.results...) {
			assert.NotContains(t, out, "garden")
			assert.NotContains(t, out, "cellar")
		}
		for _, messages := range m.seen {
			assert.NotContains(t, fmt.Sprint(messages), "garden")
			assert.NotContains(t, fmt.Sprint(messages), "cellar")
		}
		assert.Len(t, h.Texts("acme"), 3, "no call was repeated")

		m = script(calls("c7", "memory_recall", "query", "where is tea or beer"), says("On the roof."))
		last := h.resume("acme", "run-1", m)
		require.NoError(t, last.err)
		assert.Contains(t, fmt.Sprint(last.results), "roof")
		assert.NotContains(t, fmt.Sprint(last.results), "garden")
		assert.NotContains(t, fmt.Sprint(last.results), "cellar")
		require.Contains(t, h.Texts("acme"), "Asked: Where is tea?\nAnswered: On the roof.")

		// It was made from what the run was shown before it was suspended.
		_, err := h.Forget(t.Context(), "acme", "place:kitchen")
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"Tea is on the roof.", "Tea is in the garden."}, h.Texts("acme"))
	}
}

// The token in the session is one of memory: it reads what the run saw.
func TestM7_TheSessionHasTheToken(t *testing.T) {
	h := newHost(t, inmem.New())
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	var token memory.Token
	h.tools = []tool.BaseTool{readsToken{&token}}
	require.NoError(t, h.ask("acme", "run-1", "Where is tea?", script(
		calls("c1", "memory_remember", "content", "Tea is on the roof."), calls("c2", "token"), says("Yes."))).err)
	h.Put("acme", memory.Draft{Content: "Tea is in the garden."})
	past, err := h.AsOf(t.Context(), "acme", token)
	require.NoError(t, err)
	entries, err := past.List(t.Context(), ref, memory.ListOptions{})
	require.NoError(t, err)
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Content)
	}
	assert.ElementsMatch(t, []string{"Tea is in the kitchen.", "Tea is on the roof."}, texts)
}

// readsToken is a tool that keeps the session's token.
type readsToken struct{ into *memory.Token }

func (readsToken) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "token", Desc: "keeps the token"}, nil
}

func (r readsToken) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	value, _ := adk.GetSessionValue(ctx, eino.TokenKey)
	*r.into = memory.Token(value.(string))
	return "kept", nil
}

// A view that cannot be given back is refused, and is never live memory.
func TestM7_AViewThatIsGoneIsRefused(t *testing.T) {
	h, _, _ := suspended(t, false)
	m := script(calls("c5", "memory_recall", "query", "tea"), says("x"))
	out := h.resume("globex", "run-1", m)
	assert.ErrorIs(t, out.err, memory.ErrSnapshotUnavailable, "another tenant's")
	assert.Empty(t, m.seen)
	assert.Empty(t, h.Texts("globex"))

	require.NoError(t, h.DropTenant(t.Context(), "acme"))
	out = h.resume("acme", "run-1", m)
	assert.ErrorIs(t, out.err, memory.ErrSnapshotUnavailable)
	assert.Empty(t, m.seen)

	h = newHost(t, inmem.New())
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	for _, values := range []map[string]any{
		{eino.TokenKey: 7}, {eino.TokenKey: ""}, {eino.TokenKey: "x"}, {eino.TokenKey: "x", "agentmemory.state": "{}"}, {eino.TokenKey: "", "agentmemory.state": "{}"},
		{eino.TokenKey: "x", "agentmemory.state": "["}, {eino.TokenKey: "x", "agentmemory.state": 7},
		{"agentmemory.state": "{}"}, {"agentmemory.state": 7}, {eino.TokenKey: nil, "agentmemory.state": "{}"},
	} {
		ctx, _ := h.with("acme", "run-1")
		out := follow(t, h.runner(script(says("x"))).Query(ctx, "tea", adk.WithSessionValues(values)))
		assert.ErrorIs(t, out.err, memory.ErrSnapshotUnavailable, "%v", values)
	}
}

// Forgetting and expiry win over a view that is resumed.
func TestM7_WhatWasForgottenIsNotResumed(t *testing.T) {
	h, _, _ := suspended(t, false)
	_, err := h.Forget(t.Context(), "acme", "place:kitchen")
	require.NoError(t, err)
	m := script(calls("c5", "memory_recall", "query", "tea"), says("On the roof."))
	out := h.resume("acme", "run-1", m)
	require.NoError(t, out.err)
	assert.NotContains(t, out.results[len(out.results)-1], "kitchen")
	assert.NotContains(t, m.block(0), "kitchen")
	assert.Contains(t, m.block(0), "roof")
	assert.ElementsMatch(t, []string{"Tea is on the roof.", "Tea is in the garden."}, h.Texts("acme"),
		"the answer was made from what was forgotten, so it is not remembered")
}

// What a resumed agent repeats is written once, also if it goes on twice from one checkpoint.
func TestM8_ResumingTwiceWritesOnce(t *testing.T) {
	h, _, checkpoint := suspended(t, false)
	for range 2 {
		require.NoError(t, h.points.Set(t.Context(), "run-1", []byte(checkpoint)))
		out := h.resume("acme", "run-1", script(calls("c5", "memory_remember", "content", "Tea is gone."), says("Gone.")))
		require.NoError(t, out.err)
		h.Advance(time.Second)
	}
	assert.Len(t, h.Texts("acme"), 5)
}

// A model that interrupts the agent itself is given the notes once when it is called again.
func TestM7_AModelThatInterrupts(t *testing.T) {
	h := newHost(t, inmem.New())
	h.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	m := script(says("unused"), says("In the kitchen."))
	m.pauseAt = 0
	out := h.ask("acme", "run-1", "Where is tea?", m)
	require.NoError(t, out.err)
	require.NotNil(t, out.interrupted)
	h.Put("acme", memory.Draft{Content: "Tea is in the garden."})
	out = h.resume("acme", "run-1", m)
	require.NoError(t, out.err)
	assert.Equal(t, "In the kitchen.", out.answer)
	require.Len(t, m.seen, 2)
	assert.Equal(t, 1, strings.Count(fmt.Sprint(m.seen[1]), "<memory-"), fmt.Sprint(m.seen[1]))
	assert.Equal(t, 1, strings.Count(fmt.Sprint(m.seen[1]), "Where is tea?"), fmt.Sprint(m.seen[1]))
	assert.NotContains(t, m.block(1), "garden")
}

// An agent that is interrupted as the tool of another one has the same view back.
func TestM7_AnInnerAgentIsResumed(t *testing.T) {
	store := inmem.New()
	first := newHost(t, store)
	second := newHost(t, store)
	second.points = first.points
	outer := calls("c0", "clerk", "request", "Where is tea?")
	inner := func(h *host, m *scripted) {
		h.configure(eino.Config{Ref: ref, RecallTokens: 1000})
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
			Name: "clerk", Description: "looks", Model: m, ToolsConfig: adk.ToolsConfig{},
			Middlewares: []adk.AgentMiddleware{h.mem.Middleware(), {AdditionalTools: []tool.BaseTool{pauses{}}}},
		})
		require.NoError(t, err)
		h.tools = []tool.BaseTool{adk.NewAgentTool(t.Context(), agent)}
	}
	first.Put("acme", memory.Draft{Content: "Tea is in the kitchen."})
	inner(first, script(calls("i1", "memory_remember", "content", "Tea is on the roof."), calls("i2", "confirm")))
	out := first.ask("acme", "run-1", "Where is tea?", script(outer))
	require.NoError(t, out.err)
	require.NotNil(t, out.interrupted)
	first.Put("acme", memory.Draft{Content: "Tea is in the garden."})

	m := script(calls("i3", "memory_recall", "query", "where is tea"), says("I know."))
	inner(second, m)
	last := script(calls("c1", "memory_recall", "query", "where is tea"), says("Done."))
	out = second.resume("acme", "run-1", last)
	require.NoError(t, out.err)
	require.Equal(t, "Done.", out.answer)
	for _, at := range []string{m.last(), last.last()} {
		assert.Contains(t, at, "kitchen")
		assert.Contains(t, at, "roof")
		assert.NotContains(t, at, "garden")
	}
}
