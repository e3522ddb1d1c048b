package timer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// model is what an Index is proven against: a sorted list.
type model struct{ keys []int64 }

func (m *model) add(k int64) {
	i, _ := slices.BinarySearch(m.keys, k)
	m.keys = slices.Insert(m.keys, i, k)
}
func (m *model) remove(k int64) {
	i, _ := slices.BinarySearch(m.keys, k)
	m.keys = slices.Delete(m.keys, i, i+1)
}
func (m *model) due(now int64) []int64 {
	i, _ := slices.BinarySearch(m.keys, now)
	for i < len(m.keys) && m.keys[i] == now {
		i++
	}
	return m.keys[:i]
}

// play runs a seeded sequence of operations, with clocks that step both ways.
func play(t *testing.T, seed uint64, steps int, key func(r *rand.Rand, now int64) int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var x Index[int64]
	var m model
	handles := map[int64]Handle{}
	now := int64(1_760_000_000_000)
	for step := range steps {
		switch r.IntN(10) {
		case 0, 1, 2, 3, 4:
			k := key(r, now)
			if _, dup := handles[k]; dup {
				continue
			}
			handles[k] = x.Add(k, k)
			m.add(k)
		case 5, 6:
			for k, h := range handles { // any one
				x.Remove(h, k)
				m.remove(k)
				delete(handles, k)
				break
			}
		case 7:
			limit := 1 + r.IntN(80)
			due := m.due(now)
			want := due[:min(limit, len(due))]
			got := x.Peek(now, limit, nil)
			require.True(t, slices.Equal(want, got), "seed %d step %d: peek %v, want %v", seed, step, got, want)
		case 8:
			k, at, ok := x.Pop(now)
			due := m.due(now)
			require.Equal(t, len(due) > 0, ok, "seed %d step %d", seed, step)
			if ok {
				require.Equal(t, due[0], k, "seed %d step %d", seed, step)
				require.Equal(t, k, at)
				m.remove(k)
				delete(handles, k)
			}
		case 9:
			if d := key(r, now) - now; d < 1<<40 && d > -1<<40 {
				now += d / 3
			}
			if r.IntN(4) == 0 {
				now -= r.Int64N(1 << 22)
			}
		}
		require.Equal(t, len(m.keys), x.Len())
		if step%100 == 0 {
			requireCounts(t, &x)
		}
	}
	for _, want := range m.keys {
		got, _, ok := x.Pop(math.MaxInt64)
		require.True(t, ok)
		require.Equal(t, want, got, "seed %d", seed)
	}
	_, _, ok := x.Pop(math.MaxInt64)
	require.False(t, ok)
}

// requireCounts counts what was removed and still has a spot.
func requireCounts(t *testing.T, x *Index[int64]) {
	t.Helper()
	isDead := func(s spot) bool { return x.dead[s.item/64]&(1<<uint(s.item%64)) != 0 }
	dead := 0
	for _, s := range x.near {
		if isDead(s) {
			dead++
		}
	}
	require.Equal(t, dead, x.nearDead, "in the heap")
	for at, l := range x.slot {
		dead, left := int32(0), l
		for left.count > 0 {
			if isDead(x.chunks.last(&left)) {
				dead++
			}
			// Not by drop, which would give the chunk away.
			if left.count--; left.count%chunkSize == 0 {
				left.chunk = x.chunks.under[left.chunk]
			}
		}
		if dead != l.dead {
			require.Equal(t, dead, l.dead, "in slot %d", at)
		}
	}
}

func TestIndexAgainstASortedList(t *testing.T) {
	spreads := map[string]func(r *rand.Rand, now int64) int64{
		"dense": func(r *rand.Rand, now int64) int64 { return now + r.Int64N(2000) - 500 },
		"wide":  func(r *rand.Rand, now int64) int64 { return now + r.Int64N(1<<uint(1+r.IntN(40))) },
		"any":   func(r *rand.Rand, now int64) int64 { return int64(r.Uint64()) },
		"ends": func(r *rand.Rand, now int64) int64 {
			return []int64{math.MinInt64, math.MaxInt64, 0, -1}[r.IntN(4)] ^ r.Int64N(100)
		},
	}
	for name, key := range spreads {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(12) {
				play(t, seed, 4000, key)
			}
		})
	}
}

// Many that are due together leave together, whatever the heap would like.
func TestIndexManyAtOnce(t *testing.T) {
	var x Index[int]
	for i := range 5000 {
		x.Add(1000, i)
		x.Add(2000, -i)
	}
	require.Empty(t, x.Peek(999, 10, nil))
	require.Len(t, x.Peek(1999, 10_000, nil), 5000)
	for range 5000 {
		i, _, ok := x.Pop(1000)
		require.True(t, ok)
		require.GreaterOrEqual(t, i, 0)
	}
	_, _, ok := x.Pop(1999)
	require.False(t, ok)
}

func TestIndexCost(t *testing.T) {
	var x Index[*int]
	for i := range 100_000 {
		x.Add(int64(1_000_000+i*37%99_991), nil)
	}
	grown := cap(x.items)*int(unsafe.Sizeof(x.items[0])) + cap(x.dead)*8 + cap(x.swept)*8 + cap(x.free)*4 + cap(x.chunks.spots)*int(unsafe.Sizeof(spot{})) +
		cap(x.chunks.under)*4 + cap(x.near)*int(unsafe.Sizeof(spot{})) + int(unsafe.Sizeof(x))
	t.Logf("%d bytes for an item", grown/100_000)
	require.LessOrEqual(t, grown/100_000, 64, "bytes for an item")
	require.Zero(t, testing.AllocsPerRun(100, func() { x.Peek(999_999, 100, nil) }), "nothing due")
	require.Zero(t, testing.AllocsPerRun(100, func() { x.Remove(x.Add(2_000_000, nil), 2_000_000) }), "set and cleared")
}

// timed is an item that was put in, as a caller remembers it.
type timed struct {
	handle Handle
	at     int64
}

func put(x *Index[*int], at int64) timed { return timed{x.Add(at, new(int)), at} }

// What is removed gives its room back, wherever it stood, .
func TestIndexRemovedTakesNoRoom(t *testing.T) {
	for name, at := range map[string]int64{"heap": 5, "one slot": 10_000_000, "spread": 0} {
		t.Run(name, func(t *testing.T) {
			var x Index[*int]
			for range few + 1 { // so many that the heap's range ends with them
				x.Add(10, new(int))
			}
			for range few + 1 {
				_, _, ok := x.Pop(20)
				require.True(t, ok)
			}
			require.Equal(t, uint64(10)^bias, x.through)
			r := rand.New(rand.NewPCG(3, 3))
			when := func() int64 {
				if at == 0 {
					return 1000 + r.Int64N(1<<40)
				}
				return at
			}
			var all []timed
			for range 1000 {
				all = append(all, put(&x, when()))
			}
			for range 100_000 {
				one := &all[r.IntN(len(all))]
				x.Remove(one.handle, one.at)
				*one = put(&x, when())
			}
			require.Equal(t, 1000, x.Len())
			require.LessOrEqual(t, len(x.items), 2500)
			require.LessOrEqual(t, len(x.chunks.spots)+len(x.near), 20_000)
			for _, one := range all {
				x.Remove(one.handle, one.at)
			}
			require.Zero(t, x.Len())
			require.Empty(t, x.near)
			require.Zero(t, x.filled)
		})
	}
}
