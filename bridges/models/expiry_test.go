package models_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

const (
	call     = "Call Lena on 12 May at 17:00."
	lasting  = "The depot has a red door."
	anHour   = time.Hour
	untilMay = 72 * 24 * time.Hour
)

// expiring is a world in which two notes that say the same, and a third that is to be done, live for an hour, and one
// for ever.
func expiring(t *testing.T) *world {
	w := emptyWorld(t, inmem.New(), nil)
	for text, ttl := range map[string]time.Duration{shift: anHour, shift2: anHour, call: anHour, lasting: 0} {
		_, err := w.job("acme").Put(t.Context(), "ref", memory.Draft{Content: text, TTL: ttl})
		require.NoError(t, err)
	}
	return w
}

// slow is a model that gives good answers, while which are made an hour goes by.
func slow(w *world) func(models.Task, string) string {
	return func(task models.Task, request string) string {
		w.pass(anHour)
		if task == models.Summarize {
			return items(object{"notes": []int{1}, "text": "Kestrel starts at 22:00, and Lena is to be called."})
		}
		return good(task, request)
	}
}

// made are the records of entries that a pass has written.
func (w *world) made() (made []memory.Record) {
	for rec, err := range w.job("acme").History(w.Context(), "ref") {
		require.NoError(w, err)
		if len(rec.Entry.Sources) > 0 {
			made = append(made, rec)
		}
	}
	return made
}

// M4: what a model makes of notes that expire while it thinks is not written: not the text in the place of a
// group, and not the summary; and a pass that follows does not bring it back.
func TestM4_WhatExpiresWhileTheModelThinksIsNotMerged(t *testing.T) {
	for _, api := range []string{"anthropic", "openai"} {
		w := expiring(t)
		s := serve(t, slow(w))
		m := s.over(t, models.Config{})[api]
		for range 2 {
			result, err := w.consolidate(m)
			require.NoError(t, err)
			assert.Zero(t, result.Merged+result.Derived, "%+v", result)
		}
		assert.Len(t, s.requests(), 1, "the model was asked about them while they lived, and not again")
		assert.Equal(t, []string{lasting}, w.live("acme"))
		assert.Empty(t, w.made())
	}
}

func TestM4_WhatExpiresWhileTheModelThinksIsNotSummarized(t *testing.T) {
	for _, api := range []string{"anthropic", "openai"} {
		w := expiring(t)
		s := serve(t, slow(w))
		m := s.over(t, models.Config{})[api]
		result, err := w.distill(m)
		require.NoError(t, err, "it begins anew with what lives on")
		require.Len(t, s.requests(), 2)
		assert.Contains(t, s.requests()[0], "Kestrel")
		assert.NotContains(t, s.requests()[1], "Kestrel")
		made := w.made()
		require.Len(t, made, 1)
		assert.Len(t, made[0].Entry.Sources, 1)
		assert.Equal(t, result.Output.ID, made[0].Entry.ID)
	}
}

// D5 and C9: what was made in time ends with what it was made from.
func TestM4_WhatAModelMadeEndsWithItsSources(t *testing.T) {
	for _, api := range []string{"anthropic", "openai"} {
		w := expiring(t)
		m := serve(t, good).over(t, models.Config{})[api]
		runner, err := distill.New(distill.Config{Summarizer: m.Summarizer()})
		require.NoError(t, err)
		summary, err := runner.Distill(t.Context(), w.job("acme"), "ref", distill.Options{TokenBudget: 200, WithSources: true})
		require.NoError(t, err)
		require.Contains(t, summary.Output.Content, "Lena")
		merged, err := w.consolidate(m)
		require.NoError(t, err)
		require.Equal(t, 1, merged.Merged, "%+v", merged)
		for _, rec := range w.made() {
			assert.Equal(t, w.now.Add(anHour), rec.Entry.ExpiresAt)
		}
		w.pass(anHour)
		assert.Equal(t, []string{lasting}, w.live("acme"))
		again, err := w.consolidate(m)
		require.NoError(t, err)
		assert.Zero(t, again.Merged+again.Derived)
		_, err = runner.Open(t.Context(), w.job("acme"), "ref", summary.Output.ID)
		assert.ErrorIs(t, err, memory.ErrNotFound, "nor is its archive to be had")
	}
}

// fired counts the runs that commitments start.
type fired struct{ n int }

func (f *fired) Enqueue(context.Context, commitment.Firing) (string, error) {
	f.n++
	return "run-1", nil
}

// K6: an intention of a note that expires while the model reads it fires nothing.
func TestK6_WhatExpiresWhileTheModelThinksFiresNothing(t *testing.T) {
	for _, api := range []string{"anthropic", "openai"} {
		for late, wants := range map[time.Duration]int{0: 1, anHour: 0} {
			w := emptyWorld(t, inmem.New(), nil)
			_, err := w.job("acme").Put(t.Context(), "ref", memory.Draft{Content: call, TTL: untilMay})
			require.NoError(t, err)
			w.pass(untilMay - anHour)
			m := serve(t, func(task models.Task, request string) string {
				w.pass(late)
				return arm("at", w.now.Add(time.Minute).In(time.UTC).Format("2006-01-02T15:04"))
			}).over(t, models.Config{})[api]
			inferrer, err := m.Inferrer("")
			require.NoError(t, err)
			runs := &fired{}
			engine, err := commitment.New(w.bank, commitment.Config{Inferrer: inferrer, Enqueuer: runs,
				Redactor: func(context.Context, string) (memory.Redactor, error) { return shared{w.secrets}, nil }})
			require.NoError(t, err)
			for range 3 {
				if _, err = engine.Infer(w.ctx(), w.job("acme"), "ref"); err != nil {
					assert.ErrorIs(t, err, memory.ErrConflict)
				}
				w.pass(2 * time.Minute)
				_, err = engine.Tick(t.Context())
				require.NoError(t, err)
			}
			assert.Equal(t, wants, runs.n, "control: in time it fires")
		}
	}
}

// thinks is a model for vectors, while which are made an hour goes by.
type thinks struct {
	scripted
	w *world
}

func (s *thinks) Embed(ctx context.Context, texts []string) (models.Embedded, error) {
	s.w.pass(anHour)
	return s.scripted.Embed(ctx, texts)
}

// S3: a vector of a note that expires while the model makes it finds nothing, and goes with the note.
func TestS3_WhatExpiresWhileTheModelThinksIsNotFound(t *testing.T) {
	vectors := &thinks{scripted: scripted{steps: []func() (string, error){ok}}}
	m, err := models.New(models.Config{Vectors: vectors})
	require.NoError(t, err)
	ranker, err := recall.New(recall.Config{Embedder: m.RankerEmbedder(),
		Redactor: func(context.Context, string) (memory.Redactor, error) { return shared{vectors.w.secrets}, nil }})
	require.NoError(t, err)
	w := emptyWorld(t, inmem.New(), ranker)
	vectors.w = w
	for text, ttl := range map[string]time.Duration{shift: anHour, lasting: 0} {
		_, err := w.job("acme").Put(t.Context(), "ref", memory.Draft{Content: text, TTL: ttl})
		require.NoError(t, err)
	}
	_, err = w.bank.Maintain(t.Context())
	require.NoError(t, err)
	require.Len(t, vectors.texts, 1)
	require.Len(t, vectors.texts[0], 2, "it was asked about both")
	for range 2 {
		hits, err := w.bank.Search(t.Context(), "acme", "ref", memory.Search{Text: "When does the shift start at the depot?"})
		require.NoError(t, err)
		require.Len(t, hits, 1)
		assert.Equal(t, lasting, hits[0].Entry.Content)
		_, err = w.bank.Maintain(t.Context())
		require.NoError(t, err)
	}
}
