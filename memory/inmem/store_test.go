package inmem

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The store does what the model does, in every way to read it, for every sequence
// of operations.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name                string
		size, runs, lengths int
	}{
		{"small", 8, 200, 60},
		{"medium", 40, 20, 300},
		{"large", 4000, 1, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := c.runs
			if os.Getenv("AGENTMEMORY_LONG") != "" {
				runs *= 50
			}
			for run := range runs {
				r := rand.New(rand.NewPCG(uint64(run), uint64(c.size)))
				seeds := make([]uint64, c.lengths)
				for i := range seeds {
					seeds[i] = r.Uint64()
				}
				check(t, c.size, seeds)
			}
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("a sequence of operations"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var seeds []uint64
		for _, b := range data[:min(len(data), 200)] {
			seeds = append(seeds, uint64(b))
		}
		check(t, 8, seeds)
	})
}

func check(t *testing.T, size int, seeds []uint64) {
	t.Helper()
	if newWorld(size).run(seeds) == nil {
		return
	}
	short := shrink(seeds, func(s []uint64) bool { return newWorld(size).run(s) != nil })
	t.Fatal(newWorld(size).run(short))
}

func TestShrink(t *testing.T) {
	seeds := []uint64{9, 1, 8, 2, 7, 3, 6}
	got := shrink(seeds, func(s []uint64) bool {
		i := slices.Index(s, 1)
		return i >= 0 && slices.Contains(s[i:], 3)
	})
	if !slices.Equal(got, []uint64{1, 3}) {
		t.Fatalf("shrunk to %v", got)
	}
}
