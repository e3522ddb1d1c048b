package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

func play(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(stdin), &out)
	return out.String(), err
}

func playWell(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := play(t, stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

var update = flag.Bool("update", false, "write testdata/screens.txt anew")

// varying is what differs between two starts.
var varying = regexp.MustCompile(`; it took \d+ ms\)`)

// The screens are the same at each start, also in a file that an earlier one has left, and fit
// a terminal.
func TestScreens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	const golden = "testdata/screens.txt"
	want, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for range 2 {
		out := playWell(t, "", "-db", file)
		out = strings.NewReplacer(file, "memory.db", unknownKey, "ghp_…").Replace(varying.ReplaceAllString(out, ")"))
		if *update {
			if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
			want = []byte(out)
		}
		if out != string(want) {
			t.Errorf("not as in %s: go test -update writes it anew. It is now:\n%s", golden, out)
		}
	}
	screens := regexp.MustCompile(`(?m)^\d  `).Split(string(want), -1)[1:]
	if len(screens) != 8 {
		t.Errorf("%d screens", len(screens))
	}
	for _, screen := range screens {
		lines := strings.Split(strings.TrimSpace(screen), "\n")
		if len(lines) > 25 {
			t.Errorf("%s has %d lines", lines[0], len(lines))
		}
		for _, line := range lines {
			if len([]rune(line)) > 100 {
				t.Errorf("%q is too long", line)
			}
		}
	}
	if n := strings.Count(screens[7], " yes "); n != 8 {
		t.Errorf("%d abilities", n)
	}
}

func TestQuiet(t *testing.T) {
	out := playWell(t, "", "-quiet")
	if !strings.HasPrefix(out, "\n8  ") || strings.Contains(out, "\n7  ") {
		t.Error(out)
	}
}

// Neither the screens nor the file have the secrets of the user's notes.
func TestNotesOfOnesOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	out := playWell(t, `{"content": "Never lose `+apiKey+` again.", "tags": ["a"], "subjects": ["customer:own"]}

{"content": "first line\nsecond line"}
{"content": "`+strings.Repeat("long ", 12000)+`"}`, "-in", "-", "-db", file)
	if !strings.Contains(out, "Beside them stand 3 of yours; in 1 of these a secret was redacted.") {
		t.Error(out)
	}
	found, err := inFile(file).onDisk("Never lose [REDACTED:brightwater] again.", "Never lose "+apiKey)
	if err != nil || len(found) != 1 {
		t.Errorf("found %q, %v", found, err)
	}
}

// What cannot be used is refused in one line, before anything is shown.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte(strings.Repeat("no database ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin, args, want string
	}{
		{"", "-in -", "standard input: no notes"},
		{"\n \n", "-in -", "standard input: no notes"},
		{"hello", "-in -", "standard input, line 1: want {"},
		{"{\"content\":\"a\"}\n[]", "-in -", "line 2: want {"},
		{`{"content":"a","tagz":[]}`, "-in -", "line 1: want {"},
		{`{"content":"a"} {"content":"b"}`, "-in -", "line 1: want {"},
		{`{"content":"a"}}`, "-in -", "line 1: want {"},
		{"{\"content\":\"\xff\"}", "-in -", "line 1: want {"},
		{`{"content":""}`, "-in -", "line 1: want {"},
		{strings.Repeat("x", 1<<20), "-in -", "line 1: longer than 64 KB"},
		{`{"content":"\u0000"}`, "-in -", "note 1 of -in: memory: invalid input"},
		{"", "-in " + dir, "is a directory"},
		{"", "-in " + dir + "/none", "no such file"},
		{"", "-db " + dir, "that of a directory"},
		{"", "-db " + dir + "/none/memory.db", "no such file or directory"},
		{"", "-db " + foreign, "no database of agentmemory"},
		{"", "-postgres postgres://nobody@127.0.0.1:1/none", "connection refused"},
		{"", "-postgres nonsense", "cannot parse"},
		{"", "-postgres x -db y", "not both"},
		{"", "notes.jsonl", "by -in"},
		{"", "-nope", "-h lists the flags"},
	} {
		out, err := play(t, c.stdin, strings.Fields(c.args)...)
		switch {
		case err == nil:
			t.Errorf("%s is accepted", c.args)
		case out != "":
			t.Errorf("%s shows %q", c.args, out)
		case !strings.Contains(oneLine(err), c.want) || strings.Contains(oneLine(err), "\n"):
			t.Errorf("%s: got %q, want %q", c.args, oneLine(err), c.want)
		}
	}
	if text, err := os.ReadFile(foreign); err != nil || !strings.HasPrefix(string(text), "no database no") {
		t.Errorf("the foreign file was changed: %v", err)
	}
	if out := playWell(t, "", "-h"); !strings.Contains(out, "-in FILE") {
		t.Error(out)
	}
}

// A database with memory of others is left as it is: the story's clock and model are not theirs.
func TestMemoryOfOthersIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	ctx := t.Context()
	db, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	bank, err := memory.New(db.Memory(), memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = bank.Pass(ctx, memory.JobConfig{ID: "import", Tenant: "other", Redactor: redact.New(redact.Config{})}, func(j *memory.Job) error {
		_, err := j.Put(ctx, ref, memory.Draft{Content: "Theirs."})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := play(t, "", "-db", file); err == nil || out != "" || !strings.Contains(err.Error(), "memory of other tenants") {
		t.Errorf("%v\n%s", err, out)
	}
	theirs, err := bank.Reader("other").List(ctx, ref, memory.ListOptions{})
	if err != nil || len(theirs) != 1 {
		t.Errorf("%v, %v", theirs, err)
	}
}

// The story is the same on PostgreSQL, whose files are not looked at.
func TestPostgres(t *testing.T) {
	cluster, err := pgcluster.Start(t.Context())
	if errors.Is(err, pgcluster.ErrNoServer) && (os.Getenv(pgcluster.EnvRequire) != "1" || os.Getenv(pgcluster.EnvDSN) != "") {
		t.Skip(pgcluster.ErrNoServer)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		out := playWell(t, "", "-postgres", cluster.DSN())
		if n := strings.Count(out, "are the server's, and not looked at"); n != 2 {
			t.Errorf("%d screens say what is not looked at", n)
		}
		if n := strings.Count(out, " yes "); n != 8 {
			t.Errorf("%d abilities", n)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil, strings.NewReader(""), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
