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
				x.Remove(h)
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
	}
	for _, want := range m.keys {
		got, _, ok := x.Pop(math.MaxInt64)
		require.True(t, ok)
		require.Equal(t, want, got, "seed %d", seed)
	}
	_, _, ok := x.Pop(math.MaxInt64)
	require.False(t, ok)
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
	grown := cap(x.items)*int(unsafe.Sizeof(x.items[0])) + cap(x.dead)*8 + cap(x.free)*4 + cap(x.chunks.spots)*int(unsafe.Sizeof(spot{})) +
		cap(x.chunks.under)*4 + cap(x.near)*int(unsafe.Sizeof(spot{})) + int(unsafe.Sizeof(x))
	t.Logf("%d bytes for an item", grown/100_000)
	require.LessOrEqual(t, grown/100_000, 64, "bytes for an item")
	require.Zero(t, testing.AllocsPerRun(100, func() { x.Peek(999_999, 100, nil) }), "nothing due")
	require.Zero(t, testing.AllocsPerRun(100, func() { x.Remove(x.Add(2_000_000, nil)) }), "set and cleared")
}

func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		fill := func() (*Index[*int], *rand.Rand) {
			var x Index[*int]
			r := rand.New(rand.NewPCG(1, 2))
			for range n {
				x.Add(r.Int64N(30*86_400_000), nil)
			}
			return &x, r
		}
		b.Run("fire", func(b *testing.B) {
			x, r := fill()
			now := int64(0)
			for b.Loop() {
				x.Add(now+r.Int64N(30*86_400_000), nil)
				x.Pop(math.MaxInt64)
				now += 30 * 86_400_000 / int64(n)
			}
		})
		b.Run("cancel-any", func(b *testing.B) {
			var x Index[*int]
			r := rand.New(rand.NewPCG(1, 2))
			handles := make([]Handle, n)
			for i := range handles {
				handles[i] = x.Add(r.Int64N(30*86_400_000), nil)
			}
			for b.Loop() {
				h := &handles[r.IntN(n)]
				x.Remove(*h)
				*h = x.Add(r.Int64N(30*86_400_000), nil)
			}
		})
		b.Run("cancel", func(b *testing.B) {
			x, r := fill()
			for b.Loop() {
				x.Remove(x.Add(r.Int64N(30*86_400_000), nil))
			}
		})
	}
}

// What is removed gives its room back, wherever it stood, and does not hold its value.
func TestIndexRemovedTakesNoRoom(t *testing.T) {
	for name, at := range map[string]int64{"heap": 5, "one slot": 10_000_000, "spread": 0} {
		t.Run(name, func(t *testing.T) {
			var x Index[*int]
			x.Add(10, new(int))
			_, _, ok := x.Pop(20) // from here on, 5 is in the heap's range
			require.True(t, ok)
			r := rand.New(rand.NewPCG(3, 3))
			when := func() int64 {
				if at == 0 {
					return 1000 + r.Int64N(1<<40)
				}
				return at
			}
			var handles []Handle
			for range 1000 {
				handles = append(handles, x.Add(when(), new(int)))
			}
			for range 100_000 {
				h := &handles[r.IntN(len(handles))]
				x.Remove(*h)
				require.Nil(t, x.items[*h].of)
				*h = x.Add(when(), new(int))
			}
			require.Equal(t, 1000, x.Len())
			require.LessOrEqual(t, len(x.items), 2100)
			require.LessOrEqual(t, len(x.chunks.spots)+len(x.near), 20_000)
			for _, h := range handles {
				x.Remove(h)
			}
			require.Zero(t, x.Len())
			require.Empty(t, x.near)
			require.Zero(t, x.filled)
		})
	}
}
