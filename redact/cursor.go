package redact

// hit is the longest form at a start.
type hit struct {
	start, end int
	id         int32
}

// cursor walks from left to right through the places of a text at which forms of an
// index begin.
type cursor[T textual] struct {
	x     *index
	text  T
	limit int // forms that begin here or later are left alone

	at     int // the next probe
	lo, hi int // the starts that are still to be looked at
	work   int // what may be spent on looking before the automaton takes over

	automatic bool    // it has taken over
	from      int     // of best
	best      []int32 // the longest form at each start from there on, or -1
}

// workSlack is the budget at the start of a text. Each byte that probes pass adds one.
const workSlack = 1024

func (c *cursor[T]) init(x *index, text T, limit int) {
	c.x, c.text, c.limit, c.at, c.work = x, text, min(limit, len(text)-x.prefix+1), x.step-1, workSlack
}

// next returns the next hit, ordered by start.
func (c *cursor[T]) next() (hit, bool) {
	for !c.automatic {
		for c.lo < c.hi && !c.automatic {
			i := c.lo
			c.lo++
			if f := c.look(i); f >= 0 {
				return c.hit(i, f), true
			}
		}
		if !c.automatic && !c.probe() {
			return hit{}, false
		}
	}
	for ; c.lo < c.limit; c.lo = c.from + len(c.best) {
		if c.lo >= c.from+len(c.best) {
			c.from, c.best = c.lo, through(c, c.lo)
		}
		for i, f := range c.best[c.lo-c.from:] {
			if f >= 0 {
				c.lo += i + 1
				return c.hit(c.lo-1, f), true
			}
		}
	}
	return hit{}, false
}

func (c *cursor[T]) hit(i int, f int32) hit {
	form := &c.x.forms[f]
	return hit{i, i + form.len, form.id}
}

// probe finds the next place where a form may be, and reports whether there is one.
func (c *cursor[T]) probe() bool {
	x, text, step, at := c.x, c.text, c.x.step, c.at
	table, low, gram, shift := x.table, x.low, x.gram, x.shift
	before := at
	for at-step+1 < c.limit {
		for end := len(text) - 7*step - 8; at <= end; at += 8 * step { // eight at once, with one branch
			if table[hash(load8(text, at), low, gram, shift)]|table[hash(load8(text, at+step), low, gram, shift)]|
				table[hash(load8(text, at+2*step), low, gram, shift)]|table[hash(load8(text, at+3*step), low, gram, shift)]|
				table[hash(load8(text, at+4*step), low, gram, shift)]|table[hash(load8(text, at+5*step), low, gram, shift)]|
				table[hash(load8(text, at+6*step), low, gram, shift)]|table[hash(load8(text, at+7*step), low, gram, shift)] != 0 {
				break
			}
		}
		distance := 0
		for ; at-step+1 < c.limit; at += step {
			if distance = int(table[hash(loadUpTo8(text, at), low, gram, shift)]); distance != 0 {
				break
			}
		}
		if distance == 0 {
			break
		}
		if c.lo, c.hi = at-step+1, min(at+1, c.limit); distance != several {
			c.lo = at + 1 - distance
			c.hi = min(c.lo+1, c.limit)
		}
		at += step
		if c.lo < c.hi {
			c.work += at - before
			c.at = at
			return true
		}
	}
	c.at = at
	return false
}

// look returns the longest form at i, or -1. If the budget is spent, it leaves i and all
// that follows to the automaton.
func (c *cursor[T]) look(i int) int32 {
	s := slotAt(c.x, c.text, i)
	if s == nil {
		c.work--
		return -1
	}
	if c.work -= s.cost; c.work < 0 && c.overdrawn() {
		c.automatic, c.lo, c.from, c.best = true, i, i, c.best[:0]
		return -1
	}
	return longestOf(c.x, s, c.text, i)
}

// overdrawn reports whether the automaton is to take over. It is built when all lookups
// together have cost as much beyond their budgets as building it does; until then the
// cursor is granted some more.
func (c *cursor[T]) overdrawn() bool {
	spent := int64(workSlack - c.work)
	if c.x.automaton.built.Load() || c.x.excess.Add(spent) >= int64(len(c.x.arena)) {
		return true
	}
	c.work = workSlack
	return false
}
