package redact

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// TestR6_Concurrent redacts, registers, unregisters and closes at the same time.
// What is registered throughout must never get through; what comes and goes is
// either covered or left whole; and after Close there is nothing but ErrClosed.
func TestR6_Concurrent(t *testing.T) {
	for round := range 20 {
		r, _ := registered(t, Config{}, []pair{{"always", "hunter2hunter2"}})
		text := strings.Repeat("x hunter2hunter2 sometimes-a-secret y ", 50)
		allowed := map[string]bool{
			strings.ReplaceAll(text, "hunter2hunter2", "[REDACTED:always]"): true,
		}
		for i := range 3 {
			allowed[strings.NewReplacer("hunter2hunter2", "[REDACTED:always]", "sometimes-a-secret", fmt.Sprintf("[REDACTED:s%d]", i)).Replace(text)] = true
		}
		var work sync.WaitGroup
		start := make(chan struct{})
		spawn := func(f func()) {
			work.Go(func() {
				<-start
				f()
			})
		}
		for range 2 {
			spawn(func() {
				for range 50 {
					out, err := r.Redact(text)
					if err != nil && err != ErrClosed || err == nil && !allowed[out] {
						t.Errorf("got %q, %v", out, err)
					}
				}
			})
		}
		spawn(func() {
			for range 20 {
				var got strings.Builder
				w := r.NewWriter(&got)
				_, err := io.WriteString(w, text)
				if cerr := w.Close(); err == nil {
					err = cerr
				}
				if err != nil && err != ErrClosed || strings.Contains(got.String(), "hunter2") {
					t.Errorf("stream: %q, %v", got.String(), err)
				}
			}
		})
		for i := range 3 {
			id := fmt.Sprintf("s%d", i)
			spawn(func() {
				for range 30 {
					if err := r.Register(id, []byte("sometimes-a-secret")); err != nil && err != ErrClosed {
						t.Errorf("Register: %v", err)
					}
					r.Unregister(id)
				}
			})
		}
		if round%2 == 0 {
			spawn(func() { r.Close() })
		}
		close(start)
		work.Wait()
		r.Close()
		if _, err := r.Redact("x"); err != ErrClosed {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestRegister_CountsForTheNextCall(t *testing.T) {
	r := New(Config{})
	for i := range 200 {
		v := fmt.Sprintf("value-number-%03d", i)
		if redacted(t, r, v) != v {
			t.Fatal("redacted too early")
		}
		if err := r.Register(fmt.Sprintf("k%d", i), []byte(v)); err != nil {
			t.Fatal(err)
		}
		if got, want := redacted(t, r, v), fmt.Sprintf("[REDACTED:k%d]", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestAppend_DoesNotAllocate(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "hunter2hunter2"}})
	text := []byte(strings.Repeat("lorem ipsum ", 100) + "hunter2hunter2")
	clean := strings.Repeat("lorem ipsum ", 100)
	dst := make([]byte, 0, 2*len(text))
	redacted(t, r, clean)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := r.Append(dst, text); err != nil {
			t.Fatal(err)
		}
		if out, err := r.Redact(clean); err != nil || len(out) != len(clean) {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
