package redact

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// newMatcher returns an empty matcher to which forms of n secrets can be added.
// ids are sorted.
func newMatcher(ids []string, n int) *matcher {
	return &matcher{ids: ids, forms: make([]form, 0, n)}
}

// add adds a form of the secret ids[id].
func (m *matcher) add(f []byte, id int32) {
	p := place{from: len(m.arena), len: int32(len(f)), mark: uint16(len(markerHead) + len(m.ids[id]) + len(markerTail))}
	m.forms = append(m.forms, form{place: p, id: id})
	m.arena = grow(m.arena, len(f)+int(p.mark))
	m.arena = append(m.arena, f...)
	m.arena = append(m.arena, markerHead...)
	m.arena = append(m.arena, m.ids[id]...)
	m.arena = append(m.arena, markerTail...)
}

// grow returns b with room for n more bytes. If it has to move b it wipes the old
// place, since what append leaves behind would stay until the memory is reused.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	moved := append(make([]byte, 0, 2*(len(b)+n)), b...)
	clear(b)
	return moved
}

// build prepares the matcher for use, with one user.
func (m *matcher) build() *matcher {
	m.users.Store(1)
	if len(m.forms) == 0 {
		return m
	}
	m.prefix = int(m.forms[0].len)
	for i := range m.forms {
		m.prefix = min(m.prefix, int(m.forms[i].len))
		m.longest = max(m.longest, int(m.forms[i].len))
	}
	m.chooseGram()
	m.prefix = min(m.prefix, maxStep+m.q-1)
	m.step = m.prefix - m.q + 1
	m.qMask = 1<<(8*m.q-1)<<1 - 1

	m.bucket()
	var wg sync.WaitGroup
	wg.Go(m.fillGrams)
	m.fillOrigins()
	wg.Wait()
	return m
}

func (m *matcher) fillGrams() {
	m.grams = newGramSet(len(m.forms)*m.step, m.q)
	for i := range m.forms {
		f := m.bytes(&m.forms[i].place)
		for j := range m.step {
			m.grams.add(load(f, j) & m.qMask)
		}
	}
}

func (m *matcher) fillOrigins() {
	// Few forms get more room than they need: a false hit costs more than memory.
	n := len(m.forms) * m.step
	m.origins = make([]origin, max(powerOfTwo(32*n, 6, 16), powerOfTwo(4*n, 6, 20)))
	for i := range m.slots {
		for _, f := range m.forms[m.slots[i].lo:m.slots[i].hi] {
			text := m.bytes(&f.place)
			for j := range m.step {
				m.origins[m.originSlot(load(text, j))].add(i, j)
			}
		}
	}
}

// add notes one more place of a gram.
func (o *origin) add(slot, offset int) {
	one := single | origin(slot)<<6 | origin(offset)
	switch {
	case *o == 0:
		*o = one
	case *o == one:
	case *o&single != 0:
		*o = 1<<(*o&63) | 1<<offset
	default:
		*o |= 1 << offset
	}
}

// powerOfTwo returns the first power of two that is not less than n, between
// 1<<least and 1<<most.
func powerOfTwo(n, least, most int) int {
	for least < most && 1<<least < n {
		least++
	}
	return 1 << least
}

// chooseGram sets q to what makes probing cheapest: longer grams are rarer in
// text, shorter ones allow for longer steps.
func (m *matcher) chooseGram() {
	hex := 0
	for i := range m.forms {
		if hexDigits.hasAll(m.bytes(&m.forms[i].place)) {
			hex++
		}
	}
	if m.q = 4; len(m.forms)*min(m.prefix-m.q+1, maxStep) <= fewGrams {
		return
	}
	best := 0.0
	for q := m.q; q <= min(m.prefix, 8); q += 2 {
		step := float64(min(m.prefix-q+1, maxStep))
		chance := 0.01 + step*(float64(hex)/pow(16, q)+float64(len(m.forms)-hex)/pow(40, q))
		cost := (1 + min(chance, 1)*20) / step
		if best == 0 || cost < best {
			best, m.q = cost, q
		}
	}
}

func pow(x float64, n int) float64 {
	y := 1.0
	for range n {
		y *= x
	}
	return y
}

// bucket sorts the forms into buckets and links those that begin with another.
func (m *matcher) bucket() {
	type keyed struct {
		key uint64
		form
	}
	list := make([]keyed, len(m.forms))
	for i := range m.forms {
		list[i] = keyed{m.key(m.bytes(&m.forms[i].place), 0), m.forms[i]}
	}
	slices.SortFunc(list, func(x, y keyed) int {
		if c := cmp.Compare(x.key, y.key); c != 0 {
			return c
		}
		return cmp.Or(bytes.Compare(m.bytes(&x.place), m.bytes(&y.place)), cmp.Compare(x.id, y.id))
	})
	list = slices.CompactFunc(list, func(x, y keyed) bool {
		return x.key == y.key && bytes.Equal(m.bytes(&x.place), m.bytes(&y.place))
	})

	m.slots = make([]slot, max(powerOfTwo(4*len(list), 1, 12), powerOfTwo(2*len(list), 1, 40)))
	m.shift = 64 - uint(bits.TrailingZeros(uint(len(m.slots))))
	m.forms = m.forms[:len(list)]
	for lo := 0; lo < len(list); {
		hi := lo
		for ; hi < len(list) && list[hi].key == list[lo].key; hi++ {
			m.forms[hi] = list[hi].form
			m.forms[hi].parent = m.parent(int32(lo), int32(hi))
		}
		list[lo].cost = m.searchCost(lo, hi)
		n := list[lo].key >> m.shift
		for m.slots[n&uint64(len(m.slots)-1)].hi != 0 {
			n++
		}
		m.slots[n&uint64(len(m.slots)-1)] = slot{list[lo].key, int32(lo), int32(hi), list[lo].place}
		lo = hi
	}
}

// quick is the cost of a lone form that is compared in one go, and of no other.
const quick = 4

// searchCost is what a look into forms[lo:hi] costs, in bytes of text that could
// be passed over in the same time.
func (m *matcher) searchCost(lo, hi int) uint16 {
	n := int(m.forms[lo].len)
	if hi-lo == 1 && isShort(n) {
		return quick
	}
	cost := quick
	for forms := hi - lo; forms > 0; forms /= 2 {
		cost += 1 + n/32
	}
	return uint16(min(cost, math.MaxUint16))
}

// parent finds the longest of forms[lo:f] that f begins with.
func (m *matcher) parent(lo, f int32) int32 {
	p := f - 1
	for p >= lo && !bytes.HasPrefix(m.bytes(&m.forms[f].place), m.bytes(&m.forms[p].place)) {
		p = m.forms[p].parent
	}
	return max(p, -1)
}
