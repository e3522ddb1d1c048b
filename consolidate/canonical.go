package consolidate

import "strings"

// canonical replaces words that mean the same by one of them, and drops those that
// mean nothing by themselves.
func canonical(in []token) []token {
	out := make([]token, 0, len(in))
	for i := 0; i < len(in); {
		if n, to := phrase(in[i:]); n > 0 {
			for k, w := range strings.Fields(to) {
				t := in[i]
				t.text, t.name, t.stop = w, false, false
				if k == len(strings.Fields(to))-1 {
					t.stop = in[i+n-1].stop
				}
				out = append(out, t)
			}
			i += n
			continue
		}
		out = append(out, in[i])
		i++
	}
	kept := out[:0]
	head := false
	for i, t := range out {
		if t.kind == plain {
			t = sort(t, kept, out[i+1:])
		}
		if dropped(t, kept, out[i+1:]) {
			head = head || t.text == "the"
			if t.stop && len(kept) > 0 {
				kept[len(kept)-1].stop = true
			}
			continue
		}
		t.head, head = head, false
		kept = append(kept, t)
	}
	return kept
}

// phrase finds the longest row of words at the start of in that has a shorter form.
func phrase(in []token) (int, string) {
	for _, p := range phrases[in[0].text] {
		if len(p.words) > len(in) {
			continue
		}
		match := true
		for k, w := range p.words {
			if in[k].text != w || in[k].kind != plain && in[k].kind != number || in[k].stop && k < len(p.words)-1 {
				match = false
				break
			}
		}
		if match {
			return len(p.words), p.to
		}
	}
	return 0, ""
}

// sort gives a word its kind and its canonical form. before are the words that stay.
func sort(t token, before, after []token) token {
	last := token{}
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	next := token{}
	if len(after) > 0 {
		next = after[0]
	}
	if last.kind == number {
		if u, ok := units[t.text]; ok {
			t.text, t.kind, t.name = u, unit, false
			return t
		}
	}
	if t.text == "may" && next.text != "not" && !negations[next.text] {
		t.text = "can"
	}
	if (t.text == "gets" || t.text == "get") && strings.HasSuffix(next.text, "ed") {
		t.text = map[string]string{"gets": "is", "get": "are"}[t.text]
	}
	if to, ok := synonyms[t.text]; ok && (!t.name || dates[t.text]) {
		t.text = to
	}
	switch {
	case numerals[t.text] != "":
		t.text, t.kind = numerals[t.text], number
	case negations[t.text]:
		t.kind = negation
	case quantifiers[t.text]:
		t.kind = quantifier
	case dates[t.text]:
		t.kind = date
	case measures[t.text]:
		t.kind = unit
	}
	return t
}

// dropped tells whether a word says nothing: an article, or filler.
func dropped(t token, before, after []token) bool {
	if t.kind != plain || t.name {
		return false
	}
	if t.text == "from" && len(after) > 1 && clock(after[0]) && after[1].text == "to" {
		return true
	}
	if t.text != "a" && t.text != "an" {
		return filler[t.text]
	}
	// "plan A" is a name.
	return len(after) > 0 && (len(before) == 0 || !lettered[before[len(before)-1].text])
}

func clock(t token) bool { return t.kind == number && strings.Contains(t.text, ":") }
