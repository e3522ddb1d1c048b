package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fact is what an import is to bring, without what a bank issues.
type fact struct {
	content        string
	tags, subjects []string
	created        string // empty: the instant of the import
	expires        string
}

var foreign = []struct {
	from, file string
	facts      []fact
	expired    int
}{
	{"mem0", "mem0.json", []fact{
		{"Ann drinks green tea", []string{"food", "preferences", "agent:waiter", "run:visit-7"}, []string{"user:ann"}, "2026-03-01T15:15:30.123Z", ""},
		{"The kitchen closes at ten", []string{"agent:waiter", "app:bistro"}, nil, "2026-03-02T10:00:00Z", "9001-01-01T00:00:00Z"},
	}, 1},
	{"mem0", "mem0-list.json", []fact{{"Ann drinks green tea", nil, []string{"user:ann"}, "2026-03-01T15:15:30.123Z", ""}}, 0},
	{"mcp-memory", "memory.jsonl", []fact{
		{"Ann_Lee: Speaks fluent Spanish", []string{"person"}, []string{"Ann_Lee"}, "", ""},
		{"Ann_Lee: Leads the bistro", []string{"person"}, []string{"Ann_Lee"}, "", ""},
		{"Bistro: place", []string{"place"}, []string{"Bistro"}, "", ""},
		{"Ann_Lee works_at Bistro", []string{"works_at"}, []string{"Ann_Lee", "Bistro"}, "", ""},
	}, 0},
	{"letta", "agent.af", []fact{
		{"The guest's name is Ann.\nShe drinks green tea.", []string{"human"}, nil, "", ""},
		{"A patient waiter.", []string{"persona"}, nil, "", ""},
	}, 0},
	{"letta", "agent-old.af", []fact{{"The guest's name is Ann.", []string{"human"}, nil, "", ""}}, 0},
	{"letta", "passages.json", []fact{
		{"The guest asked for a quiet table", []string{"guest"}, nil, "2026-03-01T08:15:30.123Z", ""},
		{"Table four wobbles", nil, nil, "2026-03-01T08:15:32Z", ""},
	}, 0},
}

// Each format brings its facts with what they are about, once, however often it is imported.
func TestForeignFormats(t *testing.T) {
	for _, c := range foreign {
		t.Run(c.file, func(t *testing.T) {
			at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme", "-json"}
			path := filepath.Join("testdata", c.file)
			before := time.Now().Add(-time.Minute)
			done := parsed[imported](t, succeed(t, at, "import", "-from", c.from, path))
			assert.Equal(t, imported{Entries: len(c.facts) + c.expired, Written: len(c.facts), Expired: c.expired, Refused: []refused{}}, done)
			again := parsed[imported](t, succeed(t, at, "import", "-from", c.from, path))
			assert.Equal(t, imported{Entries: len(c.facts) + c.expired, Present: len(c.facts), Expired: c.expired, Refused: []refused{}}, again)

			var got []fact
			for text := range strings.Lines(succeed(t, at, "export")) {
				l := parsed[line](t, text)
				if l.Ref == "" {
					continue // the last one, which tells of commitments
				}
				assert.Equal(t, "assistant", l.Ref)
				f := fact{content: l.Entry.Content, subjects: l.Subjects, created: l.Entry.CreatedAt.Format(time.RFC3339Nano)}
				if len(l.Entry.Tags) > 0 {
					f.tags = l.Entry.Tags
				}
				if l.Entry.CreatedAt.After(before) {
					f.created = ""
				}
				if !l.Entry.ExpiresAt.IsZero() {
					f.expires = l.Entry.ExpiresAt.Format(time.RFC3339Nano)
				}
				got = append(got, f)
			}
			assert.ElementsMatch(t, c.facts, got)
			succeed(t, at, "import", "-from", c.from, "-ref", "elsewhere", path)
			assert.Equal(t, len(c.facts), strings.Count(succeed(t, at, "export", "-ref", "elsewhere"), `"entry":`))
		})
	}
}

// An agent file may stand in a JSON string, as Letta's server has written some.
func TestAgentFileInAString(t *testing.T) {
	raw, err := os.ReadFile("testdata/agent.af")
	require.NoError(t, err)
	text, err := json.Marshal(string(raw))
	require.NoError(t, err)
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	assert.Contains(t, succeed(t, at, "import", "-from", "letta", file(t, string(text))), "2 entries: 2 written")
}

// SR-1: what comes from another memory loses registered secrets and those of a known shape; an entry
// whose subject holds one is refused and told of.
func TestSR1_ForeignSecrets(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	key := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	path := file(t, `{"results":[{"memory":"The token is `+secret+`, and `+key+` too","user_id":"ann"},{"memory":"x","user_id":"`+secret+`"}]}`)
	r := call(t, "", at, "import", "-from", "mem0", path)
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.out, "2 entries: 1 written, 0 there already, 0 deleted since, 0 expired, 1 refused\nrecord 2: ")
	assert.Equal(t, "agentmemory: 1 refused: mend the file and import it again\n", r.err)
	exported := succeed(t, at, "export")
	assert.Contains(t, exported, "The token is [REDACTED:token], and [REDACTED:shape.github] too")
	assert.NotContains(t, exported+r.out+r.err, secret)
}

// A hostile file is refused before anything is written, in one line that holds nothing of it.
func TestHostileForeignFiles(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	succeed(t, at, "import", file(t, train))
	before := succeed(t, at, "export")
	half := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return string(raw[:len(raw)-len(raw)/3])
	}
	cases := map[string][]string{
		"mem0": {"", " ", "private", "null", "[]", "{}", "1", `"private"`, `{"results":null}`, `{"results":{"memory":"private"}}`, `{"results":["private"]}`,
			`{"results":[{"memory":"fine"},{"memory":1}]}`, `{"results":[{"memory":"fine"},{"text":"private"}]}`, `[{"memory":"private","created_at":"yesterday"}]`,
			`[{"memory":"private","user_id":7}]`, "[{\"memory\":\"private \xff\"}]", `{"results":[]}{"results":[]}`, strings.Repeat("[", 20000), half("mem0.json")},
		"mcp-memory": {"", "private", "null", "[]", `{"type":"private"}`, `{"type":"entity"}`, `{"type":"entity","name":"private","observations":"private"}`,
			`{"type":"entity","name":"private","observations":[1]}`, `{"type":"relation","from":"private"}`, "{\"type\":\"entity\",\"name\":\"private \xff\",\"observations\":[\"x\"]}",
			`{"type":"entity","name":"n","observations":["` + strings.Repeat("private", maxLine/7+1) + `"]}`, half("memory.jsonl")},
		"letta": {"", "private", "null", "[]", "{}", `{"agents":[]}`, `{"blocks":[]}`, `{"blocks":"private"}`, `{"blocks":[{"label":"private"}]}`, `{"blocks":[1]}`,
			`{"core_memory":[{"value":"private"}]}`, `[{"text":1}]`, `[{"text":"private","created_at":"private"}]`, `"private"`, `"{\"blocks\":[1"`, half("agent.af"), half("passages.json")},
	}
	for from, files := range cases {
		for _, content := range files {
			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			r := call(t, "", at, "import", "-from", from, path)
			name := fmt.Sprintf("%s %.60q", from, content)
			assert.Equal(t, 1, r.status, name)
			assert.Empty(t, r.out, name)
			assert.Contains(t, r.err, "nothing was imported", name)
			assert.Equal(t, 1, strings.Count(r.err, "\n"), name)
			assert.NotContains(t, r.err, "private", name)
		}
	}
	long := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, maxFile+1))
	assert.Contains(t, call(t, "", at, "import", "-from", "mem0", long).err, "the file is longer than 268435456 bytes: export it in parts; nothing was imported")
	for _, from := range formatNames() {
		for _, c := range foreign {
			if c.from != from {
				r := call(t, "", at, "import", "-from", from, filepath.Join("testdata", c.file))
				assert.Equal(t, 1, r.status, "%s as %s", c.file, from)
				assert.Contains(t, r.err, "nothing was imported")
			}
		}
	}
	assert.Equal(t, before, succeed(t, at, "export"))
}

// What a bank refuses of another memory is told by its record, and the rest is there.
func TestForeignEntriesThatABankRefuses(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	r := call(t, "", at, "import", "-from", "mem0", file(t, `[{"memory":"`+strings.Repeat("private ", 10000)+`"},{"memory":"fine"},{"memory":""},
		{"memory":"private","created_at":"9000-01-01"},{"memory":"private","categories":["`+strings.Repeat("private", 50)+`"]}]`))
	assert.Equal(t, 1, r.status)
	for _, text := range []string{"4 entries: 1 written", "3 refused", "record 1: ", "record 4: ", "record 5: "} {
		assert.Contains(t, r.out, text)
	}
	assert.Contains(t, r.err, "3 refused")
	assert.NotContains(t, r.out+r.err, "private")
	assert.Equal(t, 1, strings.Count(succeed(t, at, "export"), `"entry":`))
}

// A kill in the middle loses nothing that was told of, and the same command completes the import.
func TestM8_KilledForeignImportIsCompleted(t *testing.T) {
	const all = 2000
	var list []map[string]string
	for n := range all {
		list = append(list, map[string]string{"memory": fmt.Sprint("fact ", n), "user_id": fmt.Sprint("user", n%7), "created_at": "2026-03-01T00:00:00Z"})
	}
	raw, err := json.Marshal(list)
	require.NoError(t, err)
	path := file(t, string(raw))
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme", "-json"}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, with(at, "import", "-from", "mem0", path)...)
	cmd.Env = append(os.Environ(), isProgram+"=1")
	status, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	told, err := bufio.NewReader(status).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "imported 1000 of 2000 entries\n", told)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	done := parsed[imported](t, succeed(t, at, "import", "-from", "mem0", path))
	assert.GreaterOrEqual(t, done.Present, 1000)
	assert.Less(t, done.Present, all, "the kill came in the middle")
	assert.Equal(t, all, done.Present+done.Written)
	assert.Equal(t, all, strings.Count(succeed(t, at, "export"), `"entry":`))
}
