package redact

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"
)

// matcher finds forms in text. It never changes once it is built, and is wiped
// when the last of its users releases it.
type matcher struct {
	users             atomic.Int64
	arena             []byte   // all forms, one behind the other
	forms             []form   // sorted
	ids               []string // sorted
	heads             map[string][2]int32
	shortest, longest int
}

// form is one text to be found.
type form struct {
	from, to int32 // in the arena
	id       int32
	parent   int32 // the longest other form that this one begins with, or -1
}

const headLen = minStump

func (m *matcher) bytes(f int32) []byte { return m.arena[m.forms[f].from:m.forms[f].to] }

func (m *matcher) len(f int32) int { return int(m.forms[f].to - m.forms[f].from) }

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
	if m.users.Add(-1) == 0 {
		clear(m.arena)
		clear(m.heads)
	}
}

// longestAt returns the longest form that text has at i, or -1.
func (m *matcher) longestAt(text []byte, i int) int32 {
	text = text[i:]
	if len(text) < headLen {
		return -1
	}
	r, ok := m.heads[string(text[:headLen])]
	if !ok {
		return -1
	}
	lo, hi := r[0], r[1]
	for lo < hi {
		mid := (lo + hi) / 2
		f := m.bytes(mid)
		if bytes.Compare(f, text[:min(len(f), len(text))]) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	f := lo - 1
	if f < r[0] {
		return -1
	}
	for f >= 0 && !bytes.HasPrefix(text, m.bytes(f)) {
		f = m.forms[f].parent
	}
	return f
}

type builder struct{ m *matcher }

func newBuilder(ids []string) *builder { return &builder{&matcher{ids: ids}} }

func (b *builder) add(f []byte, id int32) {
	from := len(b.m.arena)
	b.m.arena = append(b.m.arena, f...)
	b.m.forms = append(b.m.forms, form{from: int32(from), to: int32(len(b.m.arena)), id: id})
}

func (b *builder) build() *matcher {
	m := b.m
	b.m = nil
	m.users.Store(1)
	of := func(f form) []byte { return m.arena[f.from:f.to] }
	slices.SortFunc(m.forms, func(x, y form) int {
		return cmp.Or(bytes.Compare(of(x), of(y)), cmp.Compare(x.id, y.id))
	})
	m.forms = slices.CompactFunc(m.forms, func(x, y form) bool { return bytes.Equal(of(x), of(y)) })
	m.heads = map[string][2]int32{}
	for i := range m.forms {
		f := of(m.forms[i])
		p := int32(i) - 1
		for p >= 0 && !bytes.HasPrefix(f, m.bytes(p)) {
			p = m.forms[p].parent
		}
		m.forms[i].parent = p
		m.longest = max(m.longest, len(f))
		r, ok := m.heads[string(f[:headLen])]
		if !ok {
			r[0] = int32(i)
		}
		r[1] = int32(i) + 1
		m.heads[string(f[:headLen])] = r
	}
	return m
}

func (m *matcher) hasID(id string) bool {
	_, ok := slices.BinarySearch(m.ids, id)
	return ok
}
