package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// modelled is a ranker that says that it ranks by meaning.
type modelled struct{ rankerFunc }

func (modelled) Model() string { return "test" }

// byLength ranks the longest first.
func byLength(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	var hits []memory.Hit
	for n := 100; n >= 0; n-- {
		for e, err := range v.Entries(ctx) {
			if err != nil {
				return nil, err
			}
			if len(e.Content) == n && len(hits) < q.Limit {
				hits = append(hits, memory.Hit{Entry: memory.Entry{ID: e.ID}})
			}
		}
	}
	return hits, nil
}

// RFC 0113: relevance needs a query, and is accepted only where something ranks by meaning.
func TestS5_ListsByRelevance(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.Ranker, c.TokenCounter = modelled{byLength}, chars{} })
	job := h.job("acme")
	for _, text := range []string{"a", "bbbb", "cc", "dddddddd", "eee"} {
		put(t, job, "m", text)
	}
	tagged, err := job.Put(ctx, "m", memory.Draft{Content: "ff", Tags: []string{"t"}})
	require.NoError(t, err)
	list := func(o memory.ListOptions) (texts []string) {
		entries, err := h.Reader("acme").List(ctx, "m", o)
		require.NoError(t, err)
		require.NotNil(t, entries)
		for _, e := range entries {
			texts = append(texts, e.Content)
		}
		return texts
	}
	ranked := memory.ListOptions{Rank: "relevance", Query: "q"}
	with := func(change func(*memory.ListOptions)) memory.ListOptions {
		o := ranked
		change(&o)
		return o
	}
	require.Equal(t, []string{"dddddddd", "bbbb", "eee", "ff", "cc", "a"}, list(ranked))
	require.Equal(t, []string{"dddddddd", "bbbb"}, list(with(func(o *memory.ListOptions) { o.Limit = 2 })))
	require.Equal(t, []string{"bbbb"}, list(with(func(o *memory.ListOptions) { o.TokenBudget = 6 })), "the longest is passed over, eee does not fit and ends the list")
	require.Equal(t, []string{"bbbb"}, list(with(func(o *memory.ListOptions) { o.TokenBudget, o.Limit = 7, 1 })))
	require.Equal(t, []string{"ff"}, list(with(func(o *memory.ListOptions) { o.Tag = "t" })))
	require.Empty(t, list(with(func(o *memory.ListOptions) { o.Tag = "u" })))
	require.Equal(t, []string{"ff", "eee", "dddddddd"}, list(memory.ListOptions{Rank: "recency", Query: "is not looked at", Limit: 3}))

	wrong := []memory.ListOptions{
		{Rank: "Relevance", Query: "q"}, {Rank: "score"}, {Rank: "relevance"}, {Rank: "relevance", Query: " \t"},
		{Rank: "relevance", Query: "\xff"}, with(func(o *memory.ListOptions) { o.TokenBudget = -1 }),
		with(func(o *memory.ListOptions) { o.Limit = -1 }), with(func(o *memory.ListOptions) { o.After = tagged.Cursor() }),
	}
	for _, ref := range []string{"m", "foreign"} {
		for _, o := range wrong {
			_, err := h.Reader("acme").List(ctx, ref, o)
			require.ErrorIs(t, err, memory.ErrValidation, "%+v", o)
		}
	}
	none, err := h.Reader("acme").List(ctx, "foreign", ranked)
	require.NoError(t, err)
	require.Equal(t, []memory.Entry{}, none)
	for _, c := range []func(*memory.Config){func(*memory.Config) {}, func(c *memory.Config) { c.Ranker = rankerFunc(byLength) }} {
		_, err := newHost(t, c).Reader("acme").List(ctx, "m", ranked)
		require.ErrorIs(t, err, memory.ErrNotProvided)
	}
}

// hangingCounter waits at a gate.
type hangingCounter struct {
	chars
	gate chan struct{}
}

func (c hangingCounter) Count(text string) int { <-c.gate; return c.chars.Count(text) }

// below counts below zero, by which a budget could be stretched.
type below struct{ chars }

func (below) Count(string) int { return -1 }

// unnamed panics when it is asked for its name.
type unnamed struct{ chars }

func (unnamed) Name() string { panic("canary") }

func TestS5_TokenCountersAndRankersThatMisbehaveAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		h := newHost(t, func(c *memory.Config) {
			c.TokenCounter = hangingCounter{gate: gate}
			c.Ranker = modelled{func(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) { <-gate; return nil, nil }}
		})
		put(t, h.job("acme"), "m", "x")
		begun := time.Now()
		_, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{TokenBudget: 1})
		require.EqualError(t, err, "memory: internal failure: the token counter did not answer in time")
		_, err = h.Reader("acme").List(ctx, "m", memory.ListOptions{Rank: "relevance", Query: "x"})
		require.EqualError(t, err, "memory: internal failure: the ranker did not answer in time")
		require.Equal(t, 2*memory.PluginTimeout, time.Since(begun))
		ended, end := context.WithTimeout(ctx, time.Second)
		defer end()
		_, err = h.Reader("acme").List(ended, "m", memory.ListOptions{TokenBudget: 1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	h := newHost(t, func(c *memory.Config) { c.TokenCounter = below{} })
	put(t, h.job("acme"), "m", "x")
	_, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{TokenBudget: 1})
	require.ErrorIs(t, err, memory.ErrInternal)
	_, err = memory.New(h.store, memory.Config{TokenCounter: unnamed{}})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "canary")
}

// A token of the format before still shows what the run saw; nothing that was embedded counts
// in its view.
func TestM7_TokensSayWhenTheirViewWasOpened(t *testing.T) {
	var opened time.Time
	h := newHost(t, func(c *memory.Config) {
		c.Ranker = rankerFunc(func(_ context.Context, v *memory.View, _ memory.Search) ([]memory.Hit, error) {
			opened = v.Opened()
			return nil, nil
		})
	})
	start := h.Now()
	run := h.run("r", "acme")
	h.clock.Advance(time.Hour)
	recall := func(of func(q memory.Search) ([]memory.Hit, error)) time.Time {
		_, err := of(memory.Search{Text: "x"})
		require.NoError(t, err)
		return opened
	}
	require.Equal(t, start, recall(func(q memory.Search) ([]memory.Hit, error) { return run.Search(ctx, "m", q) }))
	token, err := run.Token(ctx)
	require.NoError(t, err)
	require.Equal(t, start, recall(func(q memory.Search) ([]memory.Hit, error) {
		past, err := h.AsOf(ctx, "acme", token)
		require.NoError(t, err)
		return past.Search(ctx, "m", q)
	}))
	require.Zero(t, recall(func(q memory.Search) ([]memory.Hit, error) { return h.Search(ctx, "acme", "m", q) }))
}
