package redact

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var long = os.Getenv("AGENTMEMORY_LONG") == "1"

// howMany says how many cases a property tries: usually, and with AGENTMEMORY_LONG=1. With -short it
// is a fifth of what is usual.
func howMany(usual, most int) int {
	switch {
	case long:
		return most
	case testing.Short():
		return max(1, usual/5)
	}
	return usual
}

// newRand returns the source of a property's cases: the same in each run, but with AGENTMEMORY_LONG=1,
// when it logs another seed in each, so that runs add up.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	if long {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	return rand.New(rand.NewPCG(seed, 0))
}

func redacted(t *testing.T, r *SecretRegistry, text string) string {
	t.Helper()
	out, err := r.Redact(text)
	if err != nil {
		t.Fatalf("Redact: %v", err)
	}
	return out
}

func TestR2_Overlaps(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets []pair
		text    string
		want    string
	}{
		{"alone", []pair{{"a", "hunter2hunter2"}}, "pw=hunter2hunter2;", "pw=[REDACTED:a];"},
		{"contained", []pair{{"in", "cdefghij"}, {"out", "abcdefghijkl"}}, "-abcdefghijkl-", "-[REDACTED:out]-"},
		{"contained at the start", []pair{{"in", "abcdefgh"}, {"out", "abcdefghij"}}, "abcdefghijabcdefghX", "[REDACTED:out][REDACTED:in]X"},
		{"overlapping", []pair{{"l", "abcdefgh"}, {"r", "efghijkl"}}, "-abcdefghijkl-", "-[REDACTED:l][REDACTED:r]-"},
		{"overlapping itself", []pair{{"a", "abababab"}}, "abababababab!", "[REDACTED:a][REDACTED:a][REDACTED:a]!"},
		{"the longer one starts inside", []pair{{"s", "abcdefgh"}, {"l", "bcdefghijklm"}}, "abcdefghijklm.", "[REDACTED:s][REDACTED:l]."},
		{"adjacent", []pair{{"a", "abcdefgh"}, {"b", "ijklmnop"}}, "abcdefghijklmnop", "[REDACTED:a][REDACTED:b]"},
		{"begun by a shorter value, in hex", []pair{{"a", "61626364"}, {"b", "abcdefgh"}}, "-6162636465666768-", "-[REDACTED:b]-"},
		{"begun by a shorter value, in base64", []pair{{"a", "YWJjZGVm"}, {"b", "abcdefghi"}}, "-YWJjZGVmZ2hp-", "-[REDACTED:b]-"},
		{"in hex a value of a later id", []pair{{"b", "6162636465666768"}, {"a", "abcdefgh"}}, "-6162636465666768-", "-[REDACTED:a]-"},
		{"equal values", []pair{{"z", "abcdefgh"}, {"k", "abcdefgh"}}, "abcdefgh", "[REDACTED:k]"},
		{"two values of one id", []pair{{"a", "old-old-old"}, {"a", "new-new-new"}}, "old-old-old new-new-new", "[REDACTED:a] [REDACTED:a]"},
		{"completed by the marker behind", []pair{{"a", "xyzxyz12["}, {"b", "abcdefgh"}}, "xyzxyz12abcdefgh", "[REDACTED:a][REDACTED:b]"},
		{"completed by the marker before", []pair{{"a", "]xyzxyz12"}, {"b", "abcdefgh"}}, "abcdefghxyzxyz12", "[REDACTED:b][REDACTED:a]"},
		{"completed by id and marker", []pair{{"a", "key]xyzxyz"}, {"my.key", "abcdefgh"}}, "abcdefghxyzxyz", "[REDACTED:my.key][REDACTED:a]"},
		{"marker of another run", []pair{{"a", "abcdefgh"}}, "[REDACTED:x]abcdefgh", "[REDACTED:x][REDACTED:a]"},
		{"beyond ASCII", []pair{{"a", "päßwörté"}}, "«päßwörté»", "«[REDACTED:a]»"},
		{"nothing", []pair{{"a", "abcdefgh"}}, "abcdefg", "abcdefg"},
		{"empty", []pair{{"a", "abcdefgh"}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := registered(t, Config{}, c.secrets)
			if len(ok) != len(c.secrets) {
				t.Fatal("a secret was refused")
			}
			if got := redacted(t, r, c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			checkLaws(t, Config{}, c.secrets, c.text)
		})
	}
}

// TestR2_NearMisses changes each byte of a value in turn: what differs is left.
func TestR2_NearMisses(t *testing.T) {
	rnd := newRand(t, 9)
	for n := MinValue; n <= 80; n++ {
		value := make([]byte, n)
		for i := range value {
			value[i] = 'a' + byte(rnd.IntN(26))
		}
		// The short one makes the prefix short that the hash tables know.
		r, _ := registered(t, Config{PlainOnly: true}, []pair{{"a", string(value)}, {"b", "ABCDEFGH"}})
		for i := range value {
			for bit := range 5 {
				miss := bytes.Clone(value)
				miss[i] ^= 1 << bit
				text := "-" + string(miss) + "-ABCDEFGH-"
				if got, want := redacted(t, r, text), "-"+string(miss)+"-[REDACTED:b]-"; got != want {
					t.Fatalf("bit %d of byte %d of %q: got %q", bit, i, value, got)
				}
			}
		}
		r.Close()
	}
}

func TestR1_MarkerTextIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  []pair
		refused pair
	}{
		{"the head", nil, pair{"a", "[REDACTED:"}},
		{"in the head", nil, pair{"a", "REDACTED"}},
		{"around the head", nil, pair{"a", "xx[REDACTED:yy"}},
		{"a whole marker", nil, pair{"a", "[REDACTED:a]"}},
		{"its own id", nil, pair{"production-key", "production"}},
		{"another id", []pair{{"production-key", "abcdefgh"}}, pair{"a", "duction-"}},
		{"a later id", []pair{{"a", "production"}}, pair{"production-key", "abcdefgh"}},
		{"encoded in an id", nil, pair{"6162636461626364", "abcdabcd"}},
		{"between two markers", []pair{{"my.key", "abcdefgh"}}, pair{"a", "key][REDACT"}},
		{"too little beside markers", nil, pair{"a", "abcd[REDA"}},
		{"too little beside an id", []pair{{"my.key", "abcdefgh"}}, pair{"a", "y.key]abcd"}},
		{"too little beside a later id", []pair{{"a", "y.key]abcd"}}, pair{"my.key", "abcdefgh"}},
		{"too little between two ids' markers", []pair{{"mw", "hunter2hunter2"}}, pair{"a", "w]abcde[RED"}},
		{"too little between two later ids' markers", []pair{{"a", "w]abcde[RED"}}, pair{"mw", "hunter2hunter2"}},
		{"brackets", nil, pair{"a", "]]]]]]]]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := registered(t, Config{}, c.before)
			if len(ok) != len(c.before) {
				t.Fatal("refused too early")
			}
			if err := r.Register(c.refused.id, []byte(c.refused.value)); err != ErrMarkerText {
				t.Fatalf("Register: %v", err)
			}
			if out, err := r.Redact("harmless"); err != ErrMarkerText || out != "" {
				t.Errorf("a poisoned registry redacts: %q, %v", out, err)
			}
			r.Unregister(c.refused.id)
			if _, err := r.RedactDerived("harmless"); err != ErrMarkerText {
				t.Errorf("Unregister mended it: %v", err)
			}
		})
	}
}

func TestR7_EncodedForms(t *testing.T) {
	const v = "p/w \"ü<&+1?s~"
	for _, c := range []struct{ name, form string }{
		{"JSON", `p/w \"ü<&+1?s~`},
		{"JSON solidus", `p\/w \"ü<&+1?s~`},
		{"JSON HTML", `p/w \"ü\u003c\u0026+1?s~`},
		{"JSON ASCII", `p/w \"\u00fc<&+1?s~`},
		{"percent", "p%2Fw%20%22%C3%BC%3C%26%2B1%3Fs~"},
		{"percent lower", "p%2fw%20%22%c3%bc%3c%26%2b1%3fs~"},
		{"form", "p%2Fw+%22%C3%BC%3C%26%2B1%3Fs~"},
		{"hex", "702f772022c3bc3c262b313f737e"},
		{"HEX", "702F772022C3BC3C262B313F737E"},
		{"base64", "cC93ICLDvDwmKzE/c3"},
		{"base64url", "cC93ICLDvDwmKzE_c3"},
		{"base64 behind one byte", "AvdyAiw7w8JisxP3N+"},
		{"base64 behind two bytes", "wL3cgIsO8PCYrMT9zf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := registered(t, Config{}, []pair{{"a", v}})
			if got := redacted(t, r, "<"+c.form+">"); strings.Contains(got, c.form) || !strings.Contains(got, "[REDACTED:a]") {
				t.Errorf("got %q", got)
			}
			r, _ = registered(t, Config{PlainOnly: true}, []pair{{"a", v}})
			if got := redacted(t, r, "<"+c.form+">"+v); got != "<"+c.form+">[REDACTED:a]" {
				t.Errorf("plain only: got %q", got)
			}
		})
	}
}
