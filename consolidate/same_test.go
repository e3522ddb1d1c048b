package consolidate

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// labelled reads pairs of texts: a label, then the two, separated by tabs.
func labelled(t testing.TB) (pairs [][3]string) {
	t.Helper()
	f, err := os.Open("testdata/pairs.tsv")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := lines.Text(); line != "" && line[0] != '#' {
			fields := strings.Split(line, "\t")
			require.Len(t, fields, 3, line)
			pairs = append(pairs, [3]string(fields))
		}
	}
	require.NoError(t, lines.Err())
	return pairs
}

func TestC8_LabelledPairs(t *testing.T) {
	merged, edits, wrong, kinds := 0, 0, 0, map[string]int{}
	for _, p := range labelled(t) {
		kinds[p[0]]++
		a, b := parse(p[1]), parse(p[2])
		how, forth := sameFact(a, b)
		_, back := sameFact(b, a)
		require.Equal(t, forth, back, "the order of the two decides: %q %q", p[1], p[2])
		if forth && how != "a slip of spelling" {
			require.Equal(t, bag(a), bag(b), "they would not be compared: %q %q", p[1], p[2])
		}
		if forth {
			// What the rules merge must pass the guards that a host's planner has to.
			require.Empty(t, lost(a, []note{b}), "%q %q", p[1], p[2])
			require.Empty(t, lost(b, []note{a}), "%q %q", p[1], p[2])
		}
		if strings.HasPrefix(p[0], "same") {
			edits++
			if forth {
				merged++
			} else {
				t.Logf("missed (%s): %q %q", p[0], p[1], p[2])
			}
		} else if forth {
			wrong++
			t.Errorf("wrong merge (%s): %q %q", p[0], p[1], p[2])
		}
	}
	t.Logf("%d of %d restatements merged, %d wrong merges; %v", merged, edits, wrong, kinds)
	require.GreaterOrEqual(t, edits+len(labelled(t))-edits, 600)
	require.Zero(t, wrong)
	require.GreaterOrEqual(t, float64(merged), 0.95*float64(edits))
}
