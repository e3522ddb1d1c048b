package distill

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Extractive is the default [Summarizer]. It needs no model, invents nothing, and
// its answer is a function of the request alone.
//
// It splits the sources into sentences and lines and takes whole ones, so that
// numbers and dates stay as they were. Equal ones count as one fact, with the weight
// of all that say it. Facts are worth their weight divided by their place, newest
// first: the hundredth newest that five entries say is worth as much as the twentieth
// that one says. Those that say something new go before those of whose word pairs
// more than two thirds were taken already, unless they have a new number. What does
// not fit is passed over, never cut; only a fact longer than MaxBytes is cut to it,
// between runes and outside markers. It takes time linear in the length of the
// sources, but for a sort.
type Extractive struct{}

// Name is the name and version of the algorithm.
func (Extractive) Version() string { return "extractive/1" }

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
	items := pick(req, all)
	for len(items) > 0 {
		kept := items
		text, err := whole(req, &kept)
		if err != nil {
			return nil, err
		}
		// Costs of items need not add up to that of their text.
		if req.within(text) {
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
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		facts(s.Text, func(text string) {
			text, err := fit(req, text)
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
		all[i].cost = req.Count(all[i].text)
	}
	return all, nil
}

// fit redacts a fact, and cuts it if it is longer than any output may be.
func fit(req Request, text string) (string, error) {
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

// pick takes facts by value as long as they fit, those that say something new first.
func pick(req Request, all []fact) []Item {
	tokens, size := req.MaxTokens, req.MaxBytes
	if tokens == 0 {
		tokens = math.MaxInt
	}
	least := math.MaxInt
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
		least = min(least, all[i].cost)
	}
	slices.SortFunc(order, func(a, b int) int {
		// weight/place, largest first; then the newest
		return cmp.Or(cmp.Compare(all[b].weight*(a+1), all[a].weight*(b+1)), cmp.Compare(a, b))
	})
	separator := req.Count("\n")
	var taken []Item
	var later []int
	seen := map[uint64]struct{}{}
	take := func(i int) {
		f := &all[i]
		cost, length := f.cost, len(f.text)
		if len(taken) > 0 {
			cost, length = cost+separator, length+1
		}
		if cost > tokens || length > size {
			return
		}
		tokens, size = tokens-cost, size-length
		taken = append(taken, Item{sortedIDs(f.ids), f.text})
		pairs(f.text, func(h uint64, _ bool) { seen[h] = struct{}{} })
	}
	for _, i := range order {
		if tokens < least || size <= 0 {
			return taken
		}
		if !isNew(all[i].text, seen) {
			later = append(later, i)
			continue
		}
		take(i)
	}
	for _, i := range later {
		if tokens < least || size <= 0 {
			break
		}
		take(i)
	}
	return taken
}

// isNew reports whether a fact says something that those taken do not.
func isNew(text string, seen map[uint64]struct{}) bool {
	total, unseen, number := 0, 0, false
	pairs(text, func(h uint64, digit bool) {
		_, known := seen[h]
		if digit {
			number = number || !known
			return
		}
		total++
		if !known {
			unseen++
		}
	})
	return number || 3*unseen >= total
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
