package adaptertest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestT4_TheSameSeedGivesTheSameTexts runs the cases on each broken store twice with
// the same seed and compares the texts of all failures. A text may differ only if it
// says that goroutines used the store at once. By default a store meets the case that
// is there for it, and each twenty-fifth all cases in which a bank or an engine issues ids;
// with AGENTMEMORY_LONG=1 every store meets every case.
func TestT4_TheSameSeedGivesTheSameTexts(t *testing.T) {
	long := os.Getenv("AGENTMEMORY_LONG") != ""
	compared := 0
	twice := func(name string, check func() (*Report, error)) {
		var texts [2]map[string]string
		for i := range texts {
			report, err := check()
			require.NoError(t, err, name)
			texts[i] = failures(report)
		}
		all := maps.Clone(texts[0])
		maps.Copy(all, texts[1])
		for _, c := range slices.Sorted(maps.Keys(all)) {
			first, second := texts[0][c], texts[1][c]
			require.False(t, issued.MatchString(first), first)
			if first != second && !strings.Contains(first+second, racedNote) {
				t.Errorf("%s, %s:\n%s\nand then\n%s", name, c, first, second)
			}
			compared++
		}
	}
	for i, d := range defects() {
		cfg := configOf(d.do)
		cfg.Seed = 7
		twice(d.name, func() (*Report, error) {
			return cfg.proof().check(ctx, func(c string) bool { return long || c == d.needs || i%25 == 0 && withIDs(c) })
		})
	}
	for i, d := range commitmentDefects() {
		cfg := commitmentsWith(d.do)
		cfg.Seed = 7
		twice(d.name, func() (*Report, error) {
			return cfg.proof().check(ctx, func(c string) bool { return long || c == d.needs || i%8 == 0 && c == "ENGINE/crash" })
		})
	}
	for c, d := range shelfDefects {
		twice(c, func() (*Report, error) {
			return shelfConfig(d).proof().check(ctx, func(c string) bool { return !strings.Contains(c, "racing") })
		})
	}
	t.Log(compared, "texts compared")
	require.Greater(t, compared, 600)
}

// withIDs tells the cases in which a bank or an engine issues ids.
func withIDs(c string) bool {
	if strings.Contains(c, "racing") {
		return false
	}
	for _, part := range []string{"CONSOLIDATE/", "DISTILL/", "-pass", "MODEL/runs", "run-token"} {
		if strings.Contains(c, part) {
			return true
		}
	}
	return false
}

// failures are the texts of the cases that failed, by their names.
func failures(r *Report) map[string]string {
	texts := map[string]string{}
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken {
				texts[l.Name+"/"+c.Name] = c.Failure
			}
		}
	}
	return texts
}
