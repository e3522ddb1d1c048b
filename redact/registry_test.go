package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestRegister_Refusals(t *testing.T) {
	r := New(Config{})
	for _, c := range []struct {
		id, value string
		want      error
	}{
		{"a", "abcdefg", ErrTooShort},
		{"a", "üüüüüüü", ErrTooShort},
		{"a", strings.Repeat("x", MaxValue+1), ErrTooLong},
		{"", "abcdefgh", ErrID},
		{"a b", "abcdefgh", ErrID},
		{"a]", "abcdefgh", ErrID},
		{strings.Repeat("i", MaxID+1), "abcdefgh", ErrID},
		{strings.Repeat("i", MaxID), "abcdefgh", nil},
		{"a", "abcdefgh", nil},
		{"a", "abcdefgh", nil},
	} {
		if err := r.Register(c.id, []byte(c.value)); !errors.Is(err, c.want) {
			t.Errorf("Register(%q, %d bytes): %v, want %v", c.id, len(c.value), err, c.want)
		}
	}
	if valuesIn(r) != 2 {
		t.Errorf("%d values", valuesIn(r))
	}
	if got := redacted(t, r, "abcdefgh"); got != "[REDACTED:a]" {
		t.Errorf("got %q", got)
	}
}

// valuesIn counts the values, each under each of its ids.
func valuesIn(r *SecretRegistry) (n int) {
	for _, values := range r.state().set.byID {
		n += len(values)
	}
	return n
}

func TestUnregister(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "abcdefgh"}, {"a", "ijklmnop"}, {"b", "abcdefgh"}})
	r.Unregister("a")
	r.Unregister("unknown")
	if got := redacted(t, r, "abcdefgh ijklmnop"); got != "[REDACTED:b] ijklmnop" {
		t.Errorf("got %q", got)
	}
	r.Unregister("b")
	if got := redacted(t, r, "abcdefgh"); got != "abcdefgh" || valuesIn(r) != 0 {
		t.Errorf("got %q, %d left", got, valuesIn(r))
	}
}

func TestR6_ClosedFailsClosed(t *testing.T) {
	closed, _ := registered(t, Config{}, []pair{{"a", "abcdefgh"}})
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*SecretRegistry{"closed": closed, "zero": {}, "nil": nil} {
		if _, err := r.Redact("x"); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: Redact: %v", name, err)
		}
		if _, err := r.RedactDerived("x"); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: RedactDerived: %v", name, err)
		}
		if out, err := r.Append([]byte("d"), []byte("x")); !errors.Is(err, ErrClosed) || string(out) != "d" {
			t.Errorf("%s: Append: %q, %v", name, out, err)
		}
		if err := r.Register("a", []byte("abcdefgh")); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: Register: %v", name, err)
		}
		r.Unregister("a")
		if err := r.Close(); err != nil || valuesIn(r) != 0 {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

func TestClose_Wipes(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "abcdefgh"}})
	viaFallback(t, r, "x abcdefgh")
	var kept [][]byte
	for _, values := range r.s.set.byID {
		for _, k := range values {
			for _, f := range k.forms {
				kept = append(kept, f.text)
			}
		}
	}
	var nodes []node
	for _, x := range r.s.matcher.indexes {
		nodes = append(nodes, x.automaton.nodes...)
		kept = append(kept, x.table)
	}
	if len(nodes) < 8 {
		t.Fatal("the automatons were not built")
	}
	indexes := r.s.matcher.indexes
	r.Close()
	for _, x := range indexes {
		for _, n := range x.automaton.nodes {
			if n != (node{}) {
				t.Fatal("an automaton is left")
			}
		}
	}
	for _, text := range kept {
		if len(bytes.Trim(text, "\x00")) > 0 {
			t.Error("a copy is left")
		}
	}
}

// TestClose_WaitsForRedactions demands that nothing is wiped under a redaction.
func TestClose_WaitsForRedactions(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "abcdefgh"}})
	m, scratch, err := r.state().acquire()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan bool)
	go func() {
		r.Close()
		close(closed)
	}()
	for range 1000 {
		cuts, _ := scan(m, []byte("abcdefgh"), 0, false, scratch)
		if len(cuts) != 1 {
			t.Fatal("wiped under a redaction")
		}
	}
	r.state().release(scratch)
	<-closed
	if _, err := r.Redact("x"); err != ErrClosed {
		t.Error(err)
	}
}

func TestRegister_Copies(t *testing.T) {
	r := New(Config{})
	v := []byte("abcdefgh")
	if err := r.Register("a", v); err != nil {
		t.Fatal(err)
	}
	clear(v)
	if got := redacted(t, r, "abcdefgh"); got != "[REDACTED:a]" {
		t.Errorf("got %q", got)
	}
}

func TestPolicy_Reject(t *testing.T) {
	r, _ := registered(t, Config{Policy: Reject}, []pair{{"a", "abcdefgh"}})
	for _, f := range []func(string) (string, error){r.Redact, r.RedactDerived} {
		if out, err := f("-abcdefgh-"); err != ErrSecretFound || out != "" {
			t.Errorf("got %q, %v", out, err)
		}
		if out, err := f("clean"); err != nil || out != "clean" {
			t.Errorf("got %q, %v", out, err)
		}
	}
	if out, err := r.Append([]byte("d"), []byte("abcdefgh")); err != ErrSecretFound || string(out) != "d" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := r.RedactDerived("[BYOK:x]"); err != ErrSecretFound || out != "" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestPrinting_ShowsNoValue(t *testing.T) {
	const value = "abcdefgh"
	r, _ := registered(t, Config{}, []pair{{"a", value}})
	redacted(t, r, value)
	type host struct {
		P *SecretRegistry
		V SecretRegistry
		p *SecretRegistry
	}
	for _, x := range []any{r, *r, host{r, *r, r}, &host{r, *r, r}, []*SecretRegistry{r}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			s := fmt.Sprintf(verb, x)
			if leaks(s, value) {
				t.Errorf("%s of %T: %s", verb, x, s)
			}
		}
		if s, err := json.Marshal(x); err != nil || leaks(string(s), value) {
			t.Errorf("JSON of %T: %s, %v", x, s, err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "r", x)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "r", x)
		if leaks(log.String(), value) {
			t.Errorf("log of %T: %s", x, log.String())
		}
	}
}

func leaks(s, value string) bool {
	return strings.Contains(s, value) || strings.Contains(s, fmt.Sprint([]byte(value))[1:20]) ||
		strings.Contains(strings.ToLower(s), fmt.Sprintf("%x", value))
}
