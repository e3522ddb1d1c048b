package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// imageless is a store that shows no image of an index.
type imageless struct{ *sqlite.Store }

func (s imageless) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		for d, err := range s.Store.Documents(ctx, q) {
			if d.Kind != "recall.image" && !yield(d, err) {
				return
			}
		}
	}
}

// Two processes over one file answer alike, and as one that has just begun, with an image or without.
func TestS2_AnImageInSQLiteChangesNoAnswer(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "memory.db")
	open := func() *sqlite.Store {
		db, err := sqlite.Open(ctx, file, sqlite.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db.Memory()
	}
	bank := func(st driver.Adapter) *memory.Bank {
		ranker, err := recall.New(recall.Config{})
		require.NoError(t, err)
		b, err := memory.New(st, memory.Config{Now: func() time.Time { return now }, Ranker: ranker})
		require.NoError(t, err)
		return b
	}
	one, two := open(), open()
	first, second := bank(one), bank(two)
	secrets := func() memory.Redactor { return redact.New(redact.Config{}) }
	job, err := first.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: secrets()})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(36, 1))
	word := func() string { return fmt.Sprintf("word%c", 'a'+r.IntN(26)) }
	var ids []string
	put := func() {
		d := memory.Draft{Content: word() + " " + word() + " " + word(), Subjects: []string{fmt.Sprint("s", r.IntN(100))}}
		if r.IntN(4) == 0 {
			d.ExpiresAt = now.Add(time.Duration(1+r.IntN(3600)) * time.Second)
		}
		e, err := job.Put(ctx, "m", d)
		require.NoError(t, err)
		ids = append(ids, e.ID)
		now = now.Add(time.Second)
	}
	for range 400 {
		put()
	}
	images := 0
	for step := range 60 {
		one, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
		switch r.IntN(8) {
		case 0:
			_, err = job.Delete(ctx, "m", one)
			require.NoError(t, err)
		case 1:
			_, _ = job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{ID: one, State: memory.Merged, For: other}}})
		case 2:
			_, _ = job.Rewrite(ctx, "m", memory.Rewrite{Restore: []string{one}})
		case 3:
			_, err = second.Forget(ctx, "acme", fmt.Sprint("s", r.IntN(100)))
			require.NoError(t, err)
		case 4:
			now = now.Add(time.Duration(r.IntN(600)) * time.Second)
		default:
			put()
		}
		if r.IntN(2) == 0 {
			_, err := []*memory.Bank{first, second}[r.IntN(2)].Maintain(ctx)
			require.NoError(t, err)
		}
		for d, err := range job.Documents(ctx, "m", driver.DocumentQuery{Kind: "recall.image"}) {
			require.NoError(t, err)
			require.NotContains(t, string(d.Value), "word")
			images++
		}
		q := memory.Search{Text: word() + " " + word(), Limit: 20}
		want, err := bank(imageless{two}).Search(ctx, "acme", "m", q)
		require.NoError(t, err)
		require.NotEmpty(t, want)
		for i, b := range []*memory.Bank{first, second, bank(two)} {
			got, err := b.Search(ctx, "acme", "m", q)
			require.NoError(t, err)
			require.Equal(t, want, got, "step %d, bank %d", step, i)
		}
	}
	require.Greater(t, images, 10)
}
