package eino_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// An agent answers two questions in two runs. Its model is scripted here; a program takes one of eino's.
func Example() {
	ctx := context.Background()
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		log.Fatal(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}
	mem, err := eino.New(eino.Config{Ref: "assistant", RecallTokens: 1000, RememberTokens: 500})
	if err != nil {
		log.Fatal(err)
	}
	for n, turn := range []struct {
		question string
		model    *scripted
	}{
		{"Please note that Ann's locker is 4711.", script(
			calls("call-1", "memory_remember", "content", "Ann's locker is 4711.", "subjects", []string{"person:ann"}),
			says("I have noted it."))},
		{"Which locker is Ann's?", script(func(messages []*schema.Message) *schema.Message {
			if strings.Contains(fmt.Sprint(messages), "Ann's locker is 4711.") {
				return schema.AssistantMessage("It is 4711.", nil)
			}
			return schema.AssistantMessage("I do not know.", nil)
		})},
	} {
		agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "assistant", Description: "answers questions", Instruction: "Be brief.", Model: turn.model,
			Middlewares: []adk.AgentMiddleware{mem.Middleware()},
		})
		if err != nil {
			log.Fatal(err)
		}
		id := fmt.Sprint("run-", n+1)
		within, run := eino.WithRun(ctx, bank, memory.RunConfig{ID: id, Tenant: "acme", Redactor: redact.New(redact.Config{})})
		events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(within, turn.question)
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				log.Fatal(event.Err)
			}
			if msg := event.Output.MessageOutput.Message; msg.Role == schema.Assistant && msg.Content != "" {
				fmt.Println(id, msg.Content)
			}
		}
		if err := run.End(ctx); err != nil {
			log.Fatal(err)
		}
	}
	done, err := bank.Forget(ctx, "acme", "person:ann")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(done.Erased), "entries about Ann are gone, the answers among them")
	// Output:
	// run-1 I have noted it.
	// run-2 It is 4711.
	// 3 entries about Ann are gone, the answers among them
}
