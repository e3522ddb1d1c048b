package memorytool_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/sqlite"
)

const (
	ref    = bridgetest.Ref
	secret = bridgetest.Secret
)

type host struct {
	*bridgetest.Host
	t   testing.TB
	ids int
}

func newHost(t testing.TB) *host { return &host{Host: bridgetest.NewHost(t, inmem.New()), t: t} }

func (h *host) run(tenant string) *memory.Run {
	h.ids++
	run, err := h.Start(h.t.Context(), memory.RunConfig{ID: fmt.Sprintf("run-%d", h.ids), Tenant: tenant, Redactor: bridgetest.Secrets(h.t)})
	require.NoError(h.t, err)
	return run
}

func (h *host) live(tenant string) *memorytool.Files {
	job, err := h.Background(memory.JobConfig{ID: "tool", Tenant: tenant, Redactor: bridgetest.Secrets(h.t)})
	require.NoError(h.t, err)
	return files(memorytool.Live(h.Bank, job))
}

func files(m memorytool.Memory) *memorytool.Files {
	return memorytool.New(memorytool.Config{Memory: m, Ref: ref, Subjects: func(p string) []string { return []string{"file:" + p} }})
}

// call carries out a command given as names and values.
func call(f *memorytool.Files, pairs ...any) (string, bool) {
	input := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		input[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return f.Do(context.Background(), raw)
}

func ok(t *testing.T, f *memorytool.Files, pairs ...any) string {
	t.Helper()
	text, failed := call(f, pairs...)
	require.False(t, failed, text)
	return text
}

func fails(t *testing.T, f *memorytool.Files, pairs ...any) string {
	t.Helper()
	text, failed := call(f, pairs...)
	require.True(t, failed, text)
	return text
}

func TestTexts(t *testing.T) {
	f := files(memorytool.InRun(newHost(t).run("acme")))
	assert.Equal(t, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0\t/memories",
		ok(t, f, "command", "view", "path", "/memories"))
	assert.Equal(t, "File created successfully at: /memories/a.txt", ok(t, f, "command", "create", "path", "/memories/a.txt", "file_text", "one\ntwo\none"))
	assert.Equal(t, "Error: File /memories/a.txt already exists", fails(t, f, "command", "create", "path", "/memories/a.txt", "file_text", ""))
	ok(t, f, "command", "create", "path", "/memories/d/e/f.md", "file_text", strings.Repeat("x", 2048))
	ok(t, f, "command", "create", "path", "/memories/.hidden", "file_text", "h")
	assert.Equal(t, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"+
		"2.0K\t/memories\n11\t/memories/a.txt\n2.0K\t/memories/d\n2.0K\t/memories/d/e", ok(t, f, "command", "view", "path", "/memories/"))
	assert.Equal(t, "Here's the content of /memories/a.txt with line numbers:\n     1\tone\n     2\ttwo\n     3\tone", ok(t, f, "command", "view", "path", "/memories/a.txt"))
	assert.Equal(t, "Here's the content of /memories/a.txt with line numbers:\n     2\ttwo", ok(t, f, "command", "view", "path", "/memories/a.txt", "view_range", []int{2, 2}))
	assert.Equal(t, "Here's the content of /memories/a.txt with line numbers:\n     3\tone", ok(t, f, "command", "view", "path", "/memories/a.txt", "view_range", []int{3, -1}))
	fails(t, f, "command", "view", "path", "/memories/a.txt", "view_range", []int{4, 5})
	fails(t, f, "command", "view", "path", "/memories/a.txt", "view_range", []int{1})
	assert.Equal(t, "The path /memories/none does not exist. Please provide a valid path.", fails(t, f, "command", "view", "path", "/memories/none"))

	assert.Equal(t, "No replacement was performed. Multiple occurrences of old_str `one` in lines: 1, 3. Please ensure it is unique",
		fails(t, f, "command", "str_replace", "path", "/memories/a.txt", "old_str", "one", "new_str", "x"))
	assert.Equal(t, "No replacement was performed, old_str `four` did not appear verbatim in /memories/a.txt.",
		fails(t, f, "command", "str_replace", "path", "/memories/a.txt", "old_str", "four", "new_str", "x"))
	assert.Equal(t, "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\tTWO\n     3\tone",
		ok(t, f, "command", "str_replace", "path", "/memories/a.txt", "old_str", "two", "new_str", "TWO"))
	assert.Equal(t, "Error: The path /memories/none does not exist. Please provide a valid path.",
		fails(t, f, "command", "str_replace", "path", "/memories/none", "old_str", "a", "new_str", "b"))
	assert.Equal(t, "The file /memories/a.txt has been edited.", ok(t, f, "command", "insert", "path", "/memories/a.txt", "insert_line", 0, "insert_text", "zero\n"))
	assert.Equal(t, "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]",
		fails(t, f, "command", "insert", "path", "/memories/a.txt", "insert_line", 9, "insert_text", "x"))
	assert.Contains(t, ok(t, f, "command", "view", "path", "/memories/a.txt"), "     1\tzero\n     2\tone")

	assert.Equal(t, "Error: The destination /memories/d/e/f.md already exists", fails(t, f, "command", "rename", "old_path", "/memories/a.txt", "new_path", "/memories/d/e/f.md"))
	assert.Equal(t, "Successfully renamed /memories/d to /memories/g", ok(t, f, "command", "rename", "old_path", "/memories/d", "new_path", "/memories/g"))
	fails(t, f, "command", "view", "path", "/memories/d/e/f.md")
	assert.Equal(t, "Successfully deleted /memories/g", ok(t, f, "command", "delete", "path", "/memories/g"))
	assert.Equal(t, "Error: The path /memories/g does not exist", fails(t, f, "command", "delete", "path", "/memories/g"))
	ok(t, f, "command", "create", "path", "/memories/g/again", "file_text", "back")
	fails(t, f, "command", "create", "path", "/memories/g/again/below", "file_text", "a file is no directory")
	fails(t, f, "command", "create", "path", "/memories/g", "file_text", "a directory is no file")
	fails(t, f, "command", "delete", "path", "/memories")
	fails(t, f, "command", "rename", "old_path", "/memories/g", "new_path", "/memories/g/h")
}

func TestPathsCannotLeave(t *testing.T) {
	h := newHost(t)
	f := h.live("acme")
	for _, p := range []string{
		"", "/", "/etc/passwd", "memories/a", "/memories/../etc", "/memories/a/../../b", "/memories/./a", "/memories//a", "/memoriesx",
		"/memories/%2e%2e/a", "/memories/a\x00b", "/memories/a\nb", `/memories\..\a`, "/memories/a\\b", "/memories/" + strings.Repeat("x", 300), "~/memories/a",
	} {
		for _, c := range [][]any{
			{"command", "view", "path", p}, {"command", "create", "path", p, "file_text", "x"},
			{"command", "str_replace", "path", p, "old_str", "a", "new_str", "b"}, {"command", "insert", "path", p, "insert_line", 0, "insert_text", "x"},
			{"command", "delete", "path", p}, {"command", "rename", "old_path", p, "new_path", "/memories/z"}, {"command", "rename", "old_path", "/memories/z", "new_path", p},
		} {
			fails(t, f, c...)
		}
	}
	entries, err := h.Reader("acme").List(t.Context(), ref, memory.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestMalformedInput(t *testing.T) {
	f := newHost(t).live("acme")
	for _, raw := range []string{"", "null", "[]", "7", `{"command":"view"}`, `{"command":"format","path":"/memories"}`, `{"command":7}`,
		`{"command":"insert","path":"/memories/a","insert_line":"x","insert_text":""}`, `{"command":"create","path":"/memories/a"}`, "{"} {
		text, failed := f.Do(t.Context(), []byte(raw))
		assert.True(t, failed, raw)
		assert.NotEmpty(t, text)
	}
}

// TestFiles_LikeATree compares random commands with a map, in live memory and in runs of which
// each begins where the one before ended.
func TestFiles_LikeATree(t *testing.T) {
	paths := []string{"/memories/a", "/memories/b.md", "/memories/d/x", "/memories/d/y", "/memories/d/e/z", "/memories/d", "/memories/a/q"}
	words := []string{"alpha", "beta", "gamma"}
	seeds := uint64(80)
	if testing.Short() {
		seeds = 16
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 23))
		h := newHost(t)
		f, tree := h.live("acme"), map[string]string{}
		for step := range 60 {
			h.Advance(time.Millisecond)
			if seed%2 == 1 && step%10 == 0 {
				f = files(memorytool.InRun(h.run("acme")))
			}
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			p, q := paths[rng.IntN(len(paths))], paths[rng.IntN(len(paths))]
			text, there := tree[p]
			word := words[rng.IntN(3)]
			inTheWay := func(p string) bool {
				for other := range tree {
					if other == p || strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/") {
						return true
					}
				}
				return false
			}
			var legal bool
			var said string
			var failed bool
			switch rng.IntN(6) {
			case 0, 1:
				if legal = !inTheWay(p); legal {
					tree[p] = word + "\n" + fmt.Sprint(step)
				}
				said, failed = call(f, "command", "create", "path", p, "file_text", word+"\n"+fmt.Sprint(step))
			case 2:
				if legal = there && strings.Count(text, word) == 1; legal {
					tree[p] = strings.Replace(text, word, "delta", 1)
				}
				said, failed = call(f, "command", "str_replace", "path", p, "old_str", word, "new_str", "delta")
			case 3:
				if legal = there; legal {
					tree[p] = word + "\n" + text
				}
				said, failed = call(f, "command", "insert", "path", p, "insert_line", 0, "insert_text", word)
			case 4:
				before := len(tree)
				maps.DeleteFunc(tree, func(other, _ string) bool { return other == p || strings.HasPrefix(other, p+"/") })
				legal = len(tree) < before
				said, failed = call(f, "command", "delete", "path", p)
			case 5:
				moved := map[string]string{}
				for other, text := range tree {
					if other == p || strings.HasPrefix(other, p+"/") {
						moved[other] = text
					}
				}
				if legal = len(moved) > 0 && !strings.HasPrefix(q+"/", p+"/") && !inTheWay(q); legal {
					for other, text := range moved {
						delete(tree, other)
						tree[q+strings.TrimPrefix(other, p)] = text
					}
				}
				said, failed = call(f, "command", "rename", "old_path", p, "new_path", q)
			}
			require.Equal(t, !legal, failed, "%s: %s", at, said)
			for _, p := range paths {
				said, failed := call(f, "command", "view", "path", p)
				text, there := tree[p]
				if !there {
					require.NotContains(t, said, "Here's the content", at)
					continue
				}
				require.False(t, failed, "%s: %s", at, said)
				var want []string
				for n, line := range strings.Split(text, "\n") {
					want = append(want, fmt.Sprintf("%6d\t%s", n+1, line))
				}
				require.Equal(t, "Here's the content of "+p+" with line numbers:\n"+strings.Join(want, "\n"), said, at)
			}
		}
		require.Equal(t, tree, h.tree(t), "seed %d", seed)
	}
}

// TestLaws runs the suite of all bridges: a session is the tool in one run, or over live memory. A fact is a file of its own,
// and the answer to a question is every file.
func TestLaws(t *testing.T) {
	for name, without := range map[string]map[string]string{"live": {"M6": "the tool shows live memory, see InRun"}, "run": nil} {
		t.Run(name, func(t *testing.T) {
			bridgetest.Run(t, bridgetest.Bridge{Store: sqliteStore, Without: without, Open: func(t *testing.T, bank *bridgetest.Host, tenant, id string) bridgetest.Session {
				job, err := bank.Background(memory.JobConfig{ID: "tool", Tenant: tenant, Redactor: bridgetest.Secrets(t)})
				require.NoError(t, err)
				m := memorytool.Live(bank.Bank, job)
				if name == "run" {
					run, err := bank.Start(t.Context(), memory.RunConfig{ID: id, Tenant: tenant, Redactor: bridgetest.Secrets(t)})
					require.NoError(t, err)
					m = memorytool.InRun(run)
				}
				var subjects []string
				f := memorytool.New(memorytool.Config{Memory: m, Ref: ref, Subjects: func(string) []string { return subjects }})
				return bridgetest.Session{
					Remember: func(fact bridgetest.Fact) string {
						path := fmt.Sprintf("/memories/%x", sha256.Sum256([]byte(fact.Text)))
						if !fact.ExpiresAt.IsZero() { // the tool has no way to say so
							bank.Put(tenant, memory.Draft{Content: fact.Text, Tags: []string{"memory-file", "file:" + path}, ExpiresAt: fact.ExpiresAt})
							return path
						}
						subjects = fact.Subjects
						text, failed := call(f, "command", "create", "path", path, "file_text", fact.Text)
						require.Equal(t, strings.Contains(text, "already exists"), failed, text)
						return path
					},
					Edit: func(line string) bool { return edit(t, f, line) },
					Recall: func(string) (said string) {
						for _, line := range strings.Split(ok(t, f, "command", "view", "path", "/memories"), "\n")[2:] {
							_, path, _ := strings.Cut(line, "\t")
							said += ok(t, f, "command", "view", "path", path)
						}
						return said
					},
					Delete: func(path string) bool {
						_, failed := call(f, "command", "delete", "path", path)
						return !failed
					},
				}
			}})
		})
	}
}

// edit adds a line to the one file that all edit, by one of the commands that can.
func edit(t *testing.T, f *memorytool.Files, line string) bool {
	const file = "/memories/shared"
	text, failed := call(f, "command", "create", "path", file, "file_text", "end")
	if strings.Contains(text, "another writer") {
		return false
	}
	require.True(t, !failed || strings.Contains(text, "already exists"), text)
	if sha256.Sum256([]byte(line))[0]%2 == 0 {
		text, failed = call(f, "command", "insert", "path", file, "insert_line", 0, "insert_text", line)
	} else {
		text, failed = call(f, "command", "str_replace", "path", file, "old_str", "end", "new_str", line+"\nend")
	}
	require.True(t, !failed || strings.Contains(text, "another writer") || strings.Contains(text, "other writers"), text)
	return !failed
}

func sqliteStore(t *testing.T, file string) driver.Adapter {
	db, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db.Memory()
}

// SR-1: no edit brings a secret back, and a path that holds one is not used.
func TestM3_EditsAndPathsAreRedacted(t *testing.T) {
	h := newHost(t)
	f := h.live("acme")
	ok(t, f, "command", "create", "path", "/memories/a", "file_text", "key "+secret)
	text := ok(t, f, "command", "insert", "path", "/memories/a", "insert_line", 1, "insert_text", "again "+secret)
	assert.NotContains(t, text, secret)
	ok(t, f, "command", "str_replace", "path", "/memories/a", "old_str", "again", "new_str", secret)
	fails(t, f, "command", "create", "path", "/memories/"+secret, "file_text", "x")
	for _, e := range h.Entries("acme") {
		assert.NotContains(t, fmt.Sprint(e), secret)
	}
}

// M10: forgetting a label reaches a file through its edits and renames.
func TestM10_ForgetReachesEveryVersion(t *testing.T) {
	h := newHost(t)
	f := h.live("acme")
	ok(t, f, "command", "create", "path", "/memories/ann", "file_text", "Ann likes tea")
	ok(t, f, "command", "str_replace", "path", "/memories/ann", "old_str", "tea", "new_str", "coffee")
	ok(t, f, "command", "rename", "old_path", "/memories/ann", "new_path", "/memories/people/a")
	old := files(memorytool.InRun(h.run("acme")))
	ok(t, f, "command", "insert", "path", "/memories/people/a", "insert_line", 0, "insert_text", "# Ann")
	_, err := h.Forget(t.Context(), "acme", "file:/memories/ann")
	require.NoError(t, err)
	fails(t, f, "command", "view", "path", "/memories/people/a")
	fails(t, old, "command", "view", "path", "/memories/people/a")
	assert.Empty(t, h.Entries("acme"))
}

// Two clients write at once and nothing is lost.
func TestTwoClientsLoseNothing(t *testing.T) {
	h := newHost(t)
	var wg sync.WaitGroup
	for client := range 4 {
		f := h.live("acme")
		wg.Go(func() {
			for n := range 25 {
				text, failed := call(f, "command", "create", "path", fmt.Sprintf("/memories/c%d/n%d", client, n), "file_text", "x")
				assert.False(t, failed, text)
			}
		})
	}
	wg.Wait()
	f := h.live("acme")
	for client := range 4 {
		for n := range 25 {
			ok(t, f, "command", "view", "path", fmt.Sprintf("/memories/c%d/n%d", client, n))
		}
	}
}

// What memory refuses is told without a word of what it said, and nothing is lost.
func TestRefusals(t *testing.T) {
	h := newHost(t)
	f := h.live("acme")
	ok(t, f, "command", "create", "path", "/memories/a", "file_text", "small")
	text := fails(t, f, "command", "insert", "path", "/memories/a", "insert_line", 0, "insert_text", strings.Repeat("x", memory.DefaultMaxEntryBytes))
	assert.Contains(t, text, "Error: memory cannot hold this text")
	fails(t, f, "command", "create", "path", "/memories/zero", "file_text", "a\x00b")
	assert.Contains(t, ok(t, f, "command", "view", "path", "/memories/a"), "small")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text, failed := f.Do(ctx, []byte(`{"command":"create","path":"/memories/b","file_text":"x"}`))
	assert.True(t, failed)
	assert.Contains(t, text, "memory is not available")
}

func FuzzDo(f *testing.F) {
	f.Add([]byte(`{"command":"create","path":"/memories/a","file_text":"x"}`))
	f.Add([]byte(`{"command":"str_replace","path":"/memories/seed","old_str":"e","new_str":""}`))
	f.Add([]byte(`{"command":"insert","path":"/memories/seed","insert_line":-1,"insert_text":"\n"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h := newHost(t)
		files := h.live("acme")
		call(files, "command", "create", "path", "/memories/seed", "file_text", "seed\nlines")
		if text, _ := files.Do(t.Context(), raw); text == "" {
			t.Fatal("no text")
		}
		entries, err := h.Reader("acme").List(t.Context(), ref, memory.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.ContainsFunc(e.Tags, func(s string) bool { return strings.HasPrefix(s, "file:/memories/") }) {
				t.Fatalf("%q", e.Tags)
			}
		}
	})
}
