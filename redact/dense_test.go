//go:build unix

package redact

import (
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// fence hands out memory that ends where no more may be read or written.
type fence []byte

func newFence(t *testing.T, size int) fence {
	page := syscall.Getpagesize()
	size = (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		err = syscall.Mprotect(all[size:], syscall.PROT_NONE)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	return all[:size:size]
}

// last returns the last n bytes.
func (f fence) last(n int) []byte { return f[len(f)-n:] }

// denseCase makes secrets of all lengths, some with the same start, and a text
// that is full of them.
func denseCase(rnd *rand.Rand) ([]pair, string) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return string(b)
	}
	least, some, prefix := 8+rnd.IntN(30), 1+rnd.IntN(24), word(16)
	if rnd.IntN(8) == 0 {
		some = 200
	}
	var pairs []pair
	for range some {
		v := word(least + rnd.IntN(60))
		if rnd.IntN(4) == 0 {
			v = prefix[:rnd.IntN(len(prefix))] + v
		}
		pairs = append(pairs, pair{word(1 + rnd.IntN(30)), v})
	}
	if rnd.IntN(2) == 0 {
		pairs[0].id = word(MaxID)
	}
	var text strings.Builder
	for range rnd.IntN(60) {
		v := pairs[rnd.IntN(len(pairs))].value
		if rnd.IntN(8) == 0 { // a near miss
			i := rnd.IntN(len(v))
			v = v[:i] + "." + v[i+1:]
		}
		text.WriteString(v)
		text.WriteString(word(rnd.IntN(2) * rnd.IntN(100)))
	}
	if last := pairs[0].value; rnd.IntN(2) == 0 {
		text.WriteString(last[:rnd.IntN(len(last))])
	}
	return pairs, text.String()
}

// TestR2_Dense redacts texts full of secrets, whose memory ends with them, into
// buffers whose memory ends with their capacity.
func TestR2_Dense(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	cases := howMany(100, 8_000)
	in, out := newFence(t, 1<<16), newFence(t, 1<<16)
	rnd := newRand(t, 21)
	for range cases {
		pairs, s := denseCase(rnd)
		r, pairs := registered(t, Config{PlainOnly: true}, pairs)
		text := in.last(len(s))
		copy(text, s)
		want := oracle(pairs, false)(s)
		for _, room := range []int{len(want), len(want) - 1, rnd.IntN(len(want) + 1)} {
			if room < 0 {
				continue
			}
			got, err := r.Append(out.last(room)[:0], text)
			if err != nil || string(got) != want {
				t.Fatalf("room %d of %d: %v\nsecrets %q\ntext %q\ngot  %q\nwant %q", room, len(want), err, pairs, s, got, want)
			}
		}
		if got := redacted(t, r, stringOf(text)); got != want {
			t.Fatalf("Redact\nsecrets %q\ntext %q\ngot  %q\nwant %q", pairs, s, got, want)
		}
		r.Close()
	}
}

// TestScan_PointersStayInside is for the race detector, which looks at each pointer
// that is made, whether or not it is used: texts fill their memory to the end.
func TestScan_PointersStayInside(t *testing.T) {
	rnd := newRand(t, 22)
	for _, some := range []int{1, 100} { // a table of bytes, and one of bits
		var pairs []pair
		for len(pairs) < some {
			v := make([]byte, 64)
			for i := range v {
				v[i] = byte('A' + rnd.IntN(50))
			}
			pairs = append(pairs, pair{"k", string(v)})
		}
		r, pairs := registered(t, Config{PlainOnly: true}, pairs)
		var texts [][]byte
		for range 8 {
			texts = append(texts, []byte(strings.Repeat(pairs[0].value, 8192/64)))
		}
		out := make([]byte, 0, 8192)
		for _, text := range texts {
			for cut := 0; cut < 4096; cut += 1 + rnd.IntN(8) {
				if _, err := r.Append(out, text[cut:]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
