package main

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
)

// toy takes the place of a host's model. It is no model: it knows the words below, and that those of
// one line mean alike. It needs no network, and gives the same vector for the same text.
type toy struct{}

var meanings = [...]string{
	"angry furious livid upset annoyed cross",
	"happy glad thanked pleased cake",
	"late delayed overdue days",
	"money refund invoice pays price euros",
	"move moves relocate shop office",
	"phone call called ring",
}

// known is how many words the toy knows.
func (toy) known() int { return len(strings.Fields(strings.Join(meanings[:], " "))) }

func (toy) Model() string { return "quickstart-toy/1" }

func (toy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = vectorOf(text)
	}
	return vectors, nil
}

// vectorOf has a dimension for each meaning. A word without one counts a little in one of 64
// others, so that texts of such words are not all alike.
func vectorOf(text string) []float32 {
	vector := make([]float32, len(meanings)+64)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, word := range append(words, "") { // no vector is all zeros
		alike := func(line string) bool { return slices.Contains(strings.Fields(line), word) }
		if m := slices.IndexFunc(meanings[:], alike); m >= 0 {
			vector[m]++
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(word))
		vector[len(meanings)+int(h.Sum32()%64)] += 0.2
	}
	return vector
}
