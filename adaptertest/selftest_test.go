package adaptertest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

func defects() []defect {
	return slices.Concat(readDefects(), adapterDefects(), transactorDefects(), outboxDefects(), versionedDefects(), otherDefects(), engineDefects())
}

// TestBroken shows for each broken store that the kit fails, on the right law and in
// the case that is there for it. With AGENTMEMORY_LONG=1 all other cases are run on
// it too.
func TestBroken(t *testing.T) {
	names := map[string]bool{}
	for _, d := range defects() {
		lawName, _, _ := strings.Cut(d.needs, "/")
		name := lawName + "/" + d.name
		if names[name] {
			t.Errorf("two defects are called %q", name)
		}
		names[name] = true
		t.Run(name, func(t *testing.T) {
			report, err := check(context.Background(), configOf(d.do), func(c string) bool {
				return strings.HasPrefix(c, lawName+"/") || os.Getenv("AGENTMEMORY_LONG") != ""
			})
			if err != nil {
				t.Fatal(err)
			}
			found := failed(report)
			if !slices.Contains(found, d.needs) {
				t.Errorf("%s does not fail; %v do", d.needs, found)
			}
			t.Logf("fails %v", found)
			for _, text := range report.Failures() {
				if strings.HasPrefix(text, d.needs+" ") {
					t.Log("\n" + text)
				}
			}
		})
	}
	if len(names) < 60 {
		t.Errorf("only %d broken stores", len(names))
	}
}

func failed(r *Report) []string {
	var names []string
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken {
				names = append(names, l.Name+"/"+c.Name)
			}
		}
	}
	return names
}

// TestT1_EveryCaseIsNeeded shows that at least one broken store needs each case.
func TestT1_EveryCaseIsNeeded(t *testing.T) {
	needed := map[string]bool{}
	for _, d := range defects() {
		needed[d.needs] = true
	}
	known := map[string]bool{}
	for _, l := range laws() {
		for _, c := range l.cases {
			name := l.name + "/" + c.name
			if known[name] {
				t.Errorf("two cases are called %s", name)
			}
			known[name] = true
			if !needed[name] {
				t.Errorf("no broken store needs %s", name)
			}
		}
	}
	for name := range needed {
		if !known[name] {
			t.Errorf("there is no case %s", name)
		}
	}
}

// A store with no defect passes everything, durability included.
func TestSound(t *testing.T) {
	report, err := Check(context.Background(), configOf(func(*broken) {}))
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() || report.Level != LevelVersioned || len(report.NotOffered) != 0 {
		t.Error(report)
	}
	_ = fmt.Sprint
	_ = inmem.New
	_ = memory.ErrConflict
}
