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

// The test binary is a process that edits if these variables name where its memory is; and the tenant, which of the
// editors it is and the first of its edits.
const (
	editPlace = "AGENTMEMORY_BRIDGETEST_EDIT_PLACE"
	editFrom  = "AGENTMEMORY_BRIDGETEST_EDIT_FROM"

	editors = 6 // processes at once
)

// editsOfEach returns how many edits a process makes. The usual ones are the first of the long form.
func editsOfEach() int {
	switch {
	case os.Getenv("AGENTMEMORY_LONG") != "":
		return 100
	case testing.Short():
		return 12
	}
	return 36
}

// NoAcknowledgedEditIsLost has six processes edit one text at the same time, and kills some of them. What was
// acknowledged is in live memory exactly once at the end, so there are not two versions of the text either. prepare
// returns what the bridge's Store opens, a file or the address of a server, and is called in the test's own process.
func NoAcknowledgedEditIsLost(t *testing.T, b Bridge, prepare func() string) {
	if place := os.Getenv(editPlace); place != "" {
		editUntilDone(t, b, place)
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	place := prepare()
	b.Store(t, place)                                       // which makes the schema
	tenant := fmt.Sprintf("edits-%d-%x", os.Getpid(), seed) // a server may not be only ours
	said := make([][]int, editors)
	var wg sync.WaitGroup
	for editor := range editors {
		wg.Go(func() {
			said[editor] = editAndKill(t, place, tenant, editor, rand.New(rand.NewPCG(seed, uint64(editor))))
		})
	}
	wg.Wait()
	texts := strings.Join(NewHost(t, b.Store(t, place)).Texts(tenant), "\n")
	for editor, acknowledged := range said {
		assert.Greater(t, len(acknowledged), editsOfEach()/2, "edits of process %d that were acknowledged", editor)
		wrong := map[int]int{}
		for _, n := range acknowledged {
			if times := strings.Count(texts, editOf(editor, n)); times != 1 {
				wrong[n] = times
			}
		}
		assert.Empty(t, wrong, "of %d edits of process %d, with how often each is there", len(acknowledged), editor)
	}
}

func sqliteEdits(t *testing.T, _ *Host, b Bridge) {
	NoAcknowledgedEditIsLost(t, b, func() string { return filepath.Join(t.TempDir(), "memory.db") })
}

func editOf(editor, n int) string { return fmt.Sprintf("editor%d edit%d.", editor, n) }

// editUntilDone makes the edits that are left of one process and says which were acknowledged.
func editUntilDone(t *testing.T, b Bridge, place string) {
	var tenant string
	var editor, from int
	_, err := fmt.Sscanf(os.Getenv(editFrom), "%s %d %d", &tenant, &editor, &from)
	require.NoError(t, err)
	h := NewHost(t, b.Store(t, place))
	s := b.open(t, h, tenant)
	for n := from; n < editsOfEach(); n++ {
		for !s.edit(editOf(editor, n)) {
			s = b.open(t, h, tenant) // which sees what the others did
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

// editAndKill runs one of the processes, and again after each kill, and returns its edits that were acknowledged. An
// edit during which it was killed may have been made or not, and is left out.
func editAndKill(t *testing.T, place, tenant string, editor int, random *rand.Rand) (said []int) {
	for from := 0; from < editsOfEach(); from++ {
		first := fmt.Sprintf("%s %d %d", tenant, editor, from)
		part := editingProcess(t, place, first, 1+random.IntN(editsOfEach()))
		if said = append(said, part...); len(part) > 0 {
			from = part[len(part)-1] + 1
		}
	}
	return said
}

// only is a pattern that this test alone matches.
func only(t *testing.T) string { return "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$" }

// editingProcess runs a process from an edit on, kills it after some that it acknowledged, and returns these.
func editingProcess(t *testing.T, place, from string, edits int) (said []int) {
	self, err := os.Executable()
	if !assert.NoError(t, err) {
		return nil
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, self, "-test.run="+only(t), fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Env = append(os.Environ(), editPlace+"="+place, editFrom+"="+from)
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
		assert.NoError(t, err, "process %s: %s", from, strings.Join(rest, "\n"))
	}
	return said
}
