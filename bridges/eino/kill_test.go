package eino_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// The test binary is a process with an agent where this variable names the file of its memory.
const agentFile = "AGENTMEMORY_EINO_AGENT"

func TestMain(m *testing.M) {
	if file := os.Getenv(agentFile); file != "" {
		if err := agentProcess(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// agentProcess runs one agent after the other, from the number in its argument on. Each writes twice by a tool
// and once by its answer, and what eino has delivered is printed.
func agentProcess(file string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	bank, err := memory.New(db.Memory(), memory.Config{})
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(os.Args[1], &n); err != nil {
		return err
	}
	for ; ; n++ {
		if err := oneAgent(ctx, bank, n, func(line string) { fmt.Println(line) }); err != nil {
			return err
		}
	}
}

// oneAgent runs agent n, and tells of each write when eino has delivered the event of it.
func oneAgent(ctx context.Context, bank *memory.Bank, n int, told func(string)) error {
	mem, err := eino.New(eino.Config{Ref: ref, RecallTokens: 1000, RememberTokens: 500,
		Draft: func(_ context.Context, _, answer string) memory.Draft { return memory.Draft{Content: answer} }})
	if err != nil {
		return err
	}
	text := func(k int) string { return fmt.Sprintf("agent%d wrote%d.", n, k) }
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "a", Description: "writes",
		Middlewares: []adk.AgentMiddleware{{AdditionalTools: mem.Middleware().AdditionalTools, AfterChatModel: mem.Middleware().AfterChatModel}},
		Model:       script(calls("c1", "memory_remember", "content", text(1)), calls("c2", "memory_remember", "content", text(2)), says(text(3)))})
	if err != nil {
		return err
	}
	within, run := eino.WithRun(ctx, bank, memory.RunConfig{ID: fmt.Sprint("run-", n), Tenant: "acme", Redactor: redact.New(redact.Config{})})
	iter := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(within, "Write.")
	written := 0
	for {
		event, ok := iter.Next()
		if !ok {
			break
		}
		if event.Err != nil {
			return event.Err
		}
		msg, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return err
		}
		if msg.Role == schema.Tool {
			if strings.Contains(msg.Content, `"error"`) {
				return fmt.Errorf("a call failed: %s", msg.Content)
			}
			written++
			told(text(written))
		}
	}
	told(text(3)) // an answer is remembered when the agent has come to its end
	return run.End(ctx)
}

// What eino had delivered before a kill -9 is there afterwards, and the agents that were killed can be run again
// under their ids without writing anything twice.
func TestM8_KilledProcessLosesNothingAcknowledged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	acknowledged, begun := map[string]bool{}, 0
	for round := range 3 {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, fmt.Sprint(begun))
		cmd.Env = append(os.Environ(), agentFile+"="+file)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for k := 0; lines.Scan(); k++ {
			acknowledged[lines.Text()] = true
			_, err := fmt.Sscanf(lines.Text(), "agent%d", &begun)
			require.NoError(t, err)
			if k == 20+round { // in the middle of an agent, another place each time
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	require.GreaterOrEqual(t, len(acknowledged), 60)

	db, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	require.NoError(t, err)
	defer db.Close()
	bank, err := memory.New(db.Memory(), memory.Config{})
	require.NoError(t, err)
	held := func() map[string]int {
		times := map[string]int{}
		entries, err := bank.Reader("acme").List(t.Context(), ref, memory.ListOptions{Limit: memory.MaxListLimit})
		require.NoError(t, err)
		for _, e := range entries {
			times[e.Content]++
		}
		return times
	}
	for text := range acknowledged {
		require.Equal(t, 1, held()[text], text)
	}
	for n := range begun + 2 { // the last one that was begun may not have been told of
		require.NoError(t, oneAgent(t.Context(), bank, n, func(string) {}))
	}
	after := held()
	assert.Len(t, after, 3*(begun+2))
	for text, times := range after {
		assert.Equal(t, 1, times, text)
	}
}
