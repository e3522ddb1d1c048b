package bridgetest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is a process that is killed if these variables name the file of its memory and its first session.
const (
	killedFile = "AGENTMEMORY_BRIDGETEST_FILE"
	killedFrom = "AGENTMEMORY_BRIDGETEST_FROM"
)

const (
	perSession = 3 // facts
	kills      = 3
)

// What a bridge has acknowledged before a kill -9 is there afterwards, and sessions that were killed are repeated without
// writing anything twice.
func killsLoseNothing(t *testing.T, _ *Host, b Bridge) {
	if file := os.Getenv(killedFile); file != "" {
		writeUntilKilled(t, b, file, os.Getenv(killedFrom))
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
		if _, err := fmt.Sscanf(said[len(said)-1], "session%d", &begun); err != nil {
			t.Fatal(err)
		}
	}
	h := NewHost(t, b.Store(t, file))
	for _, text := range acknowledged {
		if n := stored(h, "acme", text); n != 1 {
			t.Errorf("%q was acknowledged and is stored %d times", text, n)
		}
	}
	for n := range begun + 2 { // the next one may have written before its process was killed
		session(t, b, h, n, func(string) {})
	}
	texts := strings.Join(h.Texts("acme"), "\n")
	for n := range begun + 2 {
		for k := range perSession {
			if times := strings.Count(texts, factOf(n, k)); times != 1 {
				t.Errorf("%q is stored %d times after it was repeated", factOf(n, k), times)
			}
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

const acknowledges = "acknowledged: " // begins a line of a process

func writeUntilKilled(t *testing.T, b Bridge, file, from string) {
	var n int
	if _, err := fmt.Sscan(from, &n); err != nil {
		t.Fatal(err)
	}
	for h := NewHost(t, b.Store(t, file)); !t.Failed(); n++ {
		session(t, b, h, n, func(text string) { fmt.Println(acknowledges + text) })
	}
}

// killedProcess runs sessions in a process, kills it when it has acknowledged some facts, and returns these and those that
// it acknowledged until it had ended.
func killedProcess(t *testing.T, file string, from, facts int) (said []string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, self, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), killedFile+"="+file, fmt.Sprintf("%s=%d", killedFrom, from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), acknowledges)
		if !ok {
			t.Errorf("the process says: %s", lines.Text())
			continue
		}
		if said = append(said, text); len(said) == facts {
			kill()
		}
	}
	if cmd.Wait(); len(said) < facts {
		t.Fatalf("the process ended after %d facts, before it was killed", len(said))
	}
	return said
}
