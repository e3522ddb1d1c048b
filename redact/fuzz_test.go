package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// pairsOf reads secrets from fuzzed bytes: one a line, under three ids.
func pairsOf(secrets string) (pairs []pair) {
	for i, v := range strings.Split(secrets, "\n") {
		if n := len([]rune(v)); n < MinValue || len(v) > 200 || len(pairs) == 8 {
			continue
		}
		pairs = append(pairs, pair{[]string{"a", "b", "my.key"}[i%3], v})
	}
	return pairs
}

func seeds(f *testing.F, add func(secrets, text string)) {
	rnd := rand.New(rand.NewPCG(8, 0))
	for range 50 {
		pairs, texts := smallCase(rnd)
		var values []string
		for _, p := range pairs {
			values = append(values, p.value)
		}
		add(strings.Join(values, "\n"), texts[0])
	}
	add("hunter2hunter2\n]hunter2hunter2[", "x=hunter2hunter2hunter2hunter2]")
}

func FuzzRedact(f *testing.F) {
	seeds(f, func(secrets, text string) { f.Add(secrets, text, true) })
	f.Fuzz(func(t *testing.T, secrets, text string, plain bool) {
		if len(text) > 1<<12 {
			return
		}
		checkLaws(t, Config{PlainOnly: plain}, pairsOf(secrets), text)
		r, pairs := registered(t, Config{PlainOnly: plain}, pairsOf(secrets))
		if got, want := viaFallback(t, r, text), oracle(pairs, !plain)(text); got != want {
			t.Fatalf("fallback: got %q, want %q", got, want)
		}
		once, err := r.RedactDerived(text)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := r.RedactDerived(once); err != nil || twice != once {
			t.Fatalf("derived: once %q, twice %q, %v", once, twice, err)
		}
		for _, p := range pairs {
			if strings.Contains(once, p.value) {
				t.Fatalf("R1: %q is left in derived %q", p.value, once)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	seeds(f, func(secrets, text string) { f.Add(secrets, text, uint64(1), false) })
	f.Fuzz(func(t *testing.T, secrets, text string, chunks uint64, plain bool) {
		if len(text) > 1<<12 {
			return
		}
		checkStream(t, rand.New(rand.NewPCG(chunks, 0)), Config{PlainOnly: plain}, pairsOf(secrets), text)
	})
}

// FuzzEncodings embeds a value in texts that real encoders make, and demands that
// nothing of it is left that they could decode.
func FuzzEncodings(f *testing.F) {
	f.Add("hunter2/hunter+2", "before ", " after")
	f.Add("p/w \"ü<&+1?s~\U0001f511", "a", "bc")
	f.Add("\\\x00\b\f\n\r\t\u2028é!'()*", "", "\"")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		if len([]rune(value)) < MinValue || len(value) > 500 || strings.ToValidUTF8(value, "") != value {
			return
		}
		r := New(Config{})
		if err := r.Register("a", []byte(value)); err != nil {
			return
		}
		defer r.Close()
		whole := before + value + after
		inJSON, _ := json.Marshal(whole)
		hidden := map[string]string{
			"plain":     whole,
			"JSON":      string(inJSON),
			"query":     url.QueryEscape(whole),
			"hex":       hex.EncodeToString([]byte(whole)),
			"HEX":       strings.ToUpper(hex.EncodeToString([]byte(whole))),
			"base64":    base64.StdEncoding.EncodeToString([]byte(whole)),
			"base64url": base64.RawURLEncoding.EncodeToString([]byte(whole)),
		}
		for name, text := range hidden {
			got, err := r.Redact(text)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, "[REDACTED:a]") {
				t.Errorf("%s: %q is left as %q", name, text, got)
			}
		}
	})
}
