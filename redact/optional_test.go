package redact

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestR1_OptionalIsRefusedAlone registers values that occur in marker text, before and
// after the marker's id, and keeps the registry open.
func TestR1_OptionalIsRefusedAlone(t *testing.T) {
	for _, c := range []struct {
		name     string
		optional []pair
		required []pair
		late     []pair // optional, after required
		lost     []string
	}{
		{"the head", []pair{{"o", "REDACTED"}}, []pair{{"a", "hunter2hunter2"}}, nil, []string{"o"}},
		{"a known id", nil, []pair{{"production-key", "hunter2hunter2"}}, []pair{{"o", "production"}}, []string{"o"}},
		{"a later id", []pair{{"o", "production"}}, []pair{{"production-key", "hunter2hunter2"}}, nil, []string{"o"}},
		{"its own id", []pair{{"production", "production"}}, []pair{{"a", "hunter2hunter2"}}, nil, []string{"production"}},
		{"hex in a later id", []pair{{"o", "\xab\xcd\xab\xcd\xab\xcd\xab\xcdxyz"}, {"p", "kept-optional"}},
			[]pair{{"ABcdABcdABcdABcd78797a", "hunter2hunter2"}}, nil, []string{"o"}},
		{"an end that leaves too little", []pair{{"o", "y.key]abcd"}}, []pair{{"my.key", "hunter2hunter2"}}, nil, []string{"o"}},
		{"two values of one id", []pair{{"o", "production"}, {"o", "kept-optional"}}, []pair{{"production-key", "hunter2hunter2"}}, nil, []string{"o"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(Config{})
			register := func(list []pair) {
				for _, p := range list {
					if err := r.RegisterOptional(p.id, []byte(p.value)); err != nil && err != ErrMarkerText {
						t.Fatal(err)
					}
				}
			}
			register(c.optional)
			for _, p := range c.required {
				if err := r.Register(p.id, []byte(p.value)); err != nil {
					t.Fatalf("an optional value closed the registry: %v", err)
				}
			}
			register(c.late)
			text := ""
			for _, p := range slices.Concat(c.optional, c.required, c.late) {
				text += p.value + " "
			}
			got := redacted(t, r, text)
			for _, p := range c.required {
				if strings.Contains(got, p.value) {
					t.Errorf("%q is left in %q", p.value, got)
				}
			}
			if strings.Contains(got, "kept-optional") {
				t.Errorf("an optional value without a conflict is left in %q", got)
			}
			if lost := r.Uncovered(); !slices.Equal(lost, c.lost) {
				t.Errorf("uncovered: %q, want %q", lost, c.lost)
			}
			if again := redacted(t, r, got); again != got {
				t.Errorf("R3: %q became %q", got, again)
			}
			for _, id := range c.lost {
				r.Unregister(id)
			}
			if lost := r.Uncovered(); len(lost) > 0 {
				t.Errorf("uncovered after Unregister: %q", lost)
			}
		})
	}
}

// Required wins over optional: under one id, under two, whichever comes first.
func TestR1_RequiredWinsOverOptional(t *testing.T) {
	for name, calls := range map[string]func(r *SecretRegistry) [2]error{
		"optional first": func(r *SecretRegistry) [2]error {
			return [2]error{r.RegisterOptional("a", []byte("production")), r.Register("a", []byte("production"))}
		},
		"required first": func(r *SecretRegistry) [2]error {
			return [2]error{r.Register("a", []byte("production")), r.RegisterOptional("a", []byte("production"))}
		},
		"two ids": func(r *SecretRegistry) [2]error {
			return [2]error{r.RegisterOptional("a", []byte("production")), r.Register("b", []byte("production"))}
		},
	} {
		r := New(Config{})
		if errs := calls(r); errs != [2]error{} {
			t.Fatalf("%s: %v", name, errs)
		}
		if err := r.RegisterOptional("production-key", []byte("hunter2hunter2")); err != ErrMarkerText {
			t.Errorf("%s: an optional value under an id that holds a required one: %v", name, err)
		}
		if got := redacted(t, r, "production hunter2hunter2"); strings.HasPrefix(got, "production") {
			t.Errorf("%s: %q", name, got)
		}
		if err := r.Register("production-key", []byte("hunter2hunter2")); err != ErrMarkerText {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Redact("x"); err != ErrMarkerText {
			t.Errorf("%s: the registry goes on: %v", name, err)
		}
	}
}

// TestR1_OptionalAtRandom registers ids and values that occur in each other, some of them
// optional, and checks R1 against a model: a required conflict closes, and nothing else.
func TestR1_OptionalAtRandom(t *testing.T) {
	rounds := howMany(1250, 150_000)
	rnd := newRand(t, 51)
	closed, dropped := 0, 0
	for range rounds {
		r := New(Config{})
		word := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = "vw"[rnd.IntN(2)] // with which no shape's id ends
			}
			return string(b)
		}
		var all []pair
		ended := false
		for range 1 + rnd.IntN(6) {
			p := pair{word(1 + rnd.IntN(14)), word(8 + rnd.IntN(4))}
			if rnd.IntN(4) == 0 {
				p.value = p.value[:rnd.IntN(4)] + "]" + p.value
			}
			if rnd.IntN(8) == 0 { // less than minStump between two markers
				p.value = word(1+rnd.IntN(2)) + "]" + word(5) + markerHead[:1+rnd.IntN(8)]
			}
			if rnd.IntN(2) == 0 {
				if err := r.RegisterOptional(p.id, []byte(p.value)); err != nil && err != ErrMarkerText {
					t.Fatal(err)
				}
				if _, err := r.Redact(""); err != nil {
					t.Fatalf("an optional value closed the registry: %q %q", all, p)
				}
			} else if err := r.Register(p.id, []byte(p.value)); err != nil {
				ended = true
				break
			}
			all = append(all, p)
			if rnd.IntN(8) == 0 {
				r.Unregister(all[rnd.IntN(len(all))].id)
			}
		}
		if ended {
			closed++
			continue
		}
		dropped += len(r.Uncovered())
		text := ""
		for _, p := range all {
			text += p.value + " " + p.value[1:] + word(5)
			inner := p.value[strings.IndexByte(p.value, ']')+1:]
			for _, o := range all {
				text += o.value + strings.TrimRight(inner, "[REDACT:") + o.value
			}
		}
		got := redacted(t, r, text)
		for _, values := range r.s.set.byID {
			for _, k := range values {
				if f := string(k.forms[0].text); strings.Contains(got, f) {
					t.Fatalf("R1: %q is left\nsecrets %q\ntext %q\ngot %q", f, all, text, got)
				}
			}
		}
		if again := redacted(t, r, got); again != got {
			t.Fatalf("R3: secrets %q\nonce  %q\ntwice %q", all, got, again)
		}
		r.Close()
	}
	if closed == 0 || dropped == 0 || closed > rounds*9/10 {
		t.Errorf("%d closed, %d dropped of %d: tells little", closed, dropped, rounds)
	}
}

// TestRegister_ManyAlike registers 20,000 values that were made to be compared with each
// other, and takes them away again. In quadratic time each case would take minutes.
func TestRegister_ManyAlike(t *testing.T) {
	n := howMany(2_000, 20_000)
	for name, pairOf := range map[string]func(i int) pair{
		"end with a bracket":         func(i int) pair { return pair{fmt.Sprintf("id-%d", i), fmt.Sprintf("value-%05d]", i)} },
		"begin alike with a bracket": func(i int) pair { return pair{fmt.Sprintf("id-%d", i), fmt.Sprintf("prefix]%05d", i)} },
		"share a stump":              func(i int) pair { return pair{fmt.Sprintf("id-%d", i), fmt.Sprintf("%05d]the same rest", i)} },
		"like parts of ids": func(i int) pair {
			return pair{fmt.Sprintf("secret-key-%05d", i), fmt.Sprintf("-key-%05dsecret-key", i)}
		},
		"one id":    func(i int) pair { return pair{"id", fmt.Sprintf("value-%05d]", i)} },
		"one value": func(i int) pair { return pair{fmt.Sprintf("id-%d", i), "hunter2hunter2]"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{PlainOnly: true})
			for i := range n {
				p := pairOf(i)
				if err := r.Register(p.id, []byte(p.value)); err != nil {
					t.Fatal(err)
				}
			}
			redacted(t, r, pairOf(n/2).value)
			for i := range n {
				r.Unregister(pairOf(i).id)
			}
			if valuesIn(r) != 0 {
				t.Errorf("%d are left", valuesIn(r))
			}
		})
	}
}

// TestR1_RefusalCostsWhatItRefuses registers an optional value under an id that many other
// optional values stand against. What that costs does not grow with their number.
func TestR1_RefusalCostsWhatItRefuses(t *testing.T) {
	allocations := func(n int) float64 {
		r := New(Config{PlainOnly: true})
		defer r.Close()
		for i := range n {
			if err := r.RegisterOptional(fmt.Sprintf("id-%d", i), fmt.Appendf(nil, "yyyyyyy]%04d", i)); err != nil {
				t.Fatal(err)
			}
		}
		return testing.AllocsPerRun(10, func() {
			if err := r.RegisterOptional("x-yyyyyyy", []byte("harmless-value")); err != ErrMarkerText {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(10), allocations(3000); many > few+2 {
		t.Errorf("%v allocations against 3000 values, %v against 10", many, few)
	}
}

// TestR1_RefusalIsAsCheapAmongMany registers optional values that occur in the markers of many ids, each
// of another length. What that allocates, and so what it could leave, does not grow with the ids.
func TestR1_RefusalIsAsCheapAmongMany(t *testing.T) {
	allocated := func(n int) uint64 {
		r := New(Config{})
		defer r.Close()
		for i := range n {
			if err := r.RegisterOptional(fmt.Sprintf("tenant/secret-key-%04d", i), fmt.Appendf(nil, "value-of-%04d", i)); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for length := MinValue; length <= len("tenant/secret-key-0"); length++ {
			if err := r.RegisterOptional("o", []byte("tenant/secret-key-0")[:length]); err != ErrMarkerText {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if lost := r.Uncovered(); !slices.Equal(lost, []string{"o"}) || len(r.s.set.byID) != n {
			t.Errorf("uncovered: %q; %d ids of %d", lost, len(r.s.set.byID), n)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(10), allocated(3000); many > few+few/2 {
		t.Errorf("%d bytes for refusals among 3000, %d among 10", many, few)
	}
}
