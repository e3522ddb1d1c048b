package models

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// RankerEmbedder turns texts into vectors for the ranker of package recall, which redacts what it asks
// for. Give it to nothing else.
type RankerEmbedder struct{ m *Models }

// RankerEmbedder returns the embedder for the ranker of package recall.
func (m *Models) RankerEmbedder() RankerEmbedder { return RankerEmbedder{m} }

// Model names the model.
func (e RankerEmbedder) Model() string { return nameOf(e.m.cfg.Vectors) }

// Embed returns a vector for each text, and nil for a blank one. A text counts up to [EmbedBytes].
// All vectors have one length, and none has a NaN or an infinity or zeros only.
func (e RankerEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.m.embed(ctx, texts)
}

// embed asks the model for the vectors of redacted texts.
func (m *Models) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.cfg.Vectors == nil {
		return nil, invalid("there is no model for vectors")
	}
	vectors := make([][]float32, len(texts))
	var ask []string
	var at []int
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			ask, at = append(ask, cut(text)), append(at, i)
		}
	}
	length := 0
	for batch := range slices.Chunk(ask, EmbedTexts) {
		call := Call{Task: Embed, Model: m.cfg.Vectors.Name()}
		err := m.try(ctx, call, m.cfg.VectorPrices, func() (Tokens, error) {
			got, err := m.cfg.Vectors.Embed(ctx, batch)
			if err != nil {
				return got.Tokens, err
			}
			if len(got.Vectors) != len(batch) {
				return got.Tokens, unusable(nil)
			}
			for i, v := range got.Vectors {
				if length == 0 {
					length = len(v)
				}
				if len(v) != length || !points(v) {
					return got.Tokens, unusable(nil)
				}
				vectors[at[i]] = v
			}
			return got.Tokens, nil
		})
		if err != nil {
			return nil, err
		}
		at = at[len(batch):]
	}
	return vectors, nil
}

// points reports whether a vector has a direction.
func points(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum > 0 && !math.IsInf(sum, 0) && !math.IsNaN(sum)
}

// cut is the beginning of a text, at most EmbedBytes of it.
func cut(text string) string {
	if len(text) <= EmbedBytes {
		return text
	}
	n := EmbedBytes
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
