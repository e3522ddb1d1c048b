package distill

import (
	"context"
	"math"
	"slices"
	"strings"
)

// Extractive is the default [Summarizer]. It needs no model and invents nothing, and its answer is a function of the
// request alone.
//
// It splits the sources into passages: lines, and of a line of more than 240 bytes as many whole
// sentences as have room in that. If a passage, or the heading above it, is relative to the day on which it was written,
// or its language is not known, that day stands before it, in UTC: "2026-03-02: Ann moves to Berlin tomorrow." Package
// consolidate says what is relative. Equal ones count as one, with the weight of all that say it.
//
// Next it always takes the passage that is worth most for each token it costs; of two that are worth the same, the newer.
// A passage is worth the sum, over its words that no passage taken so far holds, of how rare each
// is (the logarithm of the number of passages over that of those that hold it), times
// 1 + log2(weight)/2. A number counts fourfold, and so does a name: a word that stands somewhere
// with a capital letter though no sentence begins with it. Words are compared without regard to
// case; in scripts that put no blank between words, pairs of characters are the words.
//
// What does not fit is passed over, never cut. Only a passage longer than MaxBytes is cut to it, between runes and
// outside markers; if there is room for no more than its day, it is left out. The cost is near-linear in the length of
// the sources.
type Extractive struct{}

// Version is the name and version of the algorithm.
func (Extractive) Version() string { return "extractive/4" }

// Summarize returns the passages that fit, most valuable first; none if the smallest
// does not.
func (Extractive) Summarize(ctx context.Context, req Request) ([]Item, error) {
	all, err := collect(ctx, req)
	if err != nil {
		return nil, err
	}
	items, err := pick(ctx, req, all)
	if err != nil {
		return nil, err
	}
	return fitted(ctx, req, items)
}

// collect gives the distinct passages, newest first, redacted and within MaxBytes.
func collect(ctx context.Context, req Request) ([]passage, error) {
	all := make([]passage, 0, 2*len(req.Sources))
	at := make(map[string]int, 2*len(req.Sources))
	for i := range req.Sources {
		s := &req.Sources[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for day, text := range passages(s.Text, s.CreatedAt) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			text, err := shorten(req, day, text)
			if err != nil {
				return nil, err
			}
			if text == "" {
				continue
			}
			same := samePassage(text)
			n, known := at[same]
			if !known {
				at[same] = len(all)
				all = append(all, passage{text: text, weight: s.Weight, tokens: req.Count(text), ids: []string{s.ID}})
				continue
			}
			p := &all[n]
			if p.ids[len(p.ids)-1] != s.ID { // twice in one entry is once
				p.ids = append(p.ids, s.ID)
				p.weight += s.Weight
			}
		}
	}
	return all, ctx.Err()
}

// shorten redacts a passage with its day before it, and cuts it if that is longer than any output may be; "" if there
// is no room behind the day.
func shorten(req Request, day, text string) (string, error) {
	out, err := req.Redact(day + text)
	for limit := req.MaxBytes - len(day); err == nil && len(out) > req.MaxBytes; {
		if limit <= 0 {
			return "", nil
		}
		part := strings.TrimSpace(cut(text, limit))
		limit = min(limit-1, len(part)-1)
		out, err = req.Redact(day + part)
	}
	return out, err
}

// pick takes passages as long as they fit.
func pick(ctx context.Context, req Request, all []passage) ([]Item, error) {
	tokens, size := req.MaxTokens, req.MaxBytes
	if tokens == 0 {
		tokens = math.MaxInt
	}
	separator, least := req.Count("\n"), math.MaxInt
	for i := range all {
		all[i].cost = all[i].tokens + separator
		least = min(least, all[i].tokens)
	}
	var items []Item
	err := choose(ctx, all, func(p *passage) (taken, more bool) {
		cost, length := p.tokens, len(p.text)
		if len(items) > 0 {
			cost, length = cost+separator, length+1
		}
		if taken = cost <= tokens && length <= size; taken {
			tokens, size = tokens-cost, size-length
			items = append(items, Item{sortedIDs(p.ids), p.text})
		}
		return taken, tokens >= least && size > 0
	})
	return items, err
}

// minimum is the smallest output of the default summarizer in tokens; 0 if there is
// none at all.
func minimum(ctx context.Context, req Request) (int, error) {
	all, err := collect(ctx, req)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return slices.MinFunc(all, func(a, b passage) int { return a.tokens - b.tokens }).tokens, nil
}
