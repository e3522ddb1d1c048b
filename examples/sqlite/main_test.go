package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// Each start sees what the ones before it left, until it is forgotten.
func TestStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	start := func(x told) string {
		x.path = path
		var out bytes.Buffer
		if err := run(context.Background(), x, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, c := range []struct {
		told told
		want string
	}{
		{told{note: "Lena prefers e-mail.", about: "customer:1"}, "0 remembered"},
		{told{note: "Closed on Fridays."}, "1 remembered"},
		{told{}, "2 remembered"},
		{told{forget: "customer:1"}, "erased 1 entries"},
		{told{}, "1 remembered"},
	} {
		if got := start(c.told); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.told, got, c.want)
		}
	}
	if got := start(told{}); !strings.Contains(got, "Closed on Fridays.") || strings.Contains(got, "Lena") {
		t.Errorf("got %q", got)
	}
}
