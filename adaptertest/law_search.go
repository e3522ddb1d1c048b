package adaptertest

import (
	"fmt"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func searchLaw() law {
	search := []Offer{Searcher}
	return law{name: "SEARCH", number: "M4, M5", says: "a search by the store finds what a filter over the live entries would", cases: []testCase{
		{"text", "text is looked for as it stands, without regard to case", search, searchText},
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
