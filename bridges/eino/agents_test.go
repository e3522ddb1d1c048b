package eino_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// named is an agent with the memory of the host.
func (h *host) named(name string, m *scripted) *adk.ChatModelAgent {
	h.t.Helper()
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: name, Description: name, Model: m, Middlewares: []adk.AgentMiddleware{h.mem.Middleware()},
	})
	require.NoError(h.t, err)
	return agent
}

// Of several agents in one session each recalls for, and remembers, what the user has asked: not what eino tells it, in
// the role of the user, of the others.
func TestAgentsOfOneSessionAnswerTheUser(t *testing.T) {
	question := "Where does Ann keep the tea?"
	teams := map[string]func(h *host, last *scripted) (adk.Agent, error){
		"transfer": func(h *host, last *scripted) (adk.Agent, error) {
			first := script(calls("c1", "memory_recall", "query", "bus"), calls("c2", "transfer_to_agent", "agent_name", "clerk"))
			return adk.SetSubAgents(context.Background(), h.named("boss", first), []adk.Agent{h.named("clerk", last)})
		},
		"sequence": func(h *host, last *scripted) (adk.Agent, error) {
			first := script(calls("c1", "memory_recall", "query", "bus"), says("I pass on it."))
			return adk.NewSequentialAgent(context.Background(), &adk.SequentialAgentConfig{
				Name: "team", Description: "works", SubAgents: []adk.Agent{h.named("boss", first), h.named("clerk", last)},
			})
		},
	}
	for name, team := range teams {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, inmem.New())
			h.Put("acme", memory.Draft{Content: "Ann keeps the tea in the kitchen."})
			h.Put("acme", memory.Draft{Content: "The bus leaves at ten; it was transferred successfully."})
			last := script(says("In the kitchen."))
			agent, err := team(h, last)
			require.NoError(t, err)
			ctx, run := h.with("acme", "run-1")
			require.NoError(t, follow(t, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}).Query(ctx, question)).err)
			require.NoError(t, run.End(t.Context()))
			require.Len(t, last.seen, 1)
			assert.Contains(t, last.block(0), "Ann keeps the tea in the kitchen.")
			assert.NotContains(t, last.block(0), "bus")
			assert.Contains(t, h.Texts("acme"), "Asked: "+question+"\nAnswered: In the kitchen.")
			for _, text := range h.Texts("acme") {
				assert.NotContains(t, text, "For context")
			}
		})
	}
}
