package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

// What restates another note word for word is merged, and what contradicts one is not.
func TestCorpus_Consolidation(t *testing.T) {
	var entries []memory.Entry
	for i, l := range notes(t) {
		entries = append(entries, memory.Entry{
			ID: fmt.Sprintf("mem_%04d", i), Content: l.Content, Tags: l.Tags, Subjects: l.Subjects,
			CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt,
		})
	}
	plan, err := consolidate.Rules{}.Plan(context.Background(), entries)
	if err != nil {
		t.Fatal(err)
	}
	head := map[string]string{}
	for _, g := range plan {
		if g.Superseded {
			continue
		}
		for _, id := range g.Retire {
			head[id] = g.Keep
		}
	}
	at := map[string]string{}
	for _, e := range entries {
		id := e.ID
		if head[id] != "" {
			id = head[id]
		}
		at[e.CreatedAt.Format("01-02 15:04")] = id
	}
	text := map[string]string{}
	for _, e := range entries {
		text[e.CreatedAt.Format("01-02 15:04")] = e.Content
	}
	content := map[string]string{}
	for _, e := range entries {
		content[e.ID] = strings.TrimSuffix(strings.Join(strings.Fields(e.Content), " "), ".")
	}
	merged := 0
	for id, keep := range head {
		merged++
		if content[id] != content[keep] {
			t.Errorf("wrong merge: %q, %q", content[id], content[keep])
		}
	}
	if merged < 20 {
		t.Errorf("%d notes that say the same word for word are merged", merged)
	}
	for _, group := range conflicting {
		for i, a := range group {
			for _, b := range group[:i] {
				if at[a] == at[b] && text[a] != text[b] {
					t.Errorf("wrong merge: %q, %q", text[a], text[b])
				}
			}
		}
	}
}
