package models

import (
	"context"
	"fmt"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

// Merger is a [consolidate.Merger] that asks the model. The context of a pass must carry a
// redactor, see [WithRedactor].
type Merger struct{ m *Models }

var _ consolidate.Merger = Merger{}

// Merger returns the merger of the model.
func (m *Models) Merger() Merger { return Merger{m} }

// Version names the model and the prompt.
func (g Merger) Version() string { return version(g.m.cfg.Model, merging.version) }

// Merge returns the text that is to take the place of a group, or consolidate.ErrDiffer. It also
// returns that if the model refuses or its answer cannot be used.
func (g Merger) Merge(ctx context.Context, group []memory.Entry) (string, error) {
	texts := make([]string, len(group))
	for i := range group {
		texts[i] = group[i].Content
	}
	texts, err := redacted(ctx, texts)
	if err != nil {
		return "", err
	}
	notes := make([]note, len(texts))
	for i := range texts {
		notes[i] = note{" written=" + dayOf(group[i].CreatedAt), texts[i]}
	}
	var answer struct {
		Same *bool   `json:"same"`
		Text *string `json:"text"`
	}
	err = g.m.ask(ctx, merging.prompt("", notes), &answer, func() bool {
		return answer.Same != nil && answer.Text != nil && *answer.Same == (*answer.Text != "")
	})
	switch {
	case aboutTheText(err):
		return "", consolidate.ErrDiffer
	case err != nil:
		return "", err
	case !*answer.Same:
		return "", consolidate.ErrDiffer
	}
	return *answer.Text, nil
}

func version(m interface{ Name() string }, prompt string) string {
	return fmt.Sprintf("models %s prompt %s", nameOf(m), prompt)
}
