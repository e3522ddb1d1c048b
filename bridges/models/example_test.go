package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	asdk "github.com/anthropics/anthropic-sdk-go"
	aoption "github.com/anthropics/anthropic-sdk-go/option"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/anthropic"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// A conversation becomes facts, two that say the same become one, a question finds it, and it is forgotten.
func Example() {
	// The service is one on this machine, with recorded answers. A program takes asdk.NewClient().
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := `{"facts":[{"messages":[1],"text":"Ann lives in the old town of Genoa.","subjects":["person:ann"],"until":"","until_words":""},
			{"messages":[2],"text":"Ann lives in Genoa, in the old town.","subjects":["person:ann"],"until":"","until_words":""}]}`
		if strings.Contains(string(body), "decide whether they all say the same") {
			answer = `{"same":true,"text":"Ann lives in the old town of Genoa."}`
		}
		text, _ := json.Marshal(answer)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","stop_reason":"end_turn",
			"content":[{"type":"text","text":%s}],"usage":{"input_tokens":700,"output_tokens":60}}`, text)
	}))
	defer service.Close()
	client := asdk.NewClient(aoption.WithBaseURL(service.URL), aoption.WithAPIKey("none"))
	m, err := models.New(models.Config{
		Model: anthropic.New(client, "claude-sonnet-5-5"), Prices: models.Prices{Input: 3, Output: 15},
		Calls: func(c models.Call) {
			fmt.Printf("%s: %d tokens, %.4f\n", c.Task, c.Tokens.Input+c.Tokens.Output, c.Cost)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	extractor, err := m.Extractor("Europe/Rome")
	if err != nil {
		log.Fatal(err)
	}
	merging, err := consolidate.New(consolidate.Config{Merger: m.Merger(), Score: 0.3})
	if err != nil {
		log.Fatal(err)
	}
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		log.Fatal(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}

	secrets := redact.New(redact.Config{})
	ctx := models.WithRedactor(context.Background(), secrets)
	yesterday := time.Now().Add(-24 * time.Hour)
	chat := []models.Message{
		{ID: "chat-7/1", Speaker: "Ann", Text: "Hello, I live in the old town of Genoa.", At: yesterday},
		{ID: "chat-7/2", Speaker: "Ann", Text: "As I said: I live in Genoa, in the old town.", At: yesterday.Add(time.Minute)},
	}
	err = bank.Pass(ctx, memory.JobConfig{ID: "facts of chat-7", Tenant: "acme", Redactor: secrets}, func(job *memory.Job) error {
		entries, found, err := extractor.Remember(ctx, job, "assistant", chat, []string{"person:ann"})
		if err != nil {
			return err
		}
		fmt.Println(len(entries), "facts,", len(found.Refused), "refused")
		result, err := merging.Run(ctx, job, "assistant", consolidate.Options{})
		if err != nil {
			return err
		}
		fmt.Println(result.Merged, "groups merged")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	hits, err := bank.Search(ctx, "acme", "assistant", memory.Search{Text: "Where does Ann live?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Println(h.Entry.Content)
	}
	done, err := bank.Forget(ctx, "acme", "person:ann")
	if err != nil {
		log.Fatal(err)
	}
	hits, err = bank.Search(ctx, "acme", "assistant", memory.Search{Text: "Where does Ann live?"})
	fmt.Println(len(done.Erased), "erased,", len(hits), "left,", err)
	// Output:
	// extract: 760 tokens, 0.0030
	// 2 facts, 0 refused
	// merge: 760 tokens, 0.0030
	// 1 groups merged
	// Ann lives in the old town of Genoa.
	// 2 erased, 0 left, <nil>
}
