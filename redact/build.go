package redact

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

// newMatcher returns an empty matcher with room for n forms of size bytes in all,
// with their markers. ids are sorted.
func newMatcher(ids []string, n, size int) *matcher {
	return &matcher{ids: ids, forms: make([]form, 0, n), arena: make([]byte, 0, size)}
}

// add adds a form of the secret ids[id], whose marker is mark.
func (m *matcher) add(f []byte, id int32, mark []byte) {
	m.forms = append(m.forms, form{place: place{from: len(m.arena), len: int32(len(f)), mark: uint16(len(mark))}, id: id})
	m.arena = append(append(grow(m.arena, len(f)+len(mark)), f...), mark...)
}

// grow returns b with room for n more elements. If it has to move b it wipes the
// old place, since what append leaves behind would stay until the memory is reused.
func grow[T any](b []T, n int) []T {
	if cap(b)-len(b) >= n {
		return b
	}
	moved := append(make([]T, 0, 2*(len(b)+n)), b...)
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

	forms := m.forms
	var wg sync.WaitGroup
	var places [][]uint64
	wg.Go(func() { m.fillGrams(forms) })
	wg.Go(func() { places = m.gramPlaces(forms) })
	slotOf := m.placeForms()
	m.bucket(slotOf)
	wg.Wait()
	half := len(places) / 2
	wg.Go(func() { m.fillOrigins(places[:half], slotOf) })
	m.fillOrigins(places[half:], slotOf)
	wg.Wait()
	return m
}

func (m *matcher) fillGrams(forms []form) {
	m.grams = newGramSet(len(forms)*m.step, m.q)
	step, mask := m.step, m.qMask
	for i := range forms {
		text := m.at(&forms[i])
		for j := range step {
			m.grams.add(word64(text, j) & mask)
		}
	}
}

// gramPlaces makes the origins and returns what is to be noted there: the place,
// from bit 40 on, the form, from bit 6 on, and the offset. That is sorted into
// pieces, one for each part of the table, because a large one is not near at hand as
// a whole, and the processor would have to wait for most of it.
func (m *matcher) gramPlaces(forms []form) [][]uint64 {
	// Few forms get more room than they need: a false hit costs more than memory.
	n := len(forms) * m.step
	m.origins = make([]origin, max(powerOfTwo(32*n, 6, 14), powerOfTwo(4*n, 6, 20)))
	pieces := make([][]uint64, (len(m.origins)-1)>>pieceBits+1)
	for i := range pieces {
		pieces[i] = make([]uint64, 0, n/len(pieces)*9/8)
	}
	step := m.step
	for i := range forms {
		text := m.at(&forms[i])
		for j := range step {
			at := m.originSlot(word64(text, j))
			piece := &pieces[at>>pieceBits]
			*piece = append(grow(*piece, 1), at<<40|uint64(i)<<6|uint64(j))
		}
	}
	return pieces
}

const pieceBits = 14

// fillOrigins notes some of the pieces, and wipes them.
func (m *matcher) fillOrigins(pieces [][]uint64, slotOf []int32) {
	for _, piece := range pieces {
		for _, x := range piece {
			m.origins[x>>40].add(int(slotOf[x>>6&(1<<34-1)]), int(x&63))
		}
		clear(piece)
	}
}

// at is where a form begins. Eight bytes can be loaded from each of its grams,
// since its marker is behind it.
func (m *matcher) at(f *form) unsafe.Pointer { return unsafe.Pointer(&m.arena[f.from]) }

// add notes one more place of a gram. It is written so that it needs no branch:
// the table is large, and a wrong guess would have to wait for it.
func (o *origin) add(slot, offset int) {
	one, old := single|origin(slot)<<6|origin(offset), *o
	several := old
	if old&single != 0 {
		several = 1 << (old & 63)
	}
	several |= 1 << (offset & 63)
	if old == 0 || old == one {
		several = one
	}
	*o = several
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
	if m.q = 4; len(m.forms)*min(m.prefix-m.q+1, maxStep) <= fewGrams {
		return
	}
	hex := 0
	for i := range m.forms {
		if hexDigits.hasAll(m.bytes(&m.forms[i].place)[:min(m.prefix, 16)]) {
			hex++
		}
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

// placeForms makes the slots and returns which one each form belongs to.
func (m *matcher) placeForms() []int32 {
	n := len(m.forms)
	m.slots = make([]slot, max(powerOfTwo(4*n, 1, 12), powerOfTwo(2*n, 1, 40)))
	m.shift = 64 - uint(bits.TrailingZeros(uint(len(m.slots))))
	slotOf := make([]int32, n)
	for i := range m.forms {
		key := m.key(m.bytes(&m.forms[i].place), 0)
		at := int(key >> m.shift)
		for m.slots[at].hi != 0 && m.slots[at].key != key {
			at = (at + 1) & (len(m.slots) - 1)
		}
		m.slots[at].key = key
		m.slots[at].hi++ // counts, for now
		slotOf[i] = int32(at)
	}
	return slotOf
}

// bucket sorts the forms into their slots, each form once, and links those that
// begin with another.
func (m *matcher) bucket(slotOf []int32) {
	forms := make([]form, len(m.forms))
	room := int32(0)
	for i := range m.slots {
		if s := &m.slots[i]; s.hi != 0 {
			s.lo, s.hi, room = room, room, room+s.hi // hi: where the next form goes
		}
	}
	for i, at := range slotOf {
		s := &m.slots[at]
		forms[s.hi] = m.forms[i]
		s.hi++
	}
	m.forms = forms[:0]
	for i := range m.slots {
		s := &m.slots[i]
		if s.hi == 0 {
			continue
		}
		list := m.sorted(forms[s.lo:s.hi])
		s.lo = int32(len(m.forms))
		m.forms = append(m.forms, list...)
		s.hi = int32(len(m.forms))
		for f := s.lo; f < s.hi; f++ {
			m.forms[f].parent = m.parent(s.lo, f)
		}
		s.first = m.forms[s.lo].place
		s.first.cost = m.searchCost(int(s.lo), int(s.hi))
	}
}

// sorted sorts forms and leaves out those that are there twice.
func (m *matcher) sorted(list []form) []form {
	if len(list) == 1 {
		return list
	}
	slices.SortFunc(list, func(x, y form) int {
		return cmp.Or(bytes.Compare(m.bytes(&x.place), m.bytes(&y.place)), cmp.Compare(x.id, y.id))
	})
	return slices.CompactFunc(list, func(x, y form) bool { return bytes.Equal(m.bytes(&x.place), m.bytes(&y.place)) })
}

// quick is the cost of a lone form that is compared in one go, and of no other.
const quick = 4

// searchCost is what a look into forms[lo:hi] may cost, in bytes of text that could
// be passed over in the same time.
func (m *matcher) searchCost(lo, hi int) uint16 {
	longest, deepest := 0, 0
	for f := lo; f < hi; f++ {
		longest = max(longest, int(m.forms[f].len))
		depth := 0
		for p := m.forms[f].parent; p >= 0 && depth < math.MaxUint8; p = m.forms[p].parent {
			depth++
		}
		deepest = max(deepest, depth)
	}
	if hi-lo == 1 && isShort(longest) {
		return quick
	}
	looks := deepest + bits.Len(uint(hi-lo))
	return uint16(min(quick+looks*(1+longest/32), math.MaxUint16))
}

// parent finds the longest of forms[lo:f] that f begins with.
func (m *matcher) parent(lo, f int32) int32 {
	p := f - 1
	for p >= lo && !bytes.HasPrefix(m.bytes(&m.forms[f].place), m.bytes(&m.forms[p].place)) {
		p = m.forms[p].parent
	}
	if p < lo {
		return -1
	}
	return p
}
