package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

// The test binary is the host itself where this variable is set.
const isProgram = "AGENTMEMORY_HOST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is the host as a program.
type process struct {
	t       testing.TB
	cmd     *exec.Cmd
	address string
}

// everywhere runs a test of the program over a new file, a new PostgreSQL server, and a new database of the
// MariaDB or MySQL server that the environment names.
func everywhere(t *testing.T, test func(t *testing.T, o options)) {
	t.Run("sqlite", func(t *testing.T) { test(t, options{data: filepath.Join(t.TempDir(), "host.db")}) })
	t.Run("postgres", func(t *testing.T) {
		cluster, err := pgcluster.Start(t.Context())
		if errors.Is(err, pgcluster.ErrNoServer) && (os.Getenv(pgcluster.EnvRequire) != "1" || os.Getenv(pgcluster.EnvDSN) != "") {
			t.Skip(pgcluster.ErrNoServer)
		}
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
		test(t, options{postgres: cluster.DSN()})
	})
	t.Run("mysql", func(t *testing.T) { test(t, options{mysql: newMySQL(t)}) })
}

// newMySQL makes a database on the server that the environment names, whose user may do so.
func newMySQL(t *testing.T) (dsn string) {
	base, name := os.Getenv("AGENTMEMORY_MYSQL_DSN"), fmt.Sprint("agentmemory_host_", time.Now().UnixNano())
	if base == "" {
		t.Skip("AGENTMEMORY_MYSQL_DSN names no server")
	}
	pool, err := sql.Open("mysql", base)
	require.NoError(t, err)
	_, err = pool.ExecContext(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.ExecContext(context.Background(), "DROP DATABASE "+name)
		assert.NoError(t, err)
		pool.Close()
	})
	return base[:strings.LastIndex(base, "/")+1] + name
}

// spawn starts the program over the file or the database that the options name.
func spawn(t testing.TB, o options) *process {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-data", o.data, "-postgres", o.postgres, "-mysql", o.mysql, "-token", "a", "-tenant-b", "b", "-seams")
	cmd.Env = append(os.Environ(), isProgram+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	return &process{t, cmd, address}
}

func (p *process) call(token, method, path, body string) (int, map[string]any, error) {
	r, err := http.NewRequest(method, p.address+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	var out map[string]any
	return answer.StatusCode, out, json.NewDecoder(answer.Body).Decode(&out)
}

// Two hundred clients at once get no error, and passes over one ref wait for each other.
func TestManyClients(t *testing.T) { everywhere(t, manyClients) }

func manyClients(t *testing.T, o options) {
	clients, lasting := 40, time.Second
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		clients, lasting = 200, 30*time.Second
	}
	p := spawn(t, o)
	end := time.Now().Add(lasting)
	var served atomic.Int64
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			token := []string{"a", "b"}[n%2]
			for time.Now().Before(end) {
				var status int
				var out map[string]any
				var err error
				switch n % 10 {
				case 0:
					status, out, err = p.call(token, "POST", "/v1/host/sample/memory/consolidate", `{"memoryRef":"mem://c/shared"}`)
				case 1:
					status, out, err = p.call(token, "PUT", fmt.Sprintf("/v1/host/workspace/files/f%d", n%4), `{"content":"x"}`)
				default:
					status, out, err = p.call(token, "POST", "/v1/runs", `{"workflowId":"conformance-agent-memory-roundtrip"}`)
				}
				if !assert.NoError(t, err) || !assert.Less(t, status, 300, "%v", out) {
					return
				}
				served.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d clients, %d calls in %v", clients, served.Load(), lasting)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, p.cmd.Wait(), "a clean end")
}

// After a kill -9 under load everything acknowledged is there, and every log is complete.
func TestM8_KilledHostLosesNothingAcknowledged(t *testing.T) { everywhere(t, killedHost) }

func killedHost(t *testing.T, o options) {
	clients, rounds, calls := 8, 2, int64(60)
	if testing.Short() {
		rounds = 1
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		clients, rounds, calls = 200, 10, 300
	}
	var mu sync.Mutex
	acknowledged := map[string]string{} // run to token
	for range rounds {
		p := spawn(t, o)
		var wg sync.WaitGroup
		var n atomic.Int64
		for client := range clients {
			wg.Go(func() {
				token := []string{"a", "b"}[client%2]
				for {
					status, out, err := p.call(token, "POST", "/v1/runs", `{"workflowId":"conformance-agent-memory-roundtrip"}`)
					if err != nil {
						return // killed
					}
					if !assert.Equal(t, 201, status, "%v", out) {
						return
					}
					mu.Lock()
					acknowledged[out["runId"].(string)] = token
					mu.Unlock()
					if n.Add(1) == calls {
						p.cmd.Process.Kill()
					}
				}
			})
		}
		wg.Wait()
		p.cmd.Wait()
	}
	p := spawn(t, o)
	for id, token := range acknowledged {
		status, run, err := p.call(token, "GET", "/v1/runs/"+id, "")
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, "completed", run["status"])
	}
	// All that was begun has ended: the store is read as the host would.
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, p.cmd.Wait())
	s := reopen(t, o)
	ended := map[string]int{}
	for token, tenant := range map[string]string{"a": tenantA, "b": tenantB} {
		for _, id := range s.runs(tenant) {
			all := s.events(token, id)
			require.NotEmpty(t, all, id)
			for i, ev := range all {
				require.Equal(t, float64(i), ev["sequence"], id)
				terminal := ev["type"] == "run.completed" || ev["type"] == "run.failed"
				require.Equal(t, i == len(all)-1, terminal, "%s: %v", id, ev["type"])
			}
			ended[all[len(all)-1]["type"].(string)]++
		}
	}
	s.everyDocumentIsValid(t)
	t.Logf("acknowledged %d, ended %v", len(acknowledged), ended)
	require.GreaterOrEqual(t, ended["run.completed"], len(acknowledged))
}
