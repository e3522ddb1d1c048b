package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// The test binary is the program itself where this variable is set.
const isProgram = "AGENTMEMORY_PROGRAM"

const secret = "sk-very-secret-value"

var server struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
	made    int
}

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main()
		return
	}
	code := m.Run()
	if server.cluster != nil {
		if err := server.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// database makes an empty database of a PostgreSQL server and names it.
func database(t *testing.T) string {
	server.once.Do(func() { server.cluster, server.err = pgcluster.ForTests(context.Background()) })
	if errors.Is(server.err, pgcluster.ErrNoServer) {
		t.Skip(server.err)
	}
	require.NoError(t, server.err)
	admin, err := pgxpool.New(t.Context(), server.cluster.DSN())
	require.NoError(t, err)
	server.made++
	name := fmt.Sprintf("agentmemory_cli_%d_%d", os.Getpid(), server.made)
	_, err = admin.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), "DROP DATABASE "+name)
		assert.NoError(t, err)
		admin.Close()
	})
	return server.cluster.DSN() + " dbname='" + name + "'"
}

// mysqlDatabase makes an empty database on the server that the environment names.
func mysqlDatabase(t *testing.T) string {
	base := os.Getenv("AGENTMEMORY_MYSQL_DSN")
	if base == "" {
		t.Skip("AGENTMEMORY_MYSQL_DSN names no server")
	}
	admin, err := sql.Open("mysql", base)
	require.NoError(t, err)
	server.made++
	name := fmt.Sprintf("agentmemory_cli_%d_%d", os.Getpid(), server.made)
	_, err = admin.ExecContext(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), "DROP DATABASE "+name)
		assert.NoError(t, err)
		admin.Close()
	})
	return base[:strings.LastIndex(base, "/")+1] + name
}

// everywhere runs a test over each store; at are the flags that name the memory.
func everywhere(t *testing.T, test func(t *testing.T, at []string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, []string{"-db", filepath.Join(t.TempDir(), "memory.db")}) })
	t.Run("postgres", func(t *testing.T) { test(t, []string{"-postgres", database(t)}) })
	t.Run("mysql", func(t *testing.T) { test(t, []string{"-mysql", mysqlDatabase(t)}) })
}

type result struct {
	status   int
	out, err string
}

// call runs the program in this process. A person sits before it if there is an answer.
func call(t *testing.T, answer string, at []string, args ...string) result {
	var out, said bytes.Buffer
	p := &program{in: strings.NewReader(answer), out: &out, err: &said, asks: answer != "", rewrites: answer != "",
		environ: []string{"AGENTMEMORY_SECRET_TOKEN=" + secret}}
	status := p.main(t.Context(), append(append([]string{}, at...), args...))
	return result{status, out.String(), said.String()}
}

// succeed runs the program and returns what it printed.
func succeed(t *testing.T, at []string, args ...string) string {
	t.Helper()
	r := call(t, "", at, args...)
	require.Zero(t, r.status, r.err)
	return r.out
}

func parsed[T any](t *testing.T, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func with(at []string, more ...string) []string { return append(append([]string{}, at...), more...) }

func file(t *testing.T, lines ...string) string {
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	writeFile(t, path, strings.Join(lines, "\n")+"\n")
	return path
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

const (
	tea     = `{"ref":"notes","subjects":["user:ann"],"entry":{"id":"old-1","content":"Ann likes tea, her token is sk-very-secret-value","tags":["drink"],"createdAt":"2026-01-02T03:04:05.678Z"}}`
	train   = `{"ref":"work","entry":{"content":"The train leaves at eight","tags":[],"createdAt":"2026-01-03T00:00:00Z","expiresAt":"9000-01-01T00:00:00Z"}}`
	expired = `{"ref":"work","entry":{"content":"A passed offer","tags":[],"createdAt":"2026-01-02T00:00:00Z","expiresAt":"2026-02-01T00:00:00Z"}}`
)

// open opens the memory as a host does.
func open(t *testing.T, at []string) *session {
	p := &program{}
	switch at[0] {
	case "-db":
		p.db = at[1]
	case "-mysql":
		p.mysql = at[1]
	default:
		p.postgres = at[1]
	}
	store, err := p.open(t.Context(), true)
	require.NoError(t, err)
	return store
}

// What is exported and imported elsewhere is exported the same there, but for the ids. Importing it
// again, and again with lines more, writes nothing twice.
func TestImportAgainWritesNothingTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		acme := with(at, "-tenant", "acme", "-json")
		first := parsed[imported](t, succeed(t, acme, "import", file(t, tea, train, train)))
		assert.Equal(t, imported{Entries: 3, Written: 3, Refused: []refused{}, Unsaid: true}, normal(first))
		again := parsed[imported](t, succeed(t, acme, "import", file(t, train, tea, train, "", train)))
		assert.Equal(t, imported{Entries: 4, Written: 1, Present: 3, Refused: []refused{}, Unsaid: true}, normal(again), "one more of the same line is one more entry")

		exported := succeed(t, acme, "export")
		assert.Equal(t, 4+1, strings.Count(exported, "\n"), "the last line tells of commitments")
		assert.Contains(t, exported, `"createdAt":"2026-01-02T03:04:05.678Z"`)
		assert.Contains(t, exported, `{"ref":"notes","subjects":["user:ann"],"entry":{"id":"mem_`)
		other := with(at, "-tenant", "other", "-json")
		succeed(t, other, "import", file(t, strings.TrimSpace(exported)))
		ids := regexp.MustCompile(`mem_\w+`)
		sorted := func(text string) []string {
			return strings.Split(strings.TrimSpace(ids.ReplaceAllString(text, "id")), "\n")
		}
		assert.ElementsMatch(t, sorted(exported), sorted(succeed(t, other, "export")))

		assert.Equal(t, 1+1, strings.Count(succeed(t, acme, "export", "-ref", "notes"), "\n"))
		assert.Equal(t, 1+1, strings.Count(succeed(t, acme, "export", "-subject", "user:ann"), "\n"))
	})
}

func normal(d imported) imported {
	if d.Refused == nil {
		d.Refused = []refused{}
	}
	return d
}

// CTI-1: a caller who names a tenant sees nothing of another one, by any command.
func TestCTI1_TenantOfTheFlagOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		succeed(t, with(at, "-tenant", "acme"), "import", file(t, tea, train))
		id := regexp.MustCompile(`mem_\w+`).FindString(succeed(t, with(at, "-tenant", "acme"), "inspect", "notes"))
		require.NotEmpty(t, id)
		for _, tenant := range []string{"other", "ACME", "acme ", "acm%"} {
			blind := with(at, "-tenant", tenant)
			for _, args := range [][]string{{"inspect"}, {"inspect", "notes"}, {"search", "notes", "drink"}, {"why", id}, {"export"}, {"export", "-ref", "notes"},
				{"export", "-subject", "user:ann"}, {"subject", "user:ann"}, {"forget", "-yes", "user:ann"}, {"doctor"}} {
				for _, form := range [][]string{nil, {"-json"}} {
					r := call(t, "", with(blind, form...), args...)
					for _, word := range []string{"tea", "train", "mem_", `"acme"`, `"work"`} {
						assert.NotContains(t, r.out+r.err, word, "%s %v", tenant, args)
					}
				}
			}
		}
		assert.Contains(t, succeed(t, with(at, "-tenant", "acme"), "why", id), "tea", "nobody has erased it")
	})
}

// SR-1: a registered secret is in no byte of the memory, in any of its forms, and not in what is printed.
func TestSR1_NoSecretInTheFile(t *testing.T) {
	dir := t.TempDir()
	secrets := filepath.Join(dir, "secrets.json")
	require.NoError(t, os.WriteFile(secrets, []byte(`{"second":"hunter2-hunter2"}`), 0o600))
	lines := file(t, tea,
		`{"ref":"notes","entry":{"content":"c2stdmVyeS1zZWNyZXQtdmFsdWU= and sk\u002dvery-secret-value","tags":["tag sk-very-secret-value"]}}`,
		`{"ref":"notes","entry":{"content":"hunter2-hunter2","tags":[]}}`,
		`{"ref":"notes","subjects":["sk-very-secret-value"],"entry":{"content":"by its subject","tags":[]}}`,
		`{"ref":"sk-very-secret-value","entry":{"content":"by its ref","tags":[]}}`)
	at := []string{"-db", filepath.Join(dir, "memory.db"), "-tenant", "acme", "-json"}
	r := call(t, "", at, "import", "-secrets", secrets, lines)
	assert.Equal(t, 1, r.status)
	done := parsed[imported](t, r.out)
	require.Len(t, done.Refused, 2)
	assert.Equal(t, []int{4, 5}, []int{done.Refused[0].Line, done.Refused[1].Line})
	assert.Equal(t, memory.CodeSecretLeakage, done.Refused[0].Code)
	assert.Equal(t, 3, done.Written)
	assert.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
	exported := succeed(t, at, "export")
	assert.Equal(t, 3, strings.Count(exported, "REDACTED:token]\"")+strings.Count(exported, "REDACTED:second]\"")-1, exported)
	var bytes []byte
	files, err := filepath.Glob(filepath.Join(dir, "memory.db*"))
	require.NoError(t, err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		bytes = append(bytes, raw...)
	}
	for _, form := range []string{secret, "hunter2", "c2stdmVyeS1zZWNyZXQtdmFsdWU"} {
		assert.NotContains(t, string(bytes)+exported+r.out+r.err, form)
	}
	assert.Contains(t, string(bytes), "REDACTED:second", "the bytes that were searched are those of the memory")
}

// TTL: what has expired is told of and not imported.
func TestTTL_ExpiredLinesAreReported(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		acme := with(at, "-tenant", "acme", "-json")
		done := parsed[imported](t, succeed(t, acme, "import", file(t, expired, train, expired)))
		assert.Equal(t, imported{Entries: 3, Written: 1, Expired: 2, Refused: []refused{}, Unsaid: true}, normal(done))
		assert.NotContains(t, succeed(t, acme, "inspect", "work"), "offer")
		assert.NotContains(t, succeed(t, acme, "export"), "offer")
	})
}

// An import that is killed goes on with the same command: everything is there, and once.
func TestM8_KilledImportIsCompletedAndNothingTwice(t *testing.T) {
	const all = 2500
	var lines []string
	for n := range all {
		lines = append(lines, fmt.Sprintf(`{"ref":"ref%d","entry":{"content":"note %d","tags":[]}}`, n%7, n))
	}
	path := file(t, lines...)
	everywhere(t, func(t *testing.T, at []string) {
		acme := with(at, "-tenant", "acme", "-json")
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, with(acme, "import", path)...)
		cmd.Env = append(os.Environ(), isProgram+"=1")
		status, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		told, err := bufio.NewReader(status).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "imported 1000 of 2500 entries\n", told)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())

		done := parsed[imported](t, succeed(t, acme, "import", path))
		assert.GreaterOrEqual(t, done.Present, 1000, "what was told of before the kill is there")
		assert.Less(t, done.Present, all, "the kill came in the middle")
		assert.Equal(t, all, done.Present+done.Written)
		seen := map[string]int{}
		for _, text := range strings.Split(strings.TrimSpace(succeed(t, acme, "export")), "\n") {
			if l := parsed[line](t, text); l.Ref != "" {
				seen[l.Entry.Content]++
			}
		}
		assert.Len(t, seen, all)
		for content, n := range seen {
			assert.Equal(t, 1, n, content)
		}
	})
}

// Forgetting asks on a terminal, and says what went.
func TestForget(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		acme := with(at, "-tenant", "acme")
		succeed(t, acme, "import", file(t, tea, train))
		for answer, word := range map[string]string{"no\n": "nothing was erased", "\n": "nothing was erased", "y\n": "nothing was erased"} {
			r := call(t, answer, acme, "forget", "user:ann")
			assert.Equal(t, 1, r.status)
			assert.Contains(t, r.err, word)
			assert.Contains(t, r.err, "Erase 1 entry and 0 documents")
		}
		assert.Equal(t, 2, call(t, "", acme, "forget", "user:ann").status, "nobody can be asked")
		assert.Contains(t, succeed(t, acme, "export"), "tea")
		r := call(t, "yes\n", with(acme, "-json"), "forget", "user:ann")
		require.Zero(t, r.status, r.err)
		gone := parsed[struct{ Erased []located }](t, r.out)
		require.Len(t, gone.Erased, 1)
		assert.Equal(t, "notes", gone.Erased[0].Ref)
		assert.NotContains(t, succeed(t, acme, "export"), "tea")
		assert.Contains(t, succeed(t, acme, "export"), "train")
		assert.Contains(t, succeed(t, acme, "forget", "-yes", "user:ann"), "0 entries erased")
	})
}

// Everything about a subject: a derived entry and a merged one, host text, and a commitment.
func TestSubjectAndLineage(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		host := open(t, at)
		job, err := host.reader("acme")
		require.NoError(t, err)
		first, err := job.Put(t.Context(), "notes", memory.Draft{Content: "Ann: tea", Subjects: []string{"user:ann"}})
		require.NoError(t, err)
		merged, err := job.Rewrite(t.Context(), "notes", memory.Rewrite{
			Derive: []memory.Derived{{Draft: memory.Draft{Content: "Ann drinks tea"}, Sources: []string{first.ID}, Merges: []string{first.ID}}},
			Documents: func([]memory.Entry) []driver.DocumentSwap {
				d := driver.Document{Class: driver.HostText, Kind: "file", Key: "a.md", Value: []byte("Ann's file"), Subjects: []string{"user:ann"}}
				d.Ref = "notes"
				return []driver.DocumentSwap{{Document: d}}
			}})
		require.NoError(t, err)
		engine, err := commitment.New(host.bank, commitment.Config{
			Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }})
		require.NoError(t, err)
		_, err = engine.Arm(t.Context(), job, commitment.Source{Ref: "notes", MemoryID: merged.Entries[0].ID}, commitment.Arm{At: host.bank.Now().Add(time.Hour)})
		require.NoError(t, err)
		require.NoError(t, host.close())

		acme := with(at, "-tenant", "acme", "-json")
		all := parsed[about](t, succeed(t, acme, "subject", "user:ann"))
		require.Len(t, all.Entries, 2)
		require.Len(t, all.Documents, 1)
		assert.Equal(t, "Ann's file", all.Documents[0].Text)
		require.Len(t, all.Commitments, 1)
		assert.Equal(t, "armed", all.Commitments[0].State)
		h := parsed[hit](t, succeed(t, acme, "search", "notes", "who drinks tea?"))
		assert.Equal(t, merged.Entries[0].ID, h.Entry.ID)
		assert.Equal(t, []string{"drink", "tea"}, h.Terms)
		assert.Positive(t, h.Score)
		assert.Contains(t, succeed(t, with(at, "-tenant", "acme"), "search", "notes", "tea"), `matched: ["tea"], score`)
		l := parsed[lineage](t, succeed(t, acme, "why", first.ID))
		assert.Equal(t, "merged", l.State)
		assert.Equal(t, merged.Entries[0].ID, l.Head)
		assert.Equal(t, []string{merged.Entries[0].ID}, l.Derived)
		l = parsed[lineage](t, succeed(t, acme, "why", merged.Entries[0].ID))
		assert.Equal(t, []string{first.ID}, l.Merged)
		assert.Contains(t, succeed(t, with(at, "-tenant", "acme"), "subject", "user:ann"), "2 entries, 1 document, 1 commitment")
		assert.Contains(t, succeed(t, at, "inspect"), `"acme": 1 ref, 1 live, 1 merged`)
		about := succeed(t, acme, "export", "-subject", "user:ann")
		assert.Contains(t, about, "Ann drinks tea")
		assert.NotContains(t, about, "Ann: tea", "what was merged is not brought back by an import")
	})
}

// Why tells who wrote an entry, what it was made of, what it replaced, and what would erase it.
func TestWhy(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		host := open(t, at)
		job, err := host.reader("acme")
		require.NoError(t, err)
		put := func(d memory.Draft) string {
			e, err := job.Put(t.Context(), "notes", d)
			require.NoError(t, err)
			return e.ID
		}
		first, second := put(memory.Draft{Content: "Ann: tea", Subjects: []string{"user:ann"}}), put(memory.Draft{Content: "Ann: tea!"})
		old := put(memory.Draft{Content: "Ann sits at table three"})
		done, err := job.Rewrite(t.Context(), "notes", memory.Rewrite{
			Derive: []memory.Derived{{Draft: memory.Draft{Content: "Ann drinks tea"}, Sources: []string{first, second}, Merges: []string{first, second}}}})
		require.NoError(t, err)
		made := done.Entries[0].ID
		_, err = job.Rewrite(t.Context(), "notes", memory.Rewrite{Retire: []memory.Retire{{ID: old, State: memory.Superseded, For: made}}})
		require.NoError(t, err)
		done, err = job.Rewrite(t.Context(), "notes", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "Of Ann"}, Sources: []string{made}}}})
		require.NoError(t, err)
		engine, err := commitment.New(host.bank, commitment.Config{
			Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }})
		require.NoError(t, err)
		_, err = engine.Arm(t.Context(), job, commitment.Source{Ref: "notes", MemoryID: made}, commitment.Arm{At: host.bank.Now().Add(time.Hour)})
		require.NoError(t, err)
		require.NoError(t, host.close())

		acme := with(at, "-tenant", "acme")
		l := parsed[lineage](t, succeed(t, with(acme, "-json"), "why", made))
		assert.Equal(t, []string{"notes", "live", job.ID(), made}, []string{l.Ref, l.State, l.RunID, l.Head})
		assert.ElementsMatch(t, []string{first, second}, l.Sources)
		assert.ElementsMatch(t, []string{first, second}, l.Merged)
		assert.Equal(t, []string{old}, l.Superseded)
		assert.Equal(t, []string{done.Entries[0].ID}, l.Derived)
		assert.Equal(t, []string{"user:ann"}, l.Subjects)
		require.Len(t, l.Commitments, 1)
		text := succeed(t, acme, "why", made)
		for _, part := range []string{"Ann drinks tea", `written by run: "` + job.ID(), "merged into it: [", `superseded by it: ["` + old, `erased by forgetting any of: ["user:ann"]`, "fired 0 times"} {
			assert.Contains(t, text, part)
		}
		gone := parsed[lineage](t, succeed(t, with(acme, "-json"), "why", old))
		assert.Equal(t, []string{"superseded", made, made}, []string{gone.State, gone.ReplacedBy, gone.Head})
		for _, id := range []string{"nothing", "", strings.Repeat("x", 5000), made + " "} {
			r := call(t, "", acme, "why", id)
			assert.Equal(t, 1, r.status)
			assert.Contains(t, r.err, "no such entry")
		}
	})
}

// Diff tells what two runs saw differently: nothing between a token and itself, and never live memory.
func TestM7_Diff(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		host := open(t, at)
		runs := 0
		token := func() string {
			runs++
			run, err := host.bank.Start(t.Context(), memory.RunConfig{ID: fmt.Sprint("run-", runs), Tenant: "acme", Redactor: redact.New(redact.Config{})})
			require.NoError(t, err)
			token, err := run.Token(t.Context())
			require.NoError(t, err)
			return string(token)
		}
		job, err := host.reader("acme")
		require.NoError(t, err)
		put := func(ref, content string) string {
			e, err := job.Put(t.Context(), ref, memory.Draft{Content: content, Subjects: []string{"user:" + content}})
			require.NoError(t, err)
			return e.ID
		}
		empty := token()
		kept, deleted, merged, again, old := put("a", "kept"), put("b", "deleted"), put("a", "tea"), put("a", "tea!"), put("b", "table three")
		before := token()
		_, err = job.Delete(t.Context(), "b", deleted)
		require.NoError(t, err)
		now := put("b", "table four")
		_, err = job.Rewrite(t.Context(), "b", memory.Rewrite{Retire: []memory.Retire{{ID: old, State: memory.Superseded, For: now}}})
		require.NoError(t, err)
		done, err := job.Rewrite(t.Context(), "a", memory.Rewrite{
			Derive: []memory.Derived{{Draft: memory.Draft{Content: "drinks tea"}, Sources: []string{merged, again}, Merges: []string{merged, again}}}})
		require.NoError(t, err)
		added := put("c", "added")
		after := token()
		put("a", "later")

		acme := with(at, "-tenant", "acme")
		compare := func(from, to string) (ids [3][]string) {
			d := parsed[difference](t, succeed(t, with(acme, "-json"), "diff", from, to))
			for _, l := range d.Added {
				ids[0] = append(ids[0], l.Ref+l.Entry.ID)
			}
			for _, l := range d.Removed {
				ids[1] = append(ids[1], l.Ref+l.Entry.ID)
			}
			for _, r := range d.Replaced {
				ids[2] = append(ids[2], r.Ref+r.From.ID+r.To.ID)
			}
			return ids
		}
		for _, same := range []string{empty, before, after} {
			assert.Equal(t, [3][]string{}, compare(same, same))
		}
		got := compare(before, after)
		assert.Equal(t, []string{"c" + added}, got[0])
		assert.Equal(t, []string{"b" + deleted}, got[1])
		assert.ElementsMatch(t, []string{"b" + old + now, "a" + merged + done.Entries[0].ID, "a" + again + done.Entries[0].ID}, got[2])
		got = compare(empty, before)
		assert.ElementsMatch(t, []string{"a" + kept, "b" + deleted, "a" + merged, "a" + again, "b" + old}, got[0])
		back := compare(before, empty)
		assert.ElementsMatch(t, got[0], back[1], "the other way round")
		text := succeed(t, acme, "diff", before, after)
		assert.Contains(t, text, `- "b" `+deleted+` "deleted"`)
		assert.Contains(t, text, "1 entry added, 1 removed, 3 replaced\n")
		assert.NotContains(t, text, "later")

		for _, args := range [][]string{{"", after}, {before, "no token"}, {before, after + "x"}} {
			r := call(t, "", acme, append([]string{"diff"}, args...)...)
			assert.Equal(t, 1, r.status, args)
			assert.Contains(t, r.err, "token cannot be read")
		}
		r := call(t, "", with(at, "-tenant", "other"), "diff", before, after)
		assert.Equal(t, 1, r.status)
		assert.NotContains(t, r.out+r.err, "table")
		_, err = host.bank.Forget(t.Context(), "acme", "user:table three")
		require.NoError(t, err)
		r = call(t, "", acme, "diff", before, after)
		assert.Equal(t, 1, r.status)
		assert.Equal(t, "agentmemory: not compared, since something in them was forgotten or purged: [\"b\"]\n", r.err)
		assert.Contains(t, r.out, "1 entry added, 0 removed, 2 replaced\n", "other refs are compared")
		require.NoError(t, host.close())
	})
}

// A ref with more entries than a list may have is compared whole.
func TestDiffOfManyPages(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db")}
	host := open(t, at)
	token := func(run string) string {
		r, err := host.bank.Start(t.Context(), memory.RunConfig{ID: run, Tenant: "acme", Redactor: redact.New(redact.Config{})})
		require.NoError(t, err)
		token, err := r.Token(t.Context())
		require.NoError(t, err)
		return string(token)
	}
	const all = 2*memory.MaxListLimit + 3
	before := token("first")
	var m driver.Mutation
	for n := range all {
		m.Put = append(m.Put, driver.Placed{Scope: driver.Scope{Tenant: "acme", Ref: "notes"},
			Entry: driver.Entry{ID: fmt.Sprint("mem_", n), Content: "x", CreatedAt: host.bank.Now(), RunID: "r"}})
	}
	_, err := host.Apply(t.Context(), "acme", m)
	require.NoError(t, err)
	after := token("second")
	require.NoError(t, host.close())
	assert.Contains(t, succeed(t, with(at, "-tenant", "acme"), "diff", before, after), fmt.Sprintf("%d entries added, 0 removed, 0 replaced\n", all))
}
