package main

import (
	"context"

	"github.com/openwop/agentmemory/bench/recall/dataset"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// expander is a recall.Expander that says what a data set has of each content in other words.
type expander struct {
	other map[string]string
	said  int // how many texts it was asked about
}

func otherWords(memories []*dataset.Memory) *expander {
	e := &expander{other: map[string]string{}}
	for _, m := range memories {
		for i := range m.Entries {
			e.other[m.Entries[i].Content()] = m.Entries[i].Other
		}
	}
	return e
}

// Model implements recall.Expander.
func (*expander) Model() string { return "data set" }

// Expand implements recall.Expander.
func (e *expander) Expand(_ context.Context, texts []string) ([]string, error) {
	e.said += len(texts)
	said := make([]string, len(texts))
	for i, text := range texts {
		said[i] = e.other[text]
	}
	return said, nil
}

// keep maintains a bank until so many more texts are said in other words.
func (e *expander) keep(ctx context.Context, bank *memory.Bank, texts int) error {
	for all := e.said + texts; e.said < all; {
		if _, err := bank.Maintain(ctx); err != nil {
			return err
		}
	}
	return nil
}

func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}
