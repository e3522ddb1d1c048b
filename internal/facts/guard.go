package facts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Changed compares a merged text with the texts that it is to replace, and says what it lacks of
// a source, adds or changes; "" if nothing. Every fact of every source must be in it, and no other,
// and no word that has a meaning and that no source has. It errs to refusing. Its cost is near-linear in the bytes
// of the texts, and for each source in the words of the merged one. It fails with the context's
// error.
func Changed(ctx context.Context, merged string, sources []string) (string, error) {
	g := guard{merged: read(merged), all: &reading{at: map[string]span{}}, broken: kinds}
	for _, s := range sources {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		r := read(s)
		g.sources = append(g.sources, r)
		maps.Copy(g.all.at, r.at)
	}
	for _, s := range g.sources {
		g.checkLost(s)
		g.checkDenied(s)
	}
	g.checkNew()
	g.checkOrder()
	return g.why(), ctx.Err()
}

// guard compares a merged text with its sources.
type guard struct {
	merged  *reading
	sources []*reading
	all     *reading // the keys of all sources
	broken  int      // the first kind of fact that differs
	how     string   // it does so
}

func (g *guard) breaks(kind int, how string) {
	if kind < g.broken {
		g.broken, g.how = kind, how
	}
}

// why says what the merged text does; "" if nothing is broken.
func (g *guard) why() string {
	if g.broken == kinds {
		return ""
	}
	return "the text " + g.how + " " + kindNames[g.broken]
}

// find returns where the first of some keys stands that the text has.
func (r *reading) find(keys []string) (s span, ok bool) {
	for _, k := range keys {
		if s, ok = r.at[k]; ok {
			break
		}
	}
	return s, ok
}

func (r *reading) has(keys ...string) bool {
	_, ok := r.find(keys)
	return ok
}

// checkLost looks for facts of a source that the merged text has not.
func (g *guard) checkLost(source *reading) {
	for _, f := range source.facts {
		if !g.merged.has(f.keys...) {
			g.breaks(f.kind, "lacks")
		}
	}
	for _, w := range source.words {
		if isName(w) && !g.merged.has(w.nameForms()...) {
			g.breaks(names, "lacks")
		}
	}
}

// checkDenied looks for a source that has without its negation or sign what the merged text has
// with it.
func (g *guard) checkDenied(source *reading) {
	for _, f := range g.merged.facts {
		if f.bare != nil && source.has(f.bare...) && !source.has(f.keys...) {
			g.breaks(f.kind, "changes")
		}
	}
}

// checkNew looks for what the merged text has and no source.
func (g *guard) checkNew() {
	for _, f := range g.merged.facts {
		if !f.lax && !g.all.has(f.keys...) {
			g.breaks(f.kind, "adds")
		}
	}
	for _, w := range g.merged.words {
		if w.unit != "" && g.all.has(unitKey(w.unit)) && !g.all.has(unitKey(w.text+" "+w.unit)) {
			g.breaks(numbers, "adds")
		}
		if g.all.has(w.forms...) || g.connects(w.text) {
			continue
		}
		kind, ok := markedKind(w.forms)
		switch {
		case ok:
		case w.capital:
			kind = names
		default:
			kind = meanings
		}
		g.breaks(kind, "adds")
	}
	for _, row := range g.merged.rows {
		if g.isNewRow([]rune(row)) {
			g.breaks(meanings, "adds")
		}
	}
}

// checkOrder looks for two neighbours that a source has in the other order only, and no source in
// this one.
func (g *guard) checkOrder() {
	list := slices.DeleteFunc(slices.Clone(g.merged.words), func(w word) bool { return isSmall(w.text) })
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if a.text == b.text || a.sentence != b.sentence {
			continue
		}
		same, other := false, false
		for _, s := range g.sources {
			from, ok := s.find(a.forms)
			to, both := s.find(b.forms)
			if ok && both {
				same = same || from.first < to.last
				other = other || from.first > to.last
			}
		}
		if other && !same {
			g.breaks(orders, "changes")
		}
	}
}

// isName reports whether a capitalised word is a name: none that connects, is marked as something
// else, or opens sentences.
func isName(w word) bool {
	_, isMarked := markedKind(w.forms)
	return w.capital && !isMarked && !isConnecting(w.text) && !(w.starts && openers[w.text])
}

// nameForms are the forms of a name. In Latin letters it has one: Brand is not Brandt.
func (w word) nameForms() []string {
	if strings.ContainsFunc(w.text, func(c rune) bool { return unicode.Is(unicode.Latin, c) }) {
		return w.forms[:1]
	}
	return w.forms
}

// connects reports whether the merged text may have a word that no source has.
func (g *guard) connects(lower string) bool {
	for i, line := range pairsOfPersons {
		if slices.Contains(line, lower) && g.all.has(pairsOfPersons[i^1]...) {
			return false
		}
	}
	return isConnecting(lower)
}

// isNewRow reports whether a row of characters without blanks has a character that is neither in a
// pair of a source nor in a particle.
func (g *guard) isNewRow(row []rune) bool {
	isKnown := func(i int) bool { return i >= 0 && i+1 < len(row) && g.all.has(string(row[i:i+2])) }
	for i := 0; i < len(row); {
		n := 1
		if !isKnown(i-1) && !isKnown(i) && !(len(row) == 1 && g.all.has(string(row))) {
			for n = min(4, len(row)-i); n > 0 && !particles[string(row[i:i+n])]; n-- {
			}
		}
		if n == 0 {
			return true
		}
		i += n
	}
	return false
}
