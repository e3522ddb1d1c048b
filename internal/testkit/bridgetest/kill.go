package bridgetest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is a process that is killed if these variables name the file of its memory and its first session.
const (
	killedFile = "AGENTMEMORY_BRIDGETEST_FILE"
	killedFrom = "AGENTMEMORY_BRIDGETEST_FROM"

	perSession = 3 // facts
	kills      = 3
)

// What a bridge has acknowledged before a kill -9 is there afterwards, and sessions that were killed are repeated without
// writing anything twice.
func killsLoseNothing(t *testing.T, _ *Host, b Bridge) {
	if file := os.Getenv(killedFile); file != "" {
		n, err := strconv.Atoi(os.Getenv(killedFrom))
		require.NoError(t, err)
		for h := NewHost(t, b.Store(t, file)); !t.Failed(); n++ {
			session(t, b, h, n, func(text string) { fmt.Println(text) })
		}
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 42))
	file := filepath.Join(t.TempDir(), "memory.db")
	var acknowledged []string
	begun := 0 // the session that was the last to write
	for range kills {
		said := killedProcess(t, file, begun, 1+random.IntN(8*perSession))
		acknowledged = append(acknowledged, said...)
		_, err := fmt.Sscanf(said[len(said)-1], "session%d", &begun)
		require.NoError(t, err)
	}
	h := NewHost(t, b.Store(t, file))
	for _, text := range acknowledged {
		assert.Equal(t, 1, stored(h, "acme", text), "%q was acknowledged", text)
	}
	for n := range begun + 2 { // the next one may have written before its process was killed
		session(t, b, h, n, func(string) {})
	}
	texts := strings.Join(h.Texts("acme"), "\n")
	for n := range begun + 2 {
		for k := range perSession {
			assert.Equal(t, 1, strings.Count(texts, factOf(n, k)), "%q is stored so many times after it was repeated", factOf(n, k))
		}
	}
}

func factOf(session, k int) string { return fmt.Sprintf("session%d wrote%d.", session, k) }

// session remembers some facts, and says of each when it was acknowledged.
func session(t *testing.T, b Bridge, h *Host, n int, said func(string)) {
	s := b.Open(t, h, "acme", fmt.Sprint("session-", n))
	for k := range perSession {
		s.Remember(Fact{Text: factOf(n, k)})
		said(factOf(n, k))
	}
}

// killedProcess runs sessions in a process, kills it when it has acknowledged some facts, and returns these and those that
// it acknowledged until it had ended.
func killedProcess(t *testing.T, file string, from, facts int) (said []string) {
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, self, "-test.run="+only(t))
	cmd.Env = append(os.Environ(), killedFile+"="+file, fmt.Sprintf("%s=%d", killedFrom, from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		require.Contains(t, lines.Text(), "session", "what the process says")
		if said = append(said, lines.Text()); len(said) == facts {
			kill()
		}
	}
	_ = cmd.Wait()
	require.GreaterOrEqual(t, len(said), facts, "the process ended before it was killed")
	return said
}
