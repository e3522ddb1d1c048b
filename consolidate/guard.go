package consolidate

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// changedFact compares a merged text with the texts that it is to replace, and names the rule that
// it breaks; "" if none. Every fact of every source must be in it, and no other, and no word that
// has a meaning and that no source has. It errs to refusing. Its cost is near-linear in the texts.
func changedFact(ctx context.Context, merged string, sources []string) (string, error) {
	g := guard{merged: read(merged), all: newReading(), broken: kinds}
	for _, s := range sources {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		r := read(s)
		g.sources = append(g.sources, r)
		g.all.add(r)
	}
	for _, s := range g.sources {
		g.checkLost(s)
	}
	g.checkNew()
	g.checkDenied()
	g.checkOrder()
	if g.broken < kinds {
		return "the merged text changes the " + kindNames[g.broken], nil
	}
	return "", nil
}

// guard compares a merged text with its sources.
type guard struct {
	merged  *reading
	sources []*reading
	all     *reading // the sources together
	broken  int      // the first kind of fact that differs
}

func (g *guard) breaks(kind int) { g.broken = min(g.broken, kind) }

// add adds what another text says.
func (r *reading) add(o *reading) {
	maps.Copy(r.facts, o.facts)
	maps.Copy(r.at, o.at)
	maps.Copy(r.lower, o.lower)
	maps.Copy(r.denied, o.denied)
	maps.Copy(r.units, o.units)
	maps.Copy(r.unit, o.unit)
	maps.Copy(r.chars, o.chars)
}

func (r *reading) has(forms []string) bool {
	for _, f := range forms {
		if _, ok := r.at[f]; ok {
			return true
		}
	}
	return false
}

func (r *reading) hasAny(of words) bool {
	return r.has(slices.Collect(maps.Keys(of)))
}

// denies reports whether the text has a negation of one of the same words.
func (r *reading) denies(d denial) bool {
	for _, key := range d.keys {
		if r.denied[key] {
			return true
		}
	}
	return false
}

// checkLost looks for facts of a source that the merged text has not.
func (g *guard) checkLost(source *reading) {
	for f := range source.facts {
		if !g.merged.facts[f] {
			g.breaks(f.kind)
		}
	}
	for f := range source.guarded {
		if !g.merged.guarded[f] && !g.merged.has(forms(f.text)) {
			g.breaks(f.kind)
		}
	}
	for _, w := range source.words {
		if g.isName(w) && !g.merged.has(w.nameForms()) {
			g.breaks(names)
		}
	}
	for _, d := range source.denials {
		if !g.merged.denies(d) {
			g.breaks(denials)
		}
	}
	for u := range source.units {
		isShort := utf8.RuneCountInString(u.unit) < 4 // such as MB, which is not Mb
		switch {
		case g.merged.units[u] || g.merged.written[u.unit]:
		case !isShort && g.merged.has(forms(u.unit)):
		case len(u.unit) > 1 && isConnecting(strings.ToLower(u.unit)):
		default:
			g.breaks(numbers)
		}
	}
}

// checkNew looks for what the merged text has and no source.
func (g *guard) checkNew() {
	for f := range g.merged.facts {
		if !g.all.facts[f] {
			g.breaks(f.kind)
		}
	}
	for _, d := range g.merged.denials {
		if !g.all.denies(d) {
			g.breaks(denials)
		}
	}
	for u := range g.merged.units {
		if g.all.unit[u.unit] && !g.all.units[u] {
			g.breaks(numbers)
		}
	}
	for _, w := range g.merged.words {
		if g.all.has(w.forms) || g.connects(w.text) {
			continue
		}
		kind, ok := guardedKind(w.forms)
		switch {
		case ok:
		case w.capital:
			kind = names
		default:
			kind = meanings
		}
		g.breaks(kind)
	}
	for _, row := range g.merged.rows {
		if g.isNewRow([]rune(row)) {
			g.breaks(meanings)
		}
	}
}

// checkDenied looks for sources that have without its negation or sign what the merged text has
// with it.
func (g *guard) checkDenied() {
	for _, s := range g.sources {
		for _, d := range g.merged.denials {
			if s.has(d.of) && !s.denies(d) {
				g.breaks(denials)
			}
		}
		for bare, f := range g.merged.bare {
			if _, ok := s.at[bare]; ok && !s.facts[f] {
				g.breaks(identifiers)
			}
		}
	}
}

// isName reports whether a capitalised word is a name: it is none at the start of a sentence if a
// text has it in lower case, and no word that connects or is guarded as something else.
func (g *guard) isName(w word) bool {
	if !w.capital || isConnecting(w.text) || w.starts && openers[w.text] {
		return false
	}
	if _, ok := guardedKind(w.forms); ok {
		return false
	}
	for _, f := range w.forms {
		if w.starts && (g.all.lower[f] || g.merged.lower[f]) {
			return false
		}
	}
	return true
}

// nameForms are the forms of a name. In Latin letters it has one: Brand is not Brandt.
func (w word) nameForms() []string {
	if strings.ContainsFunc(w.text, func(c rune) bool { return unicode.Is(unicode.Latin, c) }) {
		return w.forms[:1]
	}
	return w.forms
}

// checkOrder looks for two neighbours that a source has in the other order only, and no source in
// this one.
func (g *guard) checkOrder() {
	list := slices.DeleteFunc(slices.Clone(g.merged.words), func(w word) bool { return isSmall(w.text) })
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if a.text == b.text || g.merged.endsBetween(a.token, b.token) {
			continue
		}
		same, other := false, false
		for _, s := range g.sources {
			from, ok := s.span(a.forms)
			to, both := s.span(b.forms)
			if ok && both {
				same = same || from.first < to.last
				other = other || from.first > to.last
			}
		}
		if other && !same {
			g.breaks(orders)
		}
	}
}

func (r *reading) endsBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if r.ends(i) {
			return true
		}
	}
	return false
}

func (r *reading) span(forms []string) (s span, ok bool) {
	for _, f := range forms {
		if s, ok = r.at[f]; ok {
			break
		}
	}
	return s, ok
}

// isConnecting reports whether a word connects what others say.
func isConnecting(lower string) bool {
	for _, line := range persons {
		if line[0][lower] || line[1][lower] {
			return true
		}
	}
	return connecting[lower]
}

// isSmall reports whether a word says nothing without those beside it.
func isSmall(lower string) bool {
	return isConnecting(lower) || openers[lower] || irregular[lower] != ""
}

// connects reports whether the merged text may have a word that no source has.
func (g *guard) connects(lower string) bool {
	for _, line := range persons {
		if line[0][lower] && g.all.hasAny(line[1]) || line[1][lower] && g.all.hasAny(line[0]) {
			return false
		}
	}
	return isConnecting(lower)
}

// isNewRow reports whether a row of characters without blanks has a character that is neither in a
// pair of a source nor in a particle.
func (g *guard) isNewRow(row []rune) bool {
	known := make([]bool, len(row)+1)
	for i := range row {
		if len(row) == 1 && g.all.chars[string(row)] {
			known[i] = true
		}
		if i > 0 && g.all.chars[string(row[i-1:i+1])] {
			known[i-1], known[i] = true, true
		}
	}
	for i := 0; i < len(row); {
		n := 1
		if !known[i] {
			n = particleLength(row[i:])
		}
		if n == 0 {
			return true
		}
		i += n
	}
	return false
}

func particleLength(row []rune) int {
	for n := min(4, len(row)); n > 0; n-- {
		if particles[string(row[:n])] {
			return n
		}
	}
	return 0
}
