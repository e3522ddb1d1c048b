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
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is a process that edits if these variables name where its memory is, which of the editors it is, and the
// first of its edits.
const (
	editPlace = "AGENTMEMORY_BRIDGETEST_EDIT_PLACE"
	editFrom  = "AGENTMEMORY_BRIDGETEST_EDIT_FROM"

	editors   = 6   // processes at once
	edits     = 100 // of each
	killEvery = 40  // edits, on the average, that a process outlives
)

// editsOfEach returns how many edits a process makes.
func editsOfEach() int {
	if testing.Short() {
		return edits / 5
	}
	return edits
}

// NoAcknowledgedEditIsLost has six processes edit one text at the same time, some of which are killed. What was
// acknowledged is in live memory exactly once at the end, so that there are not two versions of the text either. place is
// what the bridge's Store opens: a file, or a server.
func NoAcknowledgedEditIsLost(t *testing.T, b Bridge, place string) {
	if of := os.Getenv(editPlace); of != "" {
		editUntilDone(t, b, of)
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	NewHost(t, b.Store(t, place)) // with its schema
	said := make([][]int, editors)
	var wg sync.WaitGroup
	for editor := range editors {
		wg.Go(func() {
			said[editor] = editAndKill(t, place, editor, rand.New(rand.NewPCG(seed, uint64(editor))))
		})
	}
	wg.Wait()
	texts := strings.Join(NewHost(t, b.Store(t, place)).Texts("acme"), "\n")
	for editor, acknowledged := range said {
		assert.Greater(t, len(acknowledged), editsOfEach()/2, "edits of process %d that were acknowledged", editor)
		wrong := map[int]int{}
		for _, n := range acknowledged {
			if times := strings.Count(texts, editOf(editor, n)); times != 1 {
				wrong[n] = times
			}
		}
		assert.Empty(t, wrong, "of %d acknowledged edits of process %d, with how often each is there", len(acknowledged), editor)
	}
}

func sqliteEdits(t *testing.T, _ *Host, b Bridge) {
	NoAcknowledgedEditIsLost(t, b, filepath.Join(t.TempDir(), "memory.db"))
}

func editOf(editor, n int) string { return fmt.Sprintf("editor%d edit%d.", editor, n) }

// editUntilDone makes the edits that are left of one process and says which were acknowledged.
func editUntilDone(t *testing.T, b Bridge, place string) {
	var editor, from int
	_, err := fmt.Sscanf(os.Getenv(editFrom), "%d %d", &editor, &from)
	require.NoError(t, err)
	h := NewHost(t, b.Store(t, place))
	s := b.open(t, h, "acme")
	for n := from; n < editsOfEach(); n++ {
		for !s.edit(editOf(editor, n)) {
			s = b.open(t, h, "acme") // which sees what the others did
		}
		fmt.Println(n)
	}
}

// edit makes an edit and reports whether it was acknowledged. Of a bridge that only adds it adds an entry.
func (s Session) edit(text string) bool {
	if s.Edit != nil {
		return s.Edit(text)
	}
	s.Remember(Fact{Text: text})
	return true
}

// editAndKill runs one of the processes, again and again after it was killed, and returns its edits that were
// acknowledged. An edit during which it was killed may have been made or not, and is left out.
func editAndKill(t *testing.T, place string, editor int, random *rand.Rand) (said []int) {
	for from := 0; from < editsOfEach(); from++ {
		part := editingProcess(t, place, editor, from, 1+random.IntN(2*killEvery))
		if said = append(said, part...); len(part) > 0 {
			from = part[len(part)-1] + 1
		}
	}
	return said
}

// editingProcess runs a process from one of its edits on, kills it after some that it acknowledged, and returns these.
func editingProcess(t *testing.T, place string, editor, from, edits int) (said []int) {
	self, err := os.Executable()
	if !assert.NoError(t, err) {
		return nil
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, self, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Env = append(os.Environ(), editPlace+"="+place, fmt.Sprintf("%s=%d %d", editFrom, editor, from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if !assert.NoError(t, err) || !assert.NoError(t, cmd.Start()) {
		return nil
	}
	var rest []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		n := 0
		if _, err := fmt.Sscanf(lines.Text(), "%d", &n); err != nil {
			rest = append(rest, lines.Text())
			continue
		}
		if said = append(said, n); len(said) == edits {
			kill()
		}
	}
	if err := cmd.Wait(); err != nil && len(said) < edits {
		assert.NoError(t, err, "process %d: %s", editor, strings.Join(rest, "\n"))
	}
	return said
}
