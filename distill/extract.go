package distill

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Extractive is the default [Summarizer]. It needs no model, invents nothing, knows no
// language, and its answer is a function of the request alone.
//
// It splits the sources into sentences and lines, here called facts, and takes whole ones, so
// that numbers and dates stay as they were. Equal ones count as one fact, with the weight of
// all that say it. Next it always takes the fact that is worth most for each token it costs.
// A fact is worth the sum, over its words that no fact taken so far holds, of how rare each is
// (the logarithm of the number of facts over that of those that hold it). That is multiplied
// by 1 + log2(weight)/2, and by its recency, which falls evenly from 1 for the newest fact to
// 3/4 for the oldest. Words are compared without regard to case; in scripts that put no
// blank between words, pairs of characters stand for words.
//
// What does not fit is passed over, never cut; only a fact longer than MaxBytes is cut to it,
// between runes and outside markers. The cost is near-linear in the length of the sources.
type Extractive struct{}

// Version is the name and version of the algorithm.
func (Extractive) Version() string { return "extractive/2" }

// fact is what one or more sources say.
type fact struct {
	text   string
	ids    []string
	weight int
	cost   int
}

// Summarize returns the facts that fit, most valuable first; none if the smallest
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
	for len(items) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kept := items
		text, err := joinRedacted(req, &kept)
		if err != nil {
			return nil, err
		}
		// Costs of items need not add up to that of their text.
		if req.fits(text) {
			return kept, nil
		}
		items = items[:len(items)-1]
	}
	return nil, nil
}

// collect gives the distinct facts, newest first, redacted and within MaxBytes.
func collect(ctx context.Context, req Request) ([]fact, error) {
	all := make([]fact, 0, 2*len(req.Sources))
	at := make(map[string]int, 2*len(req.Sources))
	var failed error
	for i := range req.Sources {
		s := &req.Sources[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		facts(s.Text, func(text string) {
			if failed = cmp.Or(failed, ctx.Err()); failed != nil {
				return
			}
			text, err := shorten(req, text)
			if err != nil || text == "" {
				failed = cmp.Or(failed, err)
				return
			}
			same := sameFact(text)
			n, known := at[same]
			if !known {
				at[same] = len(all)
				all = append(all, fact{text: text, ids: []string{s.ID}, weight: s.Weight})
				return
			}
			f := &all[n]
			if f.ids[len(f.ids)-1] != s.ID { // twice in one entry is once
				f.ids = append(f.ids, s.ID)
				f.weight += s.Weight
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i].cost = req.Count(all[i].text)
	}
	return all, nil
}

// shorten redacts a fact, and cuts it if it is longer than any output may be.
func shorten(req Request, text string) (string, error) {
	out, err := req.Redact(text)
	for limit := req.MaxBytes; err == nil && len(out) > req.MaxBytes; {
		if limit <= 0 {
			return "", nil
		}
		part := trim(cut(text, limit))
		limit = min(limit-1, len(part)-1)
		out, err = req.Redact(part)
	}
	return out, err
}

// pick takes facts as long as they fit.
func pick(ctx context.Context, req Request, all []fact) ([]Item, error) {
	tokens, size := req.MaxTokens, req.MaxBytes
	if tokens == 0 {
		tokens = math.MaxInt
	}
	separator, least := req.Count("\n"), math.MaxInt
	candidates := make([]candidate, len(all))
	for i, f := range all {
		candidates[i] = candidate{f.text, f.weight, f.cost + separator}
		least = min(least, f.cost)
	}
	var items []Item
	err := choose(ctx, candidates, func(i int) (taken, more bool) {
		cost, length := all[i].cost, len(all[i].text)
		if len(items) > 0 {
			cost, length = cost+separator, length+1
		}
		if taken = cost <= tokens && length <= size; taken {
			tokens, size = tokens-cost, size-length
			items = append(items, Item{sortedIDs(all[i].ids), all[i].text})
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
	return slices.MinFunc(all, func(a, b fact) int { return a.cost - b.cost }).cost, nil
}
