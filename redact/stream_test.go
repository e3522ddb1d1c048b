package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checkStream fails unless writing each text in the pieces that rnd cuts
// gives what Redact does, and nothing is held back longer than R4 allows.
func checkStream(t testing.TB, rnd *rand.Rand, cfg Config, pairs []pair, texts ...string) {
	t.Helper()
	r, pairs := registered(t, cfg, pairs)
	defer r.Close()
	longest := 0
	for _, f := range slices.Concat(formsOfEach(pairs, !cfg.PlainOnly)...) {
		longest = max(longest, len(f.text))
	}
	for _, text := range texts {
		want, err := r.Redact(text)
		if err != nil {
			t.Fatal(err)
		}
		most := max(0, longest-1)
		if !cfg.PlainOnly && strings.ContainsAny(text, breakBytes) { // base64 in lines is longer
			most = max(0, longest*(1+maxBreak)-1)
		}
		var got bytes.Buffer
		w := r.NewWriter(&got)
		for done := 0; done < len(text); {
			n := min(rnd.IntN(1+rnd.IntN(20)), len(text)-done)
			if k, err := io.WriteString(w, text[done:done+n]); err != nil || k != n {
				t.Fatalf("Write: %d, %v", k, err)
			}
			done += n
			if held := len(w.(*writer).s.buffers.in); held > most {
				t.Fatalf("R4: %d bytes are held back, the longest form has %d", held, longest)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Fatalf("R4: writer: secrets %q\ntext %q\ngot  %q\nwant %q", pairs, text, got.String(), want)
		}
	}
}

func TestR4_SmallAlphabets(t *testing.T) {
	cases := howMany(750, 50_000)
	rnd := newRand(t, 4)
	for range cases {
		pairs, texts := smallCase(rnd)
		checkStream(t, rnd, Config{PlainOnly: rnd.IntN(2) == 0}, pairs, texts...)
	}
}

func TestR4_LargePieces(t *testing.T) {
	rnd := newRand(t, 5)
	long := strings.Repeat("0123456789abcdefXYZ", 3000) // nearly MaxValue
	pairs := []pair{{"long", long}, {"short", "hunter2hunter2"}}
	var text strings.Builder
	for text.Len() < 600_000 {
		text.WriteString([]string{long, long[:20_000], "hunter2hunter2", "hunter2", strings.Repeat("lorem ipsum ", 3000)}[rnd.IntN(5)])
	}
	r, _ := registered(t, Config{PlainOnly: true}, pairs)
	want := redacted(t, r, text.String())
	for _, size := range []int{1 << 10, chunk - 1, chunk, chunk + 1, 5 * chunk, text.Len()} {
		var got bytes.Buffer
		w := r.NewWriter(&got)
		for rest := text.String(); rest != ""; {
			n := min(size, len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || got.String() != want {
			t.Fatalf("pieces of %d: %v, equal: %v", size, err, got.String() == want)
		}
	}
}

// failing accepts left bytes, then fails with err, or writes short if it is nil.
type failing struct {
	bytes.Buffer
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	f.left -= n
	f.Buffer.Write(p[:n])
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

func TestR4_NoTailAfterAFailure(t *testing.T) {
	broken := errors.New("disk full")
	for _, c := range []struct{ err, want error }{{broken, broken}, {nil, io.ErrShortWrite}, {io.ErrClosedPipe, io.ErrClosedPipe}} {
		r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
		w := &failing{left: 10, err: c.err}
		out := r.NewWriter(w)
		n, err := io.WriteString(out, strings.Repeat("x", 100)+"hunter2hun")
		if n != 0 || err != c.want {
			t.Errorf("Write: %d, %v", n, err)
		}
		w.left = 1000
		if _, err := io.WriteString(out, "ter2"); err != c.want {
			t.Errorf("Write again: %v", err)
		}
		if err := out.Close(); err != c.want {
			t.Errorf("Close: %v", err)
		}
		if w.String() != strings.Repeat("x", 10) {
			t.Errorf("written: %q", w.String())
		}
	}
}

func TestR6_ClosedWhileStreaming(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
	var got bytes.Buffer
	w := r.NewWriter(&got)
	if _, err := io.WriteString(w, "hunter2"); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := w.Close(); err != ErrClosed || got.Len() > 0 {
		t.Errorf("Close: %v, written %q", err, got.String())
	}
}

func TestStream_RegisteredMeanwhile(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
	var got bytes.Buffer
	w := r.NewWriter(&got)
	io.WriteString(w, "abcdefgh")
	if err := r.Register("b", []byte("abcdefgh-and-much-longer")); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "-and-much-longer.")
	if err := w.Close(); err != nil || got.String() != "[REDACTED:b]." {
		t.Errorf("got %q, %v", got.String(), err)
	}
}

func TestStream_Reject(t *testing.T) {
	r, _ := registered(t, Config{Policy: Reject}, []pair{{"a", "hunter2hunter2"}})
	var got bytes.Buffer
	w := r.NewWriter(&got)
	_, err := io.WriteString(w, "clean "+strings.Repeat("-", chunk)+" hunter2hunter2 and "+strings.Repeat("-", chunk))
	if err != ErrSecretFound || strings.Contains(got.String(), "hunter2") {
		t.Errorf("%v, written %q", err, got.String())
	}
	if err := w.Close(); err != ErrSecretFound {
		t.Errorf("Close: %v", err)
	}
}

func TestStream_Errors(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
	var got bytes.Buffer
	w := r.NewWriter(&got)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(w, "x"); err != io.ErrClosedPipe || got.Len() > 0 {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestPrinting_StreamsShowNoText(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
	w := r.NewWriter(io.Discard)
	io.WriteString(w, "hunter2hun")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, w); leaks(s, "hunter2h") {
			t.Errorf("%s: %s", verb, s)
		}
	}
}
