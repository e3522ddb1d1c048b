package consolidate

import (
	"slices"
	"strings"
)

// guards are the kinds of facts that a merge may not change (C8), in the order in
// which a reason names them.
var guards = []struct {
	name string
	is   func(*token) bool
}{
	{"numbers", func(t *token) bool { return t.kind == number }},
	{"dates", func(t *token) bool { return t.kind == date }},
	{"units", func(t *token) bool { return t.kind == unit }},
	{"names", func(t *token) bool { return t.name && t.kind == plain }},
	{"negation", func(t *token) bool { return t.kind == negation }},
	{"quantifiers", func(t *token) bool { return t.kind == quantifier }},
	{"quotations", func(t *token) bool { return t.kind == quoted }},
	{"identifiers", func(t *token) bool { return t.kind == ident }},
}

// facts are the guarded facts of a text, by kind.
type facts []map[string]bool

func factsOf(n note) facts {
	f := make(facts, len(guards))
	for _, s := range n {
		for i := range s.tokens {
			t := &s.tokens[i]
			for g, guard := range guards {
				if !guard.is(t) {
					continue
				}
				if f[g] == nil {
					f[g] = map[string]bool{}
				}
				text := strings.ToLower(t.text)
				if t.kind == negation && i+1 < len(s.tokens) {
					// What is denied matters, not only that something is.
					text = "not " + s.tokens[i+1].text
				}
				f[g][text] = true
			}
		}
	}
	return f
}

// shared names the kinds of facts that a text has, for the reason of a merge.
func (f facts) shared() string {
	var names []string
	for g, guard := range guards {
		if len(f[g]) > 0 || guard.name == "numbers" || guard.name == "negation" {
			names = append(names, "same "+guard.name)
		}
	}
	return strings.Join(names, ", ")
}

// lost compares a merged text with the texts it is to stand for, and names the first
// kind of guarded fact that one of them has and it has not, or that it has and none of
// them; "" if there is none. A name counts as kept wherever its word occurs, and as
// made up only if no source has the word.
func lost(merged note, sources []note) string {
	have := factsOf(merged)
	words := wordsOf(merged)
	known := map[string]bool{}
	all := make(facts, len(guards))
	for _, s := range sources {
		for w := range wordsOf(s) {
			known[w] = true
		}
		for g, of := range factsOf(s) {
			for fact := range of {
				if all[g] == nil {
					all[g] = map[string]bool{}
				}
				all[g][fact] = true
				if !have[g][fact] && !(guards[g].name == "names" && words[fact]) {
					return guards[g].name
				}
			}
		}
	}
	for g, of := range have {
		for fact := range of {
			if !all[g][fact] && !(guards[g].name == "names" && known[fact]) {
				return guards[g].name
			}
		}
	}
	return ""
}

func wordsOf(n note) map[string]bool {
	m := map[string]bool{}
	for t := range n.each {
		m[strings.ToLower(t.text)] = true
	}
	return m
}

// similarity is the share of words that two notes have in common.
func similarity(a, b note) float64 {
	x, y := wordsOf(a), wordsOf(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	if all := len(x) + len(y) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 1
}

// bag is the words of a note in a fixed order, without those that a change on the
// list of [sameFact] may add or take away: notes that say the same have the same bag.
func bag(n note) []string {
	words := make([]string, 0, n.words())
	for t := range n.each {
		if !loose[t.text] || t.kind == quoted {
			words = append(words, t.text)
		}
	}
	slices.Sort(words)
	return words
}

var loose = set("in of 's and on at")
