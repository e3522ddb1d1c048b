package adaptertest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyBrokenStore meets the kit with a seed.
func everyBrokenStore() []brokenStore {
	var all []brokenStore
	for _, d := range defects() {
		cfg := configOf(d.do)
		cfg.Seed = 7
		all = append(all, brokenStore{d, cfg})
	}
	return all
}

type brokenStore struct {
	defect
	Config
}

// everyCase are the names "LAW/case".
func everyCase() []string {
	var names []string
	for _, l := range laws() {
		for _, c := range l.cases {
			names = append(names, l.name+"/"+c.name)
		}
	}
	return names
}

// TestT1_EveryCaseHasABrokenStore shows that at least one broken store needs each case.
func TestT1_EveryCaseHasABrokenStore(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range everyBrokenStore() {
		needed[s.needs] = true
	}
	known := map[string]bool{}
	for _, name := range everyCase() {
		require.False(t, known[name], "two cases are called %s", name)
		known[name] = true
		require.True(t, needed[name], "no broken store needs %s", name)
	}
	for name := range needed {
		require.True(t, known[name], "there is no case %s", name)
	}
}

// isModel tells the cases that go by random steps. They find what other cases find by
// certain ones, and are there for what nobody thought of; so they do not count when a
// case is asked whether it alone finds a store.
func isModel(name string) bool {
	return strings.HasPrefix(name, "MODEL/")
}

// TestT1_EveryCaseAloneFindsAStore runs, with AGENTMEMORY_LONG=1, every case on every
// broken store. For each case there must be a store that no other case finds (but for
// those that go by a model), or an entry in neverAlone. It also runs what failed once
// more and compares the texts, as TestT4_TheSameSeedGivesTheSameTexts does of fewer.
// Broken stores are not safe under the race detector in all cases: run it without.
func TestT1_EveryCaseAloneFindsAStore(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") == "" {
		t.Skip("AGENTMEMORY_LONG is not set")
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	found := map[string][]string{} // by store, the cases that fail
	compared := 0
	todo := make(chan brokenStore)
	for range 2 {
		wait.Go(func() {
			for s := range todo {
				first, err := s.check(ctx, everything)
				names := failed(first)
				second, errAgain := s.check(ctx, cases(names...))
				mu.Lock()
				if err != nil || errAgain != nil {
					t.Error(s.name, err, errAgain)
				}
				found[s.name+" ("+s.needs+")"] = names
				compared += sameFailures(t, s.name, failures(first), failures(second))
				mu.Unlock()
			}
		})
	}
	for _, s := range everyBrokenStore() {
		todo <- s
	}
	close(todo)
	wait.Wait()
	alone, strictly := map[string]bool{}, map[string]bool{}
	for _, names := range found {
		if len(names) == 1 {
			strictly[names[0]] = true
		}
		if plain := slices.DeleteFunc(slices.Clone(names), isModel); len(plain) == 1 {
			alone[plain[0]] = true
		}
	}
	if out := os.Getenv("AGENTMEMORY_MATRIX"); out != "" { // who wants to work on neverAlone
		wire, err := json.MarshalIndent(found, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(out, wire, 0o644))
	}
	excused := 0
	for _, name := range everyCase() {
		reason := whyNeverAlone(name)
		switch {
		case isModel(name):
		case !alone[name] && reason == "":
			t.Errorf("%s is never the only one to find a store, and there is no reason for it", name)
		case !alone[name]:
			excused++
		case reason != "" && !strings.Contains(reason, "now and then"):
			t.Errorf("%s is the only one to find a store: it needs no reason", name)
		}
	}
	t.Logf("%d cases, %d stores; %d cases alone find one, %d not even a model does; %d have a reason; %d texts compared",
		len(everyCase()), len(found), len(alone), len(strictly), excused, compared)
}

// whyNeverAlone is the reason why no store is found by the case alone.
func whyNeverAlone(name string) string {
	for _, group := range neverAlone {
		if slices.Contains(group.cases, name) {
			return group.reason
		}
	}
	return ""
}
