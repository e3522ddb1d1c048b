package langchaingo_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/tmc/langchaingo/chains"

	"github.com/openwop/agentmemory/bridges/langchaingo"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// A chain answers in two runs. Its model is scripted here; a program takes one of langchaingo's.
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
	llm := &model{answer: func(prompt string) string {
		if strings.Contains(prompt, "<memory-") && strings.Contains(prompt, "locker is 4711") {
			return "It is 4711."
		}
		return "I have noted it."
	}}
	for n, question := range []string{"Please note that Ann's locker is 4711.", "Which locker is Ann's?"} {
		mem, err := langchaingo.New(ctx, bank, memory.RunConfig{ID: fmt.Sprint("run-", n), Tenant: "acme", Redactor: redact.New(redact.Config{})},
			langchaingo.Config{Ref: "assistant", RecallTokens: 1000, RememberTokens: 500})
		if err != nil {
			log.Fatal(err)
		}
		answer, err := chains.Run(ctx, chains.NewConversation(llm, mem), question)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer)
		if err := mem.End(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// I have noted it.
	// It is 4711.
}
