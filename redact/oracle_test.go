package redact

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pair is one registered secret of a case.
type pair struct{ id, value string }

// oracle returns what redacts texts as R2 says it, by brute force: search every form of every value
// at every position, cover the union, and mark each form that extends it.
func oracle(pairs []pair, encoded bool) func(text string) string {
	type target struct {
		form, id string
		kind     kind
	}
	var targets []target
	ids := slices.Clone(shapeIDs)
	for _, p := range pairs {
		ids = append(ids, p.id)
	}
	ends := func(end []byte) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(marker(id), string(end)) })
	}
	for _, p := range pairs {
		for _, f := range formsOf([]byte(p.value), encoded) {
			targets = append(targets, target{string(f.text), p.id, f.kind}, target{string(core(f.text, ends)), p.id, f.kind})
		}
	}
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(len(b.form), len(a.form)), cmp.Compare(a.id, b.id), cmp.Compare(a.form, b.form))
	})
	targets = slices.Compact(targets)
	return func(text string) string {
		var out strings.Builder
		covered, folded := 0, inLowerHex(text)
		for i := range len(text) {
			for _, t := range targets {
				if !strings.HasPrefix(text[i:], t.form) && (t.kind != hexForm || !strings.HasPrefix(folded[i:], t.form)) {
					continue
				}
				if i+len(t.form) > covered {
					out.WriteString(marker(t.id))
					covered = i + len(t.form)
				}
				break
			}
			if i >= covered {
				out.WriteByte(text[i])
			}
		}
		return out.String()
	}
}

func inLowerHex(text string) string {
	folded := []byte(text)
	foldHex(folded)
	return string(folded)
}

// textsOfCase is how many texts smallCase makes: to register takes ten times as long as to redact.
const textsOfCase = 20

// smallCase makes values that nest, overlap and repeat, and texts of them.
func smallCase(rnd *rand.Rand) (pairs []pair, texts []string) {
	alphabets := []string{"ab", "abc", "ab[]", "aR[E]D", "ab/+=", "a\"\\b", "0aA%2"}
	alphabet := alphabets[rnd.IntN(len(alphabets))]
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 1 + rnd.IntN(5) {
		v := word(8 + rnd.IntN(5))
		if len(pairs) > 0 && rnd.IntN(2) == 0 { // related to an earlier one
			o := pairs[rnd.IntN(len(pairs))].value
			switch rnd.IntN(3) {
			case 0:
				v = o + word(1+rnd.IntN(4))
			case 1:
				v = word(1+rnd.IntN(4)) + o
			case 2:
				v = o[rnd.IntN(len(o)-1):] + word(8)
			}
		}
		pairs = append(pairs, pair{string(rune('p' + rnd.IntN(4))), v})
	}
	forms := formsOfEach(pairs, true)
	for range textsOfCase {
		var text strings.Builder
		for range rnd.IntN(12) {
			k := rnd.IntN(len(pairs))
			switch o := pairs[k].value; rnd.IntN(6) {
			case 0:
				text.WriteString(word(rnd.IntN(12)))
			case 1:
				text.WriteString(o)
			case 2:
				text.WriteString(o[:rnd.IntN(len(o))])
			case 3:
				text.WriteString(o[rnd.IntN(len(o)):])
			case 4:
				text.Write(forms[k][rnd.IntN(len(forms[k]))].text)
			case 5:
				text.WriteString("[REDACTED:p]"[:rnd.IntN(13)])
			}
		}
		texts = append(texts, text.String())
	}
	return pairs, texts
}

// formsOfEach returns the forms of each pair's value.
func formsOfEach(pairs []pair, encoded bool) (each [][]form) {
	for _, p := range pairs {
		each = append(each, formsOf([]byte(p.value), encoded))
	}
	return each
}

// registered returns a registry with the pairs that it accepts, and those.
func registered(t testing.TB, cfg Config, pairs []pair) (*SecretRegistry, []pair) {
	t.Helper()
	r := New(cfg)
	var accepted []pair
	for _, p := range pairs {
		switch err := r.Register(p.id, []byte(p.value)); err {
		case nil:
			accepted = append(accepted, p)
		case ErrMarkerText: // poisoned: begin again without it
			r, _ = registered(t, cfg, accepted)
		default:
			t.Fatalf("Register: %v", err)
		}
	}
	return r, accepted
}

// checkLaws fails unless the redaction of each text keeps R1, R2 and R3.
func checkLaws(t testing.TB, cfg Config, pairs []pair, texts ...string) {
	t.Helper()
	r, pairs := registered(t, cfg, pairs)
	defer r.Close()
	expect, forms := oracle(pairs, !cfg.PlainOnly), slices.Concat(formsOfEach(pairs, !cfg.PlainOnly)...)
	for _, text := range texts {
		got, err := r.Redact(text)
		if err != nil {
			t.Fatalf("Redact: %v", err)
		}
		if want := expect(text); got != want {
			t.Fatalf("R2: secrets %q\ntext %q\ngot  %q\nwant %q", pairs, text, got, want)
		}
		for _, f := range forms {
			if strings.Contains(got, string(f.text)) {
				t.Fatalf("R1: %q is left\nsecrets %q\ntext %q\ngot %q", f.text, pairs, text, got)
			}
		}
		if again, err := r.Redact(got); err != nil || again != got {
			t.Fatalf("R3: secrets %q\nonce  %q\ntwice %q, %v", pairs, got, again, err)
		}
		if app, err := r.Append([]byte("x"), []byte(text)); err != nil || string(app) != "x"+got {
			t.Fatalf("Append: %q, %v; want %q", app, err, "x"+got)
		}
	}
}

// With AGENTMEMORY_LONG=1 it redacts ten million texts.
func TestR1R2R3_SmallAlphabets(t *testing.T) {
	cases := howMany(750, 500_000)
	rnd := newRand(t, 1)
	for range cases {
		pairs, texts := smallCase(rnd)
		checkLaws(t, Config{PlainOnly: rnd.IntN(2) == 0}, pairs, texts...)
	}
}
