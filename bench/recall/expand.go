package main

import (
	"context"

	"github.com/openwop/agentmemory/bench/recall/dataset"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// expander is a recall.Expander that says what a data set has of each content in other words.
type expander map[string]string

func otherWords(memories []*dataset.Memory) expander {
	known := expander{}
	for _, m := range memories {
		for i := range m.Entries {
			known[m.Entries[i].Content()] = m.Entries[i].Other
		}
	}
	return known
}

// Model implements recall.Expander.
func (expander) Model() string { return "data set" }

// Expand implements recall.Expander.
func (e expander) Expand(_ context.Context, texts []string) ([]string, error) {
	said := make([]string, len(texts))
	for i, text := range texts {
		said[i] = e[text]
	}
	return said, nil
}

func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}
