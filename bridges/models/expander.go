package models

import (
	"context"
	"strings"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/recall"
)

// RankerExpander is a [recall.Expander] that asks the model, in a prompt for each text. Give it to nothing
// else than the ranker of package recall, which redacts what it asks for.
type RankerExpander struct{ m *Models }

var _ recall.Expander = RankerExpander{}

// RankerExpander returns the expander for the ranker of package recall.
func (m *Models) RankerExpander() RankerExpander { return RankerExpander{m} }

// Model names the model and the prompt. It is empty without Config.Model, which the constructor of the
// ranker refuses.
func (e RankerExpander) Model() string {
	if e.m.cfg.Model == nil {
		return ""
	}
	return version(e.m.cfg.Model, expanding.version)
}

// Expand returns other words for each text, and none if the model refuses or its answer cannot be used.
// It fails if the model cannot be reached.
func (e RankerExpander) Expand(ctx context.Context, texts []string) ([]string, error) {
	words := make([]string, len(texts))
	err := each(ctx, len(texts), func(ctx context.Context, i int) error {
		var answer struct {
			Words *string `json:"words"`
		}
		err := e.m.ask(ctx, expanding.prompt("", []note{{text: texts[i]}}), &answer, func() bool {
			return answer.Words != nil && len(*answer.Words) <= memory.DefaultMaxEntryBytes && !strings.Contains(*answer.Words, "\x00")
		})
		if err == nil {
			words[i] = strings.TrimSpace(*answer.Words)
		}
		if aboutTheText(err) {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return words, nil
}
