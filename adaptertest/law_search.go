package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func searchLaw() law {
	search := []Offer{Searcher}
	return law{name: "SEARCH", number: "M4, M5", says: "a search by the store finds what a filter over the live entries would", cases: []testCase{
		{"text", "text is looked for as it stands, without regard to case", search, searchText},
		{"oracle", "random searches find what a filter finds", search, searchOracle},
	}}
}

// finds expects these ids; a semantic store may rank them.
func (w *world) finds(q driver.Search, want ...string) {
	q.Limit = memory.MaxListLimit
	got := w.search(home, q)
	if w.found.traits.Semantic && q.Text != "" {
		return // what is near to a text is the store's to say
	}
	w.sameIDs(got, want)
}

func searchText(w *world) {
	for i, text := range []string{"Alpha beta", "alphabet", "100% sure", "100 percent", "a_b", "axb", "it's", `back\slash`, "ÉCLAIR", "new\nline", "star*", "[x]", ""} {
		e := w.entry(fmt.Sprintf("e%02d", i))
		e.Content = text
		w.put(home, e)
	}
	for text, want := range sorted(map[string][]string{
		"alpha": {"e01", "e00"}, "ALPHA B": {"e00"}, "100%": {"e02"}, "a_b": {"e04"}, "it's": {"e06"}, `\s`: {"e07"}, "éclair": {"e08"},
		"w\nl": {"e09"}, "*": {"e10"}, "[x]": {"e11"}, "absent": nil, "?": nil, ".": nil, "beta alpha": nil,
	}) {
		w.finds(driver.Search{Text: text}, want...)
	}
}

func searchOracle(w *world) {
	words := []string{"red", "green", "Blue", "RED", "greenish"}
	var stored []driver.Entry
	w.quietly("put 60 entries of random words, tags, instants and expiries, and delete some", func() {
		for i := range 60 {
			e := w.entry(fmt.Sprintf("e%02d", i))
			e.Content = words[w.rng.IntN(5)] + " " + words[w.rng.IntN(5)]
			e.Tags = []string{words[w.rng.IntN(5)], words[w.rng.IntN(5)]}
			e.CreatedAt = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
			if w.rng.IntN(3) == 0 {
				e.ExpiresAt = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Minute)
			}
			w.put(home, e)
			if w.rng.IntN(5) > 0 {
				stored = append(stored, e)
			} else {
				w.as(time.Time{}, func() { w.delete(home, e.ID, true) })
			}
		}
	})
	slices.SortFunc(stored, func(a, b driver.Entry) int {
		if a.Before(&b) {
			return -1
		}
		return 1
	})
	start := w.now
	for range 40 {
		w.now = start.Add(time.Duration(w.rng.IntN(3)) * time.Minute)
		var q driver.Search
		if w.rng.IntN(2) == 0 {
			q.Text = words[w.rng.IntN(5)]
		}
		if w.rng.IntN(2) == 0 {
			q.Tags = []string{words[w.rng.IntN(5)]}
		}
		if w.rng.IntN(3) == 0 {
			q.Since = start.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
		}
		if w.rng.IntN(3) == 0 {
			q.Until = start.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
		}
		q.At = w.now
		var want []string
		for _, e := range stored {
			if q.Matches(&e) {
				want = append(want, e.ID)
			}
		}
		w.finds(q, want...)
	}
}
