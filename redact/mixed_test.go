package redact

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestR7_HoldsRun compares the filter before the search for hex with a count of every run.
func TestR7_HoldsRun(t *testing.T) {
	rnd := newRand(t, 61)
	found := 0
	for range 20_000 {
		text := make([]byte, rnd.IntN(60))
		for i := range text {
			text[i] = "0aAfFgG:"[rnd.IntN(8)]
		}
		n, longest, run := 1+rnd.IntN(12), 0, 0
		for _, b := range text {
			if run++; !hexDigits.has(b) {
				run = 0
			}
			longest = max(longest, run)
		}
		if got := holdsRun(text, &hexDigits, n); got != (longest >= n) {
			t.Fatalf("%d hex digits in %q: %v", n, text, got)
		} else if got {
			found++
		}
	}
	if found < 1000 || found > 19_000 {
		t.Errorf("%d of 20000 texts hold a run, which tells little", found)
	}
}

// hexAnyCase is the hex of v with digits of either case.
func hexAnyCase(rnd *rand.Rand, v string) string {
	code := []byte(hex.EncodeToString([]byte(v)))
	for i, b := range code {
		if b >= 'a' && rnd.IntN(2) == 0 {
			code[i] = b - 'a' + 'A'
		}
	}
	return string(code)
}

// TestR7_MixedEncodings writes values of any bytes plainly, in hex of both cases and in wrapped
// base64, whole, cut off, overlapping and among digits that are not theirs, and looks in the
// output for what a decoder would find.
func TestR7_MixedEncodings(t *testing.T) {
	rounds := howMany(400, 40_000)
	rnd := newRand(t, 62)
	for range rounds {
		var pairs []pair
		for range 1 + rnd.IntN(4) {
			v := make([]byte, 8+rnd.IntN(12))
			for i := range v {
				v[i] = byte(rnd.IntN(256))
				if rnd.IntN(2) == 0 {
					v[i] = "0aAf\n ]+"[rnd.IntN(8)]
				}
			}
			if len([]rune(string(v))) >= MinValue && v[len(v)-1] != '\n' {
				pairs = append(pairs, pair{string(rune('p' + rnd.IntN(4))), string(v)})
			}
		}
		r, pairs := registered(t, Config{}, pairs)
		if len(pairs) == 0 {
			continue
		}
		var text strings.Builder
		for range 1 + rnd.IntN(8) {
			v := pairs[rnd.IntN(len(pairs))].value
			piece := []string{v, hexAnyCase(rnd, v), hexAnyCase(rnd, "0"+v+"a"), "Af0", "\n", " ", "\xff\xc3",
				wrap(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", rnd.IntN(4))+v+"yz")), 1+rnd.IntN(30), "\r\n  ")}[rnd.IntN(8)]
			text.WriteString(piece[rnd.IntN(4)*rnd.IntN(2)*len(piece)/4:])
		}
		got := redacted(t, r, text.String())
		folded, joined := strings.ToLower(got), strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "").Replace(got)
		for _, p := range pairs {
			if strings.Contains(got, p.value) || strings.Contains(folded, hex.EncodeToString([]byte(p.value))) {
				t.Fatalf("%q is left\nsecrets %q\ntext %q\ngot  %q", p.value, pairs, text.String(), got)
			}
			for _, f := range formsOf([]byte(p.value), true) {
				if f.kind == base64Form && strings.Contains(joined, string(f.text)) {
					t.Fatalf("%q is left\nsecrets %q\ntext %q\ngot  %q", f.text, pairs, text.String(), got)
				}
			}
		}
		if again := redacted(t, r, got); again != got {
			t.Fatalf("R3: secrets %q\nonce  %q\ntwice %q", pairs, got, again)
		}
		if want := viaFallback(t, r, text.String()); want != got {
			t.Fatalf("fallback: secrets %q\ntext %q\ngot  %q\nwant %q", pairs, text.String(), want, got)
		}
		checkStream(t, rnd, Config{}, pairs, text.String())
		r.Close()
	}
}
