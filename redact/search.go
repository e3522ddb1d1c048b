package redact

// hit is the longest form at a start.
type hit struct {
	start, end int
	marker     int32
}

// workSlack is the budget of verification at the start of a text. Each byte that the
// filter passes adds one; a look at a place costs one, and a comparison as in compareCost.
const workSlack = 1024

// compareCost is how many bytes the automaton could read while a form is compared.
func compareCost(form []byte) int { return 2 + len(form)/32 }

// search appends the hits in text, ordered by start.
func search[T textual](x *index, text T, hits []hit) []hit {
	starts, work := len(text)-x.prefix+1, x.slack
	if starts <= 0 {
		return hits
	}
	for at := x.step - 1; ; at += x.step {
		before := at
		if at = suspect(x, text, at); at-x.step+1 >= starts {
			return hits
		}
		work += at - before + x.step
		distance := int(x.table[hash(loadUpTo8(text, at), x.gram, x.shift)])
		lo, hi := at+1-distance, at+2-distance
		if distance == several {
			lo, hi = at-x.step+1, at+1
		}
		for i := lo; i < min(hi, starts); i++ {
			s := x.slot(keyOf(x, text, i))
			work--
			for _, f := range x.forms[s.lo:s.hi] {
				work -= compareCost(f.text)
				if len(f.text) <= len(text)-i && string(text[i:i+len(f.text)]) == string(f.text) {
					hits = append(hits, hit{i, i + len(f.text), f.marker})
					break
				}
			}
			if work < 0 {
				if x.overdrawn(workSlack - work) {
					return searchAll(x, text, i+1, hits)
				}
				work = workSlack
			}
		}
	}
}

// suspect returns the next place, from at on, whose gram a form may have. If there is
// none, it returns one for which no start is left.
func suspect[T textual](x *index, text T, at int) int {
	table, gram, shift, step := x.table, x.gram, x.shift, x.step
	for last := len(text) - 7*step - 8; at <= last; at += 8 * step { // eight at once, with one branch
		if table[hash(load8(text, at), gram, shift)]|table[hash(load8(text, at+step), gram, shift)]|
			table[hash(load8(text, at+2*step), gram, shift)]|table[hash(load8(text, at+3*step), gram, shift)]|
			table[hash(load8(text, at+4*step), gram, shift)]|table[hash(load8(text, at+5*step), gram, shift)]|
			table[hash(load8(text, at+6*step), gram, shift)]|table[hash(load8(text, at+7*step), gram, shift)] != 0 {
			break
		}
	}
	for at-step+x.prefix < len(text) && table[hash(loadUpTo8(text, at), gram, shift)] == 0 {
		at += step
	}
	return at
}

// overdrawn reports whether the automaton is to take over. It is built when all
// verifications together have cost as much beyond their budgets as building it does.
func (x *index) overdrawn(spent int) bool {
	return x.automaton.built.Load() || x.excess.Add(int64(spent)) >= int64(x.size)
}
