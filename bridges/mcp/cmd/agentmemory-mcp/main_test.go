package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

// The test binary is the program itself where this variable is set.
const isProgram = "AGENTMEMORY_MCP_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), isProgram+"=1", "AGENTMEMORY_SECRET_TOKEN=sk-very-secret-value")
	return cmd
}

func connect(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func call(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (string, error) {
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return "", fmt.Errorf("%s", text)
	}
	return text, nil
}

// Two processes write one file at the same time and nothing is lost.
func TestTwoProcessesLoseNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	const clients, each = 2, 40
	var wg sync.WaitGroup
	for client := range clients {
		s := connect(t, &sdk.CommandTransport{Command: program(t, "-db", file)})
		wg.Go(func() {
			for n := range each {
				_, err := call(t, s, "memory_remember", map[string]any{"content": fmt.Sprintf("client%d note%d sk-very-secret-value", client, n)})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	s := connect(t, &sdk.CommandTransport{Command: program(t, "-db", file)})
	text, err := call(t, s, "memory_list", map[string]any{"limit": 100})
	require.NoError(t, err)
	for client := range clients {
		for n := range each {
			require.Contains(t, text, fmt.Sprintf(`"client%d note%d [REDACTED:token]"`, client, n))
		}
	}
}

// What was acknowledged before a kill -9 is there afterwards.
func TestM8_KilledProcessLosesNothingAcknowledged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	acknowledged := 0
	for range 3 {
		cmd := program(t, "-db", file)
		s := connect(t, &sdk.CommandTransport{Command: cmd})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := call(t, s, "memory_remember", map[string]any{"content": fmt.Sprintf("kept%d", acknowledged)}); err != nil {
					return
				}
				if acknowledged++; acknowledged%20 == 0 {
					cmd.Process.Kill()
				}
			}
		}()
		<-done
	}
	require.GreaterOrEqual(t, acknowledged, 60)
	s := connect(t, &sdk.CommandTransport{Command: program(t, "-db", file)})
	for n := range acknowledged {
		text, err := call(t, s, "memory_recall", map[string]any{"query": fmt.Sprintf("kept%d", n)})
		require.NoError(t, err)
		require.Contains(t, text, fmt.Sprintf(`"kept%d"`, n))
	}
}

func TestAnthropicFilesOutliveTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	s := connect(t, &sdk.CommandTransport{Command: program(t, "-db", file, "-tools", "anthropic")})
	_, err := call(t, s, "memory", map[string]any{"command": "create", "path": "/memories/a.md", "file_text": "tea"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s = connect(t, &sdk.CommandTransport{Command: program(t, "-db", file, "-tools", "anthropic", "-view")})
	text, err := call(t, s, "memory", map[string]any{"command": "view", "path": "/memories/a.md"})
	require.NoError(t, err)
	assert.Contains(t, text, "tea")
}

// Two processes on one PostgreSQL database are one memory.
func TestTwoProcessesOnPostgres(t *testing.T) {
	cluster, err := pgcluster.ForTests(t.Context())
	if errors.Is(err, pgcluster.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { assert.NoError(t, cluster.Close()) }()
	tenant := fmt.Sprintf("mcp-%d", os.Getpid()) // the server may not be only ours
	a := connect(t, &sdk.CommandTransport{Command: program(t, "-postgres", cluster.DSN(), "-tenant", tenant)})
	b := connect(t, &sdk.CommandTransport{Command: program(t, "-postgres", cluster.DSN(), "-tenant", tenant, "-ref", "assistant")})
	_, err = call(t, a, "memory_remember", map[string]any{"content": "Ann likes tea, sk-very-secret-value"})
	require.NoError(t, err)
	text, err := call(t, b, "memory_recall", map[string]any{"query": "what does Ann like?"})
	require.NoError(t, err)
	assert.Contains(t, text, "Ann likes tea, [REDACTED:token]")
	text, err = call(t, b, "memory_list", nil)
	require.NoError(t, err)
	assert.Contains(t, text, "Ann likes tea, [REDACTED:token]")
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestHTTP(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.json")
	raw, err := json.Marshal(map[string]any{"t": map[string]string{"tenant": "acme", "ref": "notes"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tokens, raw, 0o600))
	cmd := program(t, "-db", filepath.Join(dir, "memory.db"), "-http", "127.0.0.1:0", "-tokens", tokens)
	status, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(status).ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	s := connect(t, &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer("t")}, DisableStandaloneSSE: true})
	_, err = call(t, s, "memory_remember", map[string]any{"content": "over HTTP"})
	require.NoError(t, err)
	s.Close()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), "a clean end")
}

type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func TestBadCommandLines(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no JSON, no database"), 0o600))
	short := filepath.Join(dir, "short.json")
	require.NoError(t, os.WriteFile(short, []byte(`{"id":"short"}`), 0o600))
	null := filepath.Join(dir, "null.json")
	require.NoError(t, os.WriteFile(null, []byte("null"), 0o600))
	t.Setenv("AGENTMEMORY_SECRET_KEY", "a-secret-of-some-length")
	db := filepath.Join(dir, "memory.db")
	for name, args := range map[string][]string{
		"a text file as the database": {"-db", text},
		"no tokens":                   {"-db", db, "-http", "127.0.0.1:0"},
		"tokens that are no JSON":     {"-db", db, "-http", "127.0.0.1:0", "-tokens", text},
		"secrets that are no JSON":    {"-db", db, "-secrets", text},
		"secrets that are null":       {"-db", db, "-secrets", null},
		"a secret that is too short":  {"-db", db, "-secrets", short},
		"a set of tools unknown":      {"-db", db, "-tools", "all"},
		"a view over HTTP":            {"-db", db, "-http", "127.0.0.1:0", "-tokens", text, "-view"},
		"two stores":                  {"-db", db, "-postgres", "host=/nowhere"},
		"a DSN that is none":          {"-postgres", "postgres://ann:sk-very-secret@h:port/db"},
		"no server":                   {"-postgres", "host=" + dir + " password=sk-very-secret"},
		"no ref":                      {"-db", db, "-ref", ""},
	} {
		out, err := program(t, args...).CombinedOutput()
		assert.Error(t, err, name)
		assert.Contains(t, string(out), "agentmemory-mcp: ", name)
		assert.NotContains(t, string(out), "sk-very", name)
		assert.NotContains(t, string(out), "panic", name)
	}
}
