package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/events/eventschema"
)

func play(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(context.Background(), args, strings.NewReader(stdin), &out)
	return out.String(), err
}

func TestQuickstart_BundledNotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.jsonl")
	out, err := play(t, "", "-events", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("%d written to mem://acme/support", len(notes(t))),
		"Not read: 0. Refused by the bank: 0.",
		", 0 hold a value.",
		"[REDACTED:deploy-key]",
		"a write: forbidden",
		"semantic: 2 hits",
		"What a prompt of 500 characters gets",
		"globex still has its 3.",
		"the newest note is its own: true",
		"replay_memory_snapshot_unavailable",
		"This memory is not durable: the store does not outlive its process.",
		"long-term-durability: the store does not outlive its process",
		"write: the store is read-only",
		"3 fired. Replayed, and after a restart: 0 fired, 0 runs started.",
		"predicate due-3",
		"memory.written",
		"A budget of 1 is refused: token_budget_exceeded",
		"the same address: true, known already: true",
		"finds 1 archive in MEMORY-INDEX.json",
		"memory.compacted",
		"workspace.updated",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{out, string(written)} {
		for _, s := range secrets {
			if strings.Contains(text, s.value) {
				t.Errorf("the value of %s is shown", s.id)
			}
		}
	}
	lines := bytes.Split(bytes.TrimSpace(written), []byte("\n"))
	if len(lines) < len(notes(t)) {
		t.Errorf("%d events for %d notes", len(lines), len(notes(t)))
	}
	for i, line := range lines {
		if err := eventschema.ValidateEvent(line); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}

func TestQuickstart_NotesOfOnesOwn(t *testing.T) {
	many := strings.Repeat(`{"content":"x","createdAt":"2026-01-02T03:04:05Z"}`+"\n", 12000)
	for name, c := range map[string]struct{ in, want string }{
		"empty":   {"", "0 written"},
		"hostile": {"\x00\xff\n{\n[]\n\"\\ud800\"\n{\"content\":\"ok\"}", "1 written to mem://acme/support, 0 of them with an expiry. Not read: 4."},
		"expired": {`{"content":"x","createdAt":"2026-01-02T00:00:00Z","expiresAt":"2026-01-01T00:00:00Z"}`, "refused: line 1: memory: invalid input"},
		"large":   {`{"content":"` + strings.Repeat("x", 70000) + `"}`, "refused: line 1: memory: invalid input: Draft.Content has more than 65536 bytes"},
		"many":    {many, "run-1 sees 12000, then 12001"},
		"unsorted": {`{"content":"b","createdAt":"2026-01-02T00:00:00Z"}
{"content":"a","createdAt":"2026-01-01T00:00:00Z"}
{"content":"no time"}`, "3 written"},
	} {
		out, err := play(t, c.in, "-in", "-")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, out)
		}
	}
}

func TestQuickstart_BadArguments(t *testing.T) {
	for _, args := range [][]string{{"notes.jsonl"}, {"-nope"}, {"-in", "/does/not/exist"}, {"-events", "/does/not/exist/x"}} {
		if _, err := play(t, "", args...); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	if out, err := play(t, "", "-h"); err != nil || !strings.Contains(out, "-in FILE") {
		t.Errorf("help: %v\n%s", err, out)
	}
}

func TestQuickstart_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := run(ctx, nil, strings.NewReader(""), new(bytes.Buffer))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
