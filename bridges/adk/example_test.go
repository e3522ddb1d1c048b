package adk_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/loadmemorytool"
	"google.golang.org/genai"

	"github.com/openwop/agentmemory/bridges/adk"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// An agent answers in two sessions of a user. Its model is scripted here; a program takes one of ADK's.
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
	mem, err := adk.New(adk.Config{
		Bank: bank, RecallTokens: 1000,
		Place: func(app, user string) adk.Place { return adk.Place{Tenant: app, Ref: user} },
		Secrets: func(context.Context, string, string, string) (memory.Redactor, error) {
			return redact.New(redact.Config{}), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	sessions := session.InMemoryService()
	for n, turn := range []struct {
		question string
		model    *scripted
	}{
		{"My locker is number 4711.", script(says("I have noted it."))},
		{"Which locker is mine?", script(func(prompt string) *genai.Content {
			if strings.Contains(prompt, "4711") {
				return genai.NewContentFromText("It is number 4711.", genai.RoleModel)
			}
			return genai.NewContentFromText("I do not know.", genai.RoleModel)
		})},
	} {
		assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: turn.model, Tools: []tool.Tool{loadmemorytool.New(), mem.Tool()}})
		if err != nil {
			log.Fatal(err)
		}
		r, err := runner.New(runner.Config{AppName: "acme", Agent: assistant, SessionService: sessions, AutoCreateSession: true,
			MemoryService: mem.Service(), PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{mem.Plugin()}}})
		if err != nil {
			log.Fatal(err)
		}
		id := fmt.Sprint("session-", n)
		for event, err := range r.Run(ctx, "ann", id, genai.NewContentFromText(turn.question, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(event.Content.Parts[0].Text)
		}
		got, err := sessions.Get(ctx, &session.GetRequest{AppName: "acme", UserID: "ann", SessionID: id})
		if err != nil {
			log.Fatal(err)
		}
		if err := mem.Service().AddSessionToMemory(ctx, got.Session); err != nil {
			log.Fatal(err)
		}
	}
	done, err := bank.Forget(ctx, "acme", adk.Subject("session-0"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(done.Erased), "entries are gone, with the answer that was made of them")
	// Output:
	// I have noted it.
	// It is number 4711.
	// 3 entries are gone, with the answer that was made of them
}
