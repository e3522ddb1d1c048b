package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// TestT4_TheSameSeedGivesTheSameTexts runs cases on broken stores twice with the same seed
// and compares the texts of all failures. A text may differ only if it says that
// goroutines used the store at once. Each store meets the cases of the law that it breaks,
// but for the sweeps, and each tenth all cases in which a bank or an engine issues ids.
func TestT4_TheSameSeedGivesTheSameTexts(t *testing.T) {
	if !longRun {
		t.Skip("some minutes: set AGENTMEMORY_LONG=1")
	}
	compared := 0
	for i, d := range defects() {
		cfg := d.config()
		cfg.Seed = 7
		law, _, _ := strings.Cut(d.needs, "/")
		own := lawsOf(law)
		wanted := func(c string) bool {
			return own(c) && !strings.Contains(c, "names-") && !strings.Contains(c, "many-") || i%10 == 0 && withIDs(c)
		}
		first, err := cfg.check(ctx, wanted)
		require.NoError(t, err, d.name)
		second, err := cfg.check(ctx, wanted)
		require.NoError(t, err, d.name)
		compared += sameFailures(t, d.name, failures(first), failures(second))
	}
	t.Log(compared, "texts compared")
	require.Greater(t, compared, len(defects()))
}

// TestT4_TheSameSeedGivesTheSameReportOfALongRun fails one late call of random sequences, with AGENTMEMORY_LONG=1 a much later
// one. The sequence that meets it has the same steps in two runs only if all before it had.
func TestT4_TheSameSeedGivesTheSameReportOfALongRun(t *testing.T) {
	last := int64(14_000)
	if longRun {
		last = 70_000
	}
	var texts [2]string
	for i := range texts {
		var calls atomic.Int64
		late := func(ctx context.Context, _ *Call, next func(context.Context) error) error {
			if calls.Add(1) == last {
				return errors.New("a late call")
			}
			return next(ctx)
		}
		cfg := Config{Seed: 7, Short: !longRun, New: func(context.Context) (driver.Adapter, error) { return Inject(inmem.New(), late), nil }}
		report, err := cfg.check(ctx, cases("MODEL/random"))
		require.NoError(t, err)
		texts[i] = report.String()
	}
	require.Contains(t, texts[0], "a late call")
	require.Equal(t, texts[0], texts[1])
}

// Long runs add up: each has a seed of its own, unless it is given one.
func TestT4_ALongRunHasASeedOfItsOwn(t *testing.T) {
	t.Setenv("AGENTMEMORY_LONG", "1")
	require.NotEqual(t, Config{}.seeded().Seed, Config{}.seeded().Seed)
	require.Equal(t, uint64(7), Config{Seed: 7}.seeded().Seed)
	require.Zero(t, Config{Short: true}.seeded().Seed)
	t.Setenv("AGENTMEMORY_LONG", "")
	require.Zero(t, Config{}.seeded().Seed)
}

// sameFailures compares the texts of two runs, and returns how many there were.
func sameFailures(t *testing.T, store string, one, other map[string]string) int {
	t.Helper()
	all := maps.Clone(one)
	maps.Copy(all, other)
	for _, c := range slices.Sorted(maps.Keys(all)) {
		first, second := one[c], other[c]
		if issued.MatchString(first) {
			t.Errorf("%s, %s: there is an issued id in\n%s", store, c, first)
		}
		if first != second && !strings.Contains(first+second, racedNote) {
			t.Errorf("%s, %s:\n%s\nand then\n%s", store, c, first, second)
		}
	}
	return len(all)
}

// withIDs tells the cases in which a bank or an engine issues ids.
func withIDs(c string) bool {
	if strings.Contains(c, "racing") {
		return false
	}
	for _, part := range []string{"CONSOLIDATE/", "DISTILL/", "/work", "run-token", "FIRE/"} {
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

// A version may begin with another one, and both have their names.
func TestT4_VersionsAreNamed(t *testing.T) {
	versions := map[driver.Version]string{}
	var text, want strings.Builder
	for i := range 120 {
		v := driver.Version(fmt.Sprintf("incarnation.%d", i))
		versions[v] = fmt.Sprintf("v%d", i)
		fmt.Fprintln(&text, v)
		fmt.Fprintln(&want, versions[v])
	}
	require.Equal(t, want.String(), rename(text.String(), versions))
}
