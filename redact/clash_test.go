package redact

import (
	"slices"
	"strings"
	"testing"
)

// stumps returns the stumps of all forms of the values, beside the markers of ids;
// false if one is too short or holds the head of a marker.
func stumps(values []pair, ids []string, encoded bool) (list []string, ok bool) {
	ends := func(end []byte) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(marker(id), string(end)) })
	}
	ok = true
	for _, p := range values {
		for _, f := range formsOf([]byte(p.value), encoded) {
			rest := core(f.text, ends)
			if ok = ok && rest != nil && !strings.Contains(string(f.text), markerHead); rest != nil {
				list = append(list, string(rest))
			}
		}
	}
	return list, ok
}

func idsOf(pairs []pair) []string {
	ids := slices.Clone(shapeIDs)
	for _, p := range pairs {
		ids = append(ids, p.id)
	}
	return ids
}

// anyWithin reports whether one of the ids' markers holds one of the texts.
func anyWithin(texts, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		m := marker(id)
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(m, text) })
	})
}

// TestR1_Clashes registers ids and values that often occur in each other, short
// ones first or long ones first, and some that were unregistered meanwhile.
func TestR1_Clashes(t *testing.T) {
	cases := howMany(400, 50_000)
	rnd := newRand(t, 31)
	refused := 0
	for range cases {
		alphabet := []string{"ab", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz:/._-"}[rnd.IntN(3)]
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = alphabet[rnd.IntN(len(alphabet))]
			}
			return string(b)
		}
		cfg := Config{PlainOnly: rnd.IntN(2) == 0}
		r := New(cfg)
		var pairs, gone []pair
		var noted []string // of what is gone, when it went
		ids := map[string]bool{}
		for range 1 + rnd.IntN(6) {
			p := pair{word(1 + rnd.IntN(12)), word(8 + rnd.IntN(50))}
			if len(pairs)+len(gone) > 0 && rnd.IntN(3) == 0 { // a relative of another
				all := append(slices.Clone(pairs), gone...)
				o := all[rnd.IntN(len(all))]
				fs := formsOf([]byte(o.value), !cfg.PlainOnly)
				if f := string(fs[rnd.IntN(len(fs))].text); rnd.IntN(2) == 0 && len(f) < 50 && validID(f) {
					p.id = word(rnd.IntN(8)) + f + word(rnd.IntN(6))
				} else if i := rnd.IntN(len(o.id)); len(o.id)-i >= 2 {
					p.value = o.id[i:] + "]" + word(6+rnd.IntN(3))
				}
			}
			if ids[p.id] {
				continue
			}
			ids[p.id] = true
			pairs = append(pairs, p)
			live, ok := stumps(pairs, idsOf(pairs), !cfg.PlainOnly)
			must := !ok || anyWithin(live, idsOf(pairs)) || anyWithin(noted, []string{p.id})
			// A stump beside a marker that is gone was noted too, and is not forgotten.
			all := append(slices.Clone(pairs), gone...)
			ever, _ := stumps(all, idsOf(all), !cfg.PlainOnly)
			may := anyWithin(ever, []string{p.id})
			err := r.Register(p.id, []byte(p.value))
			if got := err == ErrMarkerText; must && !got || got && !must && !may {
				t.Fatalf("Register: %v, want a clash: %v\npairs %q\ngone %q", err, must, pairs, gone)
			}
			if err != nil {
				refused++
				pairs = nil
				break
			}
			if rnd.IntN(6) == 0 {
				left, _ := stumps(pairs[len(pairs)-1:], idsOf(pairs), !cfg.PlainOnly)
				noted, gone = append(noted, left...), append(gone, p)
				pairs = pairs[:len(pairs)-1]
				r.Unregister(p.id)
			}
		}
		if len(pairs) > 0 {
			var text string
			for _, p := range append(gone, pairs...) {
				text += p.value + p.value[rnd.IntN(4):] + word(rnd.IntN(20))
			}
			if got, want := redacted(t, r, text), oracle(pairs, !cfg.PlainOnly)(text); got != want {
				t.Fatalf("pairs %q\ngone %q\ntext %q\ngot  %q\nwant %q", pairs, gone, text, got, want)
			}
		}
		r.Close()
	}
	if refused < cases/20 || refused > cases*3/4 {
		t.Errorf("%d of %d cases were refused, which tells little", refused, cases)
	}
}

// TestR1_ClashesInEitherOrder registers a value, and an id that is one of its forms, in either order.
func TestR1_ClashesInEitherOrder(t *testing.T) {
	rnd := newRand(t, 32)
	for range 100 {
		value := make([]byte, 12)
		for i := range value {
			value[i] = "abcdefghijkl?>@ö"[rnd.IntN(16)]
		}
		for _, f := range formsOf(value, true) {
			id := string(f.text)
			if !validID(id) {
				continue
			}
			pairs := []pair{{"a", string(value)}, {id, "another value"}}
			for range 2 {
				r := New(Config{})
				before, after := r.Register(pairs[0].id, []byte(pairs[0].value)), r.Register(pairs[1].id, []byte(pairs[1].value))
				if before != nil || after != ErrMarkerText {
					t.Fatalf("%q: %v, %v", pairs, before, after)
				}
				slices.Reverse(pairs)
			}
		}
	}
}
