package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// knowsNoFilter ranks the newest first, of all that the view shows, and counts how often it is asked.
type knowsNoFilter struct{ asked *int }

func (knowsNoFilter) Version() string { return "1" }
func (knowsNoFilter) Model() string   { return "" }

func (r knowsNoFilter) Rank(ctx context.Context, v *memory.View, q memory.Search) (hits []memory.Hit, err error) {
	*r.asked++
	for e, err := range v.Entries(ctx) {
		if err != nil || len(hits) == q.Limit {
			return hits, err
		}
		hits = append(hits, memory.Hit{Entry: memory.Entry{ID: e.ID}})
	}
	return hits, nil
}

// S1: a filter that the ranker does not know leaves out what it must, and the answer is as full as if
// the ranker knew it. One in a thousand entries passes each filter here.
func TestS1_AFilterThatARankerDoesNotKnowUnderfillsNoAnswer(t *testing.T) {
	asked := 0
	h := newHost(t, func(c *memory.Config) { c.Ranker, c.TokenCounter = knowsNoFilter{&asked}, chars{} })
	job := h.job("acme")
	begin := h.Now()
	var rare []string
	var drafts []memory.Draft
	for i := range 5000 {
		d := memory.Draft{Content: fmt.Sprint("note ", i), CreatedAt: begin.Add(-time.Duration(i+1) * time.Second)}
		if i%1000 == 999 {
			d.Tags, d.Subjects = []string{"rare"}, []string{"customer:rare"}
			rare = append(rare, d.Content)
		}
		drafts = append(drafts, d)
	}
	for part := range slices.Chunk(drafts, 500) {
		_, err := job.PutAll(ctx, "m", part...)
		require.NoError(t, err)
	}
	last := begin.Add(-5000 * time.Second)
	for name, c := range map[string]struct {
		q    memory.Search
		want []string
	}{
		"tag":         {memory.Search{Tags: []string{"rare"}}, rare},
		"subject":     {memory.Search{Subject: "customer:rare"}, rare},
		"until":       {memory.Search{Until: last.Add(5 * time.Second)}, []string{"note 4995", "note 4996", "note 4997", "note 4998", "note 4999"}},
		"no filter":   {memory.Search{}, []string{"note 0", "note 1", "note 2", "note 3", "note 4"}},
		"none passes": {memory.Search{Tags: []string{"none"}}, nil},
	} {
		c.q.Text, asked = "note", 0
		for _, limit := range []int{1, 3, 5, 100} {
			q := c.q
			q.Limit = limit
			hits, err := h.Search(ctx, "acme", "m", q)
			require.NoError(t, err)
			want := c.want
			if name == "no filter" && limit == 100 {
				require.Len(t, hits, 100)
				continue
			}
			var got []string
			for _, hit := range hits {
				got = append(got, hit.Entry.Content)
			}
			require.Equal(t, want[:min(limit, len(want))], got, "%s, limit %d", name, limit)
		}
		if name == "no filter" {
			require.Equal(t, 4, asked, "once for each answer")
		}
	}
}

// A ranker that says the same, or what is no entry, again and again ends the asking.
func TestS1_ARankerThatRepeatsItselfEndsTheAsking(t *testing.T) {
	asked := 0
	h := newHost(t, func(c *memory.Config) {
		c.Ranker = rankerFunc(func(_ context.Context, _ *memory.View, q memory.Search) ([]memory.Hit, error) {
			asked++
			return make([]memory.Hit, q.Limit), nil
		})
	})
	put(t, h.job("acme"), "m", "note")
	hits, err := h.Search(ctx, "acme", "m", memory.Search{Text: "note", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, hits)
	require.Equal(t, 1, asked)
}
