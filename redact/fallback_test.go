package redact

import (
	"math"
	"strings"
	"testing"
)

// viaFallback redacts text by the automatons from the first suspicion on.
func viaFallback(t testing.TB, r *SecretRegistry, text string) string {
	t.Helper()
	m, scratch, err := r.state().acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer r.state().release(scratch)
	for _, x := range m.indexes {
		x.slack = math.MinInt / 2
		if len(x.forms) > 0 {
			x.automaton.once.Do(func() { x.automaton.build(x) })
		}
	}
	cuts, _ := scan(m, []byte(text), 0, false, scratch)
	return string(rewrite(nil, []byte(text), 0, len(text), cuts, m.markers))
}

func TestFallback_SmallAlphabets(t *testing.T) {
	cases := howMany(400, 50_000)
	rnd := newRand(t, 6)
	for range cases {
		pairs, texts := smallCase(rnd)
		cfg := Config{PlainOnly: rnd.IntN(2) == 0}
		r, pairs := registered(t, cfg, pairs)
		expect := oracle(pairs, !cfg.PlainOnly)
		for _, text := range texts {
			if got, want := viaFallback(t, r, text), expect(text); got != want {
				t.Fatalf("secrets %q\ntext %q\ngot  %q\nwant %q", pairs, text, got, want)
			}
		}
		r.Close()
	}
}

// nested returns values of one letter and all lengths.
func nested(from, to int) (pairs []pair) {
	for n := from; n <= to; n++ {
		pairs = append(pairs, pair{"n", strings.Repeat("a", n)})
	}
	return pairs
}

// TestFallback_HostileText has texts in which nearly every place looks like a
// secret. They must be handed to the automaton, with the same result.
func TestFallback_HostileText(t *testing.T) {
	shared := "sk-live-0123456789abcdef"
	for _, c := range []struct {
		name    string
		secrets []pair
		text    string
	}{
		{"one letter", []pair{{"a", strings.Repeat("a", 20)}, {"b", strings.Repeat("a", 64) + "b"}}, strings.Repeat("a", 40_000) + "b"},
		{"nested", []pair{{"a", "aaaaaaaa"}, {"b", "aaaaaaaaa"}, {"c", "aaaaaaaaab"}}, strings.Repeat("aaaaaaaaab", 3000)},
		{"near misses", []pair{{"a", shared + "XXXXXXXX"}, {"b", shared + "YYYYYYYY"}}, strings.Repeat(shared, 3000) + "XXXXXXXX"},
		{"hex in hex", []pair{{"a", strings.Repeat("61", 12)}, {"b", strings.Repeat("16", 30)}}, strings.Repeat("61", 20_000) + "x"},
		{"long", []pair{{"a", strings.Repeat("ab", 500) + "c"}, {"b", strings.Repeat("ab", 8)}}, strings.Repeat("ab", 20_000) + "c"},
		{"many nested", nested(8, 400), strings.Repeat(strings.Repeat("a", 100)+"b", 400)},
		{"a short and a long one", []pair{{"a", strings.Repeat("a", 16)}, {"b", strings.Repeat("a", 8000) + "b"}}, strings.Repeat("a", 9000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := registered(t, Config{PlainOnly: true}, c.secrets)
			if len(ok) != len(c.secrets) {
				t.Fatal("a secret was refused")
			}
			want := oracle(c.secrets, false)(c.text)
			for range 3 { // the excess builds up over several texts
				if got := redacted(t, r, c.text); got != want {
					t.Fatal("differs from the oracle")
				}
			}
			if !r.s.matcher.indexes[exactForm].automaton.built.Load() && c.name != "near misses" {
				t.Error("the automaton was not built")
			}
			checkStream(t, newRand(t, 7), Config{PlainOnly: true}, c.secrets, c.text[len(c.text)-3000:])
		})
	}
}

// TestFallback_HostileLines has hostile base64 in lines, in several parts: the automaton
// must find the same as the look before it took over.
func TestFallback_HostileLines(t *testing.T) {
	for _, width := range []int{1, 5, 76} {
		r, _ := registered(t, Config{}, append(nested(8, 200), pair{"long", strings.Repeat("a", 2500) + "b"}))
		text := wrap(strings.Repeat("YWFh", 12_000)+"!"+strings.Repeat("YWFh", 100), width, "\n")
		first := redacted(t, r, text)
		for range 20 {
			if got := redacted(t, r, text); got != first {
				t.Fatalf("width %d: the results differ", width)
			}
		}
		if !r.s.matcher.indexes[base64Form].automaton.built.Load() {
			t.Errorf("width %d: the automaton was not built", width)
		}
		if strings.Contains(first, "YWFhYWFhYWFh") || strings.Contains(strings.ReplaceAll(first, "\n", ""), "YWFhYWFhYWFh") {
			t.Errorf("width %d: base64 is left", width)
		}
		r.Close()
	}
}
