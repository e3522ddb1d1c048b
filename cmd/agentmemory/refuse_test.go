package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var reading = [][]string{{"inspect"}, {"export"}, {"subject", "s"}, {"forget", "-yes", "s"}, {"doctor"}}

// A file that is no memory is refused in one line, and every byte beside it stays.
func TestWrongFilesAreRefusedAndLeftAlone(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer.db")
	lines := file(t, tea)
	succeed(t, []string{"-db", newer, "-tenant", "acme"}, "import", lines)
	db, err := sql.Open("sqlite", newer)
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA user_version = 9999")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	schema, err := os.ReadFile(newer)
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"text": []byte("This is a letter and no database, and it is longer than a header of a hundred bytes would be, by far.\n"),
		"one":  []byte("x"), "empty": {}, "json": []byte(tea), "newer": schema, "missing": nil,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "memory.db")
		if content != nil {
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
		for _, args := range append(reading, []string{"import", lines}) {
			if name == "missing" && args[0] == "import" {
				continue // makes it
			}
			r := call(t, "", []string{"-db", path, "-tenant", "acme"}, args...)
			assert.Equal(t, 1, r.status, "%s %v", name, args)
			assert.Empty(t, r.out)
			assert.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
			assert.Contains(t, r.err, map[bool]string{true: "use agentmemory of that release", false: "name "}[name == "newer"], name)
			there, err := os.ReadDir(dir)
			require.NoError(t, err)
			if content == nil {
				assert.Empty(t, there, "%v made a file", args)
				continue
			}
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, content, after, "%s %v", name, args)
			assert.Len(t, there, 1, "%s %v", name, args)
		}
	}
}

// A database without memory, with a newer schema, or one that does not answer, is refused.
func TestWrongDatabasesAreRefusedAndLeftAlone(t *testing.T) {
	dsn := database(t)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	at := []string{"-postgres", dsn, "-tenant", "acme"}
	refuses := func(at []string, word string) {
		for _, args := range reading {
			r := call(t, "", at, args...)
			assert.Equal(t, 1, r.status, args)
			assert.Contains(t, r.err, word)
			assert.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
		}
	}
	refuses(at, "holds no memory")
	var made bool
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT to_regnamespace('agentmemory') IS NOT NULL").Scan(&made))
	assert.False(t, made)
	succeed(t, at, "import", file(t, tea))
	_, err = pool.Exec(t.Context(), "UPDATE agentmemory.meta SET schema = 9999")
	require.NoError(t, err)
	refuses(at, "use agentmemory of that release")
	refuses([]string{"-postgres", "host=/nowhere user=x dbname=x", "-tenant", "acme"}, "does not answer")
	refuses([]string{"-postgres", "host=/nowhere port=many", "-tenant", "acme"}, "no connection string")
}

// A file that is no export is refused before its first line is written; the error holds nothing of it.
func TestHostileImportsWriteNothing(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	succeed(t, at, "import", file(t, train))
	before := succeed(t, at, "export")
	for name, bad := range map[string]string{
		"no JSON":             "a private letter",
		"half a line":         tea[:40],
		"an array":            "[1]",
		"null":                "null",
		"a bare entry":        `{"content":"private"}`,
		"no ref":              `{"entry":{"content":"private","tags":[]}}`,
		"no entry":            `{"ref":"private"}`,
		"no content":          `{"ref":"private","entry":{"tags":[]}}`,
		"a content that is 1": `{"ref":"private","entry":{"content":1}}`,
		"an unknown member":   `{"ref":"private","tenant":"other","entry":{"content":"private"}}`,
		"two values":          tea + tea,
		"no UTF-8":            "{\"ref\":\"r\",\"entry\":{\"content\":\"private \xff\"}}",
		"a bad instant":       `{"ref":"private","entry":{"content":"private","createdAt":"yesterday"}}`,
		"a huge line":         `{"ref":"private","entry":{"content":"` + strings.Repeat("x", maxLine) + `"}}`,
	} {
		r := call(t, "", at, "import", file(t, tea, "", bad))
		assert.Equal(t, 1, r.status, name)
		assert.Contains(t, r.err, "line 3 ", name)
		assert.Contains(t, r.err, "nothing was imported", name)
		assert.Equal(t, 1, strings.Count(r.err, "\n"), name)
		assert.NotContains(t, r.err, "private", name)
	}
	for name, path := range map[string]string{"empty": file(t), "blank": file(t, "", " "), "missing": "/nowhere/x.jsonl", "a directory": t.TempDir()} {
		assert.Equal(t, 1, call(t, "", at, "import", path).status, name)
	}
	assert.Equal(t, before, succeed(t, at, "export"))
	// What a bank refuses is told by its line, and the others are written.
	r := call(t, "", at, "import", file(t, `{"ref":"r","entry":{"content":"`+strings.Repeat("x", 70000)+`"}}`,
		`{"ref":"r","entry":{"content":"tomorrow","createdAt":"9000-01-01T00:00:00Z"}}`, tea))
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.out, "3 entries: 1 written, 0 there already, 0 deleted since, 0 expired, 2 refused\nline 1: ")
}

func TestBadCommandLines(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	succeed(t, []string{"-db", db, "-tenant", "acme"}, "import", file(t, tea))
	for _, line := range []string{
		"", "-db M", "-db M look", "inspect", "-db M -postgres x inspect", "-db M inspect notes", "-db M -tenant a inspect a b c", "-db M export",
		"-db M -tenant a export -ref r -subject s", "-db M -tenant a import", "-db M import x", "-db M -tenant a forget", "-db M -tenant a forget s",
		"-db M -tenant a forget s -no", "-db M subject s", "-db M -tenant a subject", "certify", "-db M doctor x", "inspect -bd M", "-nothing",
		"-db M insepct", "-db M -tenant a import -from nowhere x", "-db M why x", "-db M -tenant a why", "-db M -tenant a diff x", "certify -db M x",
	} {
		r := call(t, "", nil, strings.Fields(strings.ReplaceAll(line, "M", db))...)
		assert.Equal(t, 2, r.status, line)
		assert.Empty(t, r.out, line)
		assert.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
		assert.Contains(t, r.err, "agentmemory: ", line)
	}
	for _, secrets := range []string{file(t, "no JSON"), file(t, "null"), file(t, `{"short":"x"}`), "/nowhere"} {
		r := call(t, "", []string{"-db", db, "-tenant", "acme"}, "import", "-secrets", secrets, file(t, train))
		assert.Equal(t, 1, r.status)
		assert.NotContains(t, succeed(t, []string{"-db", db, "-tenant", "acme"}, "export"), "train")
	}
}

// Every command has its help, also behind help, and a name that is written wrong is put right.
func TestHelp(t *testing.T) {
	whole := succeed(t, nil, "-h")
	for _, c := range (&program{}).commands() {
		for _, args := range [][]string{{c.name, "-h"}, {c.name, "--help"}, {"help", c.name}} {
			help := succeed(t, nil, args...)
			for _, text := range []string{c.about, c.more, "agentmemory " + c.name, "--db FILE", "--json"} {
				assert.Contains(t, help, text, args)
			}
		}
		assert.Contains(t, whole, c.about)
	}
	for _, f := range formats {
		assert.Contains(t, succeed(t, nil, "import", "-h"), f.about)
	}
	assert.Contains(t, call(t, "", nil, "insepct").err, `there is no command "insepct"; did you mean inspect?`)
	assert.True(t, strings.HasPrefix(succeed(t, nil, "version"), "agentmemory "))
	assert.Equal(t, "agentmemory version "+version()+"\n", succeed(t, nil, "-version"))
	assert.Contains(t, succeed(t, nil, "completion", "bash"), "__complete")
	assert.Contains(t, succeed(t, nil, "__complete", "import", "--from", ""), "mcp-memory")
	assert.NotContains(t, succeed(t, nil, "__complete", "inspect", ""), "assistant")
}

// A flag has one dash or two and stands anywhere; what follows two dashes is none.
func TestFlagsAnywhere(t *testing.T) {
	db := filepath.Join(t.TempDir(), "memory.db")
	succeed(t, nil, "import", "--tenant=acme", file(t, tea), "-db", db)
	for _, line := range []string{"-db M -tenant acme inspect notes", "inspect notes --db M --tenant acme", "--db=M inspect -tenant=acme notes"} {
		assert.Contains(t, succeed(t, nil, strings.Fields(strings.ReplaceAll(line, "M", db))...), "tea", line)
	}
	assert.Contains(t, succeed(t, []string{"-db", db, "-tenant", "acme"}, "subject", "--", "-db"), "0 entries")
	assert.Contains(t, succeed(t, []string{"-db", db, "-tenant", "acme", "-json"}, "subject", "--", "-db"), `"subject":"-db"`)
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 entries", 1: "1 entry", 2: "2 entries"} {
		assert.Equal(t, want, count(n, "entry", "entries"))
	}
}

// On a terminal one line is rewritten; elsewhere a line is printed now and then.
func TestProgress(t *testing.T) {
	lines := make([]string, 2*plainSteps)
	for n := range lines {
		lines[n] = strings.ReplaceAll(expired, "offer", strings.Repeat("offer", n%3))
	}
	path := file(t, lines...)
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	assert.Equal(t, "imported 1000 of 2000 entries\nimported 2000 of 2000 entries\n", call(t, "", at, "import", path).err)
	said := call(t, "somebody", at, "import", path).err
	assert.True(t, strings.HasPrefix(said, "\r\x1b[Kimported 1 of 2000 entries"), said)
	assert.True(t, strings.HasSuffix(said, "\r\x1b[K"), "the line is taken away")
	assert.NotContains(t, said, "\n")
}
