package distill

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// block is a piece of calibration text with its exact count. Even blocks are fitted
// to, odd ones are held out.
type block struct {
	text  string
	exact int
	held  bool
}

const calibration = "testdata/calibration"

func calibrationBlocks(t testing.TB) map[string][]block {
	t.Helper()
	counts, err := os.ReadFile(filepath.Join(calibration, "counts.tsv"))
	require.NoError(t, err)
	texts, classes := map[string][]string{}, map[string][]block{}
	for line := range strings.Lines(string(counts)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		name := f[0]
		if texts[name] == nil {
			text, err := os.ReadFile(filepath.Join(calibration, name+".txt"))
			require.NoError(t, err)
			texts[name] = strings.Split(strings.TrimSpace(string(text)), "\n\n")
		}
		i, err := strconv.Atoi(f[1])
		require.NoError(t, err)
		exact, err := strconv.Atoi(f[2])
		require.NoError(t, err)
		classes[name] = append(classes[name], block{texts[name][i], exact, i%2 == 1})
	}
	return classes
}

// deviation is how far the estimate is off on the blocks, as a share of the exact count.
func deviation(blocks []block, held bool) float64 {
	estimated, exact := 0, 0
	for _, b := range blocks {
		if b.held == held {
			estimated += Estimator{}.Count(b.text)
			exact += b.exact
		}
	}
	return float64(estimated)/float64(exact) - 1
}

// The protocol's tolerance is ten per cent (RFC 0062 §A).
func TestEstimator_WithinTenPercentOfWhatItWasNotFittedTo(t *testing.T) {
	classes := calibrationBlocks(t)
	require.Len(t, classes, 13)
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		held := deviation(classes[name], true)
		t.Logf("| %-9s | %+5.1f %% | %+5.1f %% |", name, 100*deviation(classes[name], false), 100*held)
		if math.Abs(held) > 0.10 {
			t.Errorf("%s is off by %.1f %%", name, 100*held)
		}
	}
}

func TestEstimator_IsTotal(t *testing.T) {
	e := Estimator{}
	require.Zero(t, e.Count(""))
	for _, s := range []string{"a", " ", "\n", "é", "\xff", "\xe3", "\xe4\xb8", "\xea\xb0", "\xd0", "\xd8", "\xf0\x9f", "漢", "🙂", "\u00a0", "ｱ"} {
		require.Positive(t, e.Count(s), "%q", s)
		require.Positive(t, e.Count(strings.Repeat(s, 100)), "%q", s)
	}
}

func FuzzEstimator(f *testing.F) {
	f.Add("Grüße, 漢字 and 0x9f3a.")
	f.Add("a\n")
	f.Add("\n\nabc def 123456\n\n\t\tif é {\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		n := Estimator{}.Count(s)
		if n != (Estimator{}).Count(s) || (n == 0) != (s == "") || n > 4*len(s)+1 {
			t.Errorf("%d tokens in %d bytes, %d characters", n, len(s), utf8.RuneCountInString(s))
		}
	})
}

// TestCalibrate fits the weights to one half of the samples that bench/calibrate has made of
// the files of a machine, and to one half of our own; writes weights.bin; and prints how
// far the estimate is off on both halves of each kind.
func TestCalibrate(t *testing.T) {
	file := os.Getenv("AGENTMEMORY_CALIBRATE")
	if file == "" {
		t.Skip("AGENTMEMORY_CALIBRATE is not set")
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	kinds := map[string][]block{}
	for name, blocks := range calibrationBlocks(t) {
		kinds["our "+name] = blocks
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
		var s struct {
			Kind, Text string
			Held       bool
			Tokens     int
		}
		require.NoError(t, dec.Decode(&s))
		kinds[s.Kind] = append(kinds[s.Kind], block{s.Text, s.Tokens, s.Held})
	}
	require.GreaterOrEqual(t, len(kinds), 16)
	var samples []sample
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		total := 0
		for _, b := range kinds[name] {
			if !b.held {
				total += b.exact
			}
		}
		for _, b := range kinds[name] {
			if !b.held {
				scale := 1 / math.Sqrt(float64(b.exact)*float64(total))
				if strings.HasPrefix(name, "our ") {
					scale *= 2 // notes and prose are what is counted most
				}
				samples = append(samples, sampleOf(b, scale))
			}
		}
	}
	var table []byte
	for _, x := range fitWeights(samples) {
		table = binary.LittleEndian.AppendUint16(table, uint16(int16(math.Round(max(-8, min(8, x))*unit))))
	}
	weights = string(table)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("| %-12s | %+5.1f %% | %+5.1f %% |", name, 100*deviation(kinds[name], false), 100*deviation(kinds[name], true))
	}
	require.NoError(t, os.WriteFile("weights.bin", table, 0o644))
}

// sample is a block as an equation: how often each weight counts in it, and the sum.
type sample struct {
	slots []int
	times []float64
	exact float64
	scale float64 // what the error counts
}

func sampleOf(b block, scale float64) sample {
	s := sample{exact: float64(b.exact), scale: scale}
	times := make([]float64, slotCount)
	split(b.text, func(p piece) {
		for _, k := range p {
			times[k]++
		}
	})
	for k, n := range times {
		if n > 0 {
			s.slots, s.times = append(s.slots, k), append(s.times, n)
		}
	}
	return s
}

// priors is what a weight is where the text says nothing about it: a word is a token, and a long
// one is more.
func priors() []float64 {
	w := make([]float64, slotCount)
	for k := range 1 << slotBits {
		w[k] = 1.2
	}
	for shape := range uint32(0x400) {
		for before := range 16 {
			for long := range 25 {
				w[pieceOf(shape, before, long, 0, 0)[0]] = 1 + 0.25*max(0, float64(long)-4)
			}
		}
	}
	return w
}

// fitWeights is ridge regression towards the priors by coordinate descent.
func fitWeights(samples []sample) []float64 {
	const strength = 5e-4
	prior := priors()
	w := slices.Clone(prior)
	residual := make([]float64, len(samples))
	uses := make([][][2]float64, slotCount) // per slot: sample, times
	for i, s := range samples {
		residual[i] = s.exact
		for j, k := range s.slots {
			residual[i] -= s.times[j] * w[k]
			uses[k] = append(uses[k], [2]float64{float64(i), s.times[j]})
		}
	}
	for range 600 {
		for k := range w {
			up, down := strength*(prior[k]-w[k]), strength
			for _, u := range uses[k] {
				s := samples[int(u[0])].scale
				up += s * s * u[1] * residual[int(u[0])]
				down += s * s * u[1] * u[1]
			}
			next := w[k] + up/down
			for _, u := range uses[k] {
				residual[int(u[0])] -= u[1] * (next - w[k])
			}
			w[k] = next
		}
	}
	return w
}
