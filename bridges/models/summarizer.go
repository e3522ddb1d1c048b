package models

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// Summarizer is a [distill.Summarizer] that asks the model.
type Summarizer struct{ m *Models }

var _ distill.Summarizer = Summarizer{}

// Summarizer returns the summarizer of the model.
func (m *Models) Summarizer() Summarizer { return Summarizer{m} }

// Version names the model and the prompt.
func (s Summarizer) Version() string { return version(s.m.cfg.Model, summarizing.version) }

// Summarize returns the model's items, the last ones left out if they exceed the request's limits.
// It returns none, and the pass is that of [distill.Extractive], if the model refuses or its answer cannot be
// used. The pass leaves out each line that its notes do not say, and adds the days of those that are relative to them.
func (s Summarizer) Summarize(ctx context.Context, req distill.Request) ([]distill.Item, error) {
	head := fmt.Sprintf("At most %d bytes.\n", req.MaxBytes)
	if req.MaxTokens > 0 {
		head = fmt.Sprintf("At most %d tokens and %d bytes.\n", req.MaxTokens, req.MaxBytes)
	}
	notes := make([]note, len(req.Sources))
	for i, source := range req.Sources {
		notes[i] = note{fmt.Sprintf(" weight=%d written=%s", source.Weight, dayOf(source.CreatedAt)), source.Text}
	}
	var answer struct {
		Items *[]struct {
			Notes []int  `json:"notes"`
			Text  string `json:"text"`
		} `json:"items"`
	}
	var items []distill.Item
	err := s.m.ask(ctx, summarizing.prompt(head, notes), &answer, func() bool {
		if answer.Items == nil {
			return false
		}
		for _, it := range *answer.Items {
			item := distill.Item{Text: strings.TrimSpace(it.Text)}
			for _, n := range it.Notes {
				if n < 1 || n > len(req.Sources) {
					return false
				}
				item.Sources = append(item.Sources, req.Sources[n-1].ID)
			}
			items = append(items, item)
		}
		return true
	})
	if aboutTheText(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return fitting(req, items)
}

// fitting are as many of the first items as keep to the request's limits; none if one cannot be stored.
func fitting(req distill.Request, items []distill.Item) ([]distill.Item, error) {
	texts := make([]string, len(items))
	for i := range items {
		var err error
		texts[i], err = req.Redact(items[i].Text)
		if errors.Is(err, memory.ErrValidation) {
			return nil, nil // not text that can be stored
		}
		if err != nil {
			return nil, err
		}
	}
	n := sort.Search(len(texts), func(n int) bool {
		text := strings.Join(texts[:n+1], "\n")
		return len(text) > req.MaxBytes || req.MaxTokens > 0 && req.Count(text) > req.MaxTokens
	})
	return items[:n], nil
}
