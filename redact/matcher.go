package redact

import (
	"slices"
	"sync/atomic"
)

// matcher finds the forms of the secrets of one moment. It never changes once it is
// built, and is wiped when the last of its users releases it.
type matcher struct {
	users   atomic.Int64
	ids     []string // sorted
	markers []string // of ids
	arena   []byte   // all forms

	exact   *index // texts as they are
	hex     *index // hex, with A-F folded to a-f; nil without encoded forms
	base64  *index // base64, in text from which line breaks were taken; nil as above
	longest int    // of the forms of exact and hex
}

// newMatcher returns a matcher with one user. ids are sorted; forms are in arena.
func newMatcher(ids []string, arena []byte, exact, hex, base64 []form) *matcher {
	m := &matcher{ids: ids, markers: make([]string, len(ids)), arena: arena, exact: newIndex(arena, exact, nil)}
	m.users.Store(1)
	for i, id := range ids {
		m.markers[i] = marker(id)
	}
	if m.longest = m.exact.longest; len(hex) > 0 {
		m.hex, m.base64 = newIndex(arena, hex, &hexFold), newIndex(arena, base64, nil)
		m.longest = max(m.longest, m.hex.longest)
	}
	return m
}

// hexFold maps the digits A-F to a-f.
var hexFold = func() (fold [256]byte) {
	for b := range fold {
		if fold[b] = byte(b); 'A' <= b && b <= 'F' {
			fold[b] = byte(b) + 'a' - 'A'
		}
	}
	return fold
}()

func (m *matcher) hasID(id string) bool {
	_, ok := slices.BinarySearch(m.ids, id)
	return ok
}

// retain counts one more user, unless the matcher is wiped already.
func (m *matcher) retain() bool {
	for {
		n := m.users.Load()
		if n == 0 {
			return false
		}
		if m.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (m *matcher) release() {
	if m.users.Add(-1) > 0 {
		return
	}
	clear(m.arena)
	for _, x := range []*index{m.exact, m.hex, m.base64} {
		if x != nil {
			clear(x.table)
			clear(x.slots)
			clear(x.automaton.nodes)
		}
	}
}
