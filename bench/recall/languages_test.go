package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/recall"
)

// inFive is of how many of the twenty questions in a language the evidence is among the first five today.
var inFive = map[string]int{"de": 18, "ru": 20, "fr": 20, "es": 20, "zh": 20, "ja": 20}

// TestLanguages guards what is found in other languages than English: questions that say the words of an
// entry in other forms, over forty short entries.
func TestLanguages(t *testing.T) {
	ctx := context.Background()
	memories, err := readFile("testdata/languages.jsonl")
	require.NoError(t, err)
	s, err := openInMemory(ctx, after(memories), recall.Config{})
	require.NoError(t, err)
	for _, m := range memories {
		search, err := s.live(ctx, m)
		require.NoError(t, err)
		bleve, err := newBleveIndex(m)
		require.NoError(t, err)
		var found, theirs float64
		for i := range m.Questions {
			q := &m.Questions[i]
			answer, err := search(ctx, q.Text)
			require.NoError(t, err)
			peer, err := bleve.search(ctx, q.Text)
			require.NoError(t, err)
			found, theirs = found+recallAt(5, q, answer), theirs+recallAt(5, q, peer)
			if recallAt(5, q, answer) < 1 {
				t.Logf("%s: %s", m.Ref, q.Text)
			}
		}
		bleve.close()
		t.Logf("%s: %v of %d, bleve %v", m.Ref, found, len(m.Questions), theirs)
		assert.Len(t, m.Questions, 20)
		assert.GreaterOrEqual(t, int(found), inFive[m.Ref], m.Ref)
	}
}
