package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

// What restates another note is merged, and what contradicts one is not.
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
	for _, m := range plan.Merge {
		for _, id := range m.Retire {
			head[id] = m.Keep
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
	pairs, merged := 0, 0
	for _, group := range restated {
		for _, when := range group[1:] {
			pairs++
			if at[when] == at[group[0]] {
				merged++
			} else {
				t.Logf("missed: %q, %q", text[group[0]], text[when])
			}
		}
	}
	if float64(merged) < 0.95*float64(pairs) {
		t.Errorf("%d of %d restatements are merged", merged, pairs)
	}
	t.Logf("%d of %d restatements merged; %d entries retired in all", merged, pairs, plan.Retired())
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
