package eino

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/memory"
)

// mark is the name, in the Extra of a message, of the ref from which the middleware has made it.
const mark = "agentmemory.ref"

// before puts what memory says before the last message of the user.
func (m *Memory) before(ctx context.Context, s *adk.ChatModelAgentState) error {
	messages := m.without(s.Messages)
	at, question := asked(messages)
	failed, fatal := in(ctx, func(r *Run, run *memory.Run) error {
		if question = conversation.Question(question); question == "" {
			return nil
		}
		hits, err := r.recall(ctx, run, m.cfg.Ref, memory.Search{Text: question, Limit: DefaultLimit})
		if err != nil {
			return fmt.Errorf("eino: the recall failed: %w", err)
		}
		kept, text := conversation.Fit(hits, m.hasRoom, conversation.Notes)
		if len(kept) > 0 {
			r.show(m.cfg.Ref, kept)
			note := schema.UserMessage(text)
			note.Extra = map[string]any{mark: m.cfg.Ref}
			messages = slices.Insert(messages, at, note)
		}
		return nil
	})
	s.Messages = messages
	if fatal != nil {
		return fatal
	}
	return failed
}

// without returns the messages that before did not make, in a slice of their own.
func (m *Memory) without(messages []adk.Message) []adk.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(msg adk.Message) bool { return msg.Extra[mark] == m.cfg.Ref })
}

// otherAgents begins each message in which eino gives an agent, in the role of the user, what other agents have said, called
// and found.
const otherAgents = "For context:"

// asked is the last message of the user, and where it is. What before has made stands before it. What other agents
// did is not asked by a user.
func asked(messages []adk.Message) (at int, text string) {
	for at := len(messages) - 1; at >= 0; at-- {
		msg := messages[at]
		if msg.Role != schema.User || strings.HasPrefix(msg.Content, otherAgents) {
			continue
		}
		text := msg.Content
		for _, part := range msg.UserInputMultiContent {
			if part.Type == schema.ChatMessagePartTypeText {
				text += "\n" + part.Text
			}
		}
		return at, strings.TrimSpace(text)
	}
	return 0, ""
}

// hasRoom reports whether a text is within Config.RecallTokens.
func (m *Memory) hasRoom(text string) bool { return m.cfg.Tokens.Count(text) <= m.cfg.RecallTokens }
