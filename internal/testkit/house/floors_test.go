package house_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// root is the directory of the tree.
const root = "../../.."

const modulePath = "github.com/openwop/agentmemory"

// libraries are the only direct requirements that the root module may have.
var libraries = []string{
	"github.com/cespare/xxhash/v2",
	"github.com/gowebpki/jcs",
	"github.com/santhosh-tekuri/jsonschema/v5",
	testify,
}

const testify = "github.com/stretchr/testify"

// place is what the production code of a package may do. A dir that ends in
// "/..." is that directory and all below it; an exact dir goes first,
// then the longest pattern. Where code goes under internal/ and has no place of
// its own, the rules are those of the directory that holds internal/.
type place struct {
	dir   string
	floor int
	// ours are the packages of this project that it may import; "..." is
	// everything on a lower floor.
	ours []string
	// others are the packages outside the standard library that it may import.
	// In a nested module the go.mod says that instead.
	others []string
	// testing is set for packages that are made to be used from tests.
	testing bool
}

var (
	memoryAndEvents = []string{"memory", "memory/driver", "events"}
	ofAnEngine      = append([]string{"telemetry", "internal/hostcall"}, memoryAndEvents...)
	driverAndEvents = []string{"memory/driver", "events"}
)

var plan = []place{
	{dir: ".", floor: 0},
	{dir: "internal/jsonguard", floor: -1},
	{dir: "internal/ordered", floor: -1},
	{dir: "internal/pages", floor: -1},
	{dir: "internal/wallclock", floor: -1},

	{dir: "events", floor: 0, ours: []string{"internal/jsonguard"}},
	{dir: "redact", floor: 0, ours: []string{"internal/ordered"}},
	{dir: "internal/hostcall", floor: 0},
	{dir: "internal/identifier", floor: 0},
	{dir: "internal/text", floor: 0},
	{dir: "internal/schema", floor: 0, others: libraries[2:3]},
	{dir: "internal/testkit", floor: 0},
	{dir: "internal/testkit/house", floor: 0},
	{dir: "internal/testkit/parts", floor: 0},
	{dir: "internal/testkit/mutate", floor: 0},
	{dir: "internal/testkit/pgcluster", floor: 0},
	{dir: "internal/testkit/parted", floor: 0}, // its tests have hosts of all floors

	{dir: "internal/facts", floor: 1, ours: []string{"internal/text"}},
	{dir: "telemetry", floor: 1, ours: []string{"internal/hostcall"}},
	{dir: "events/eventschema", floor: 1, ours: []string{"events", "internal/jsonguard", "internal/schema"}},
	{dir: "memory/driver", floor: 1, ours: []string{"events", "internal/identifier"}},

	// Stores know neither memory nor an engine.
	{dir: "memory", floor: 2, ours: []string{"memory/driver", "events", "telemetry", "internal/identifier", "internal/hostcall", "internal/pages"}},
	{dir: "memory/...", floor: 2, ours: driverAndEvents},
	{dir: "memory/inmem", floor: 2, ours: append([]string{"internal/ordered", "internal/pages"}, driverAndEvents...)},
	{dir: "memory/internal/groupcommit", floor: 2},
	{dir: "memory/internal/sqlstore", floor: 2, ours: append([]string{"internal/pages"}, driverAndEvents...)},
	{dir: "memory/sqlite", floor: 3, ours: append([]string{"memory/internal/groupcommit", "memory/internal/sqlstore"}, driverAndEvents...)},
	{dir: "memory/mysql", floor: 3, ours: append([]string{"memory/internal/groupcommit", "memory/internal/sqlstore"}, driverAndEvents...)},
	{dir: "memory/postgres", floor: 3, ours: append([]string{"memory/internal/groupcommit", "internal/pages", "memory/internal/sqlstore"}, driverAndEvents...)},

	{dir: "consolidate", floor: 3, ours: append([]string{"internal/facts", "internal/text"}, ofAnEngine...), others: libraries},
	{dir: "distill", floor: 3, ours: append([]string{"internal/facts", "internal/text"}, ofAnEngine...), others: libraries},
	{dir: "recall", floor: 3, ours: []string{"memory", "memory/driver", "telemetry", "internal/text", "internal/hostcall"}},
	{dir: "commitment", floor: 3, ours: ofAnEngine, others: libraries},
	{dir: "capability", floor: 3, ours: []string{"memory", "events", "internal/jsonguard", "internal/schema", "internal/hostcall"}},

	{dir: "host/wire", floor: 3, ours: []string{"memory", "events", "internal/jsonguard", "internal/hostcall"}},

	{dir: "inventory", floor: 4, ours: []string{"capability", "memory", "host/wire", "internal/hostcall"}},
	{dir: "host/proposal", floor: 4, ours: []string{"memory", "memory/driver", "events", "host/wire", "internal/jsonguard", "internal/hostcall"}},
	{dir: "host/workspace", floor: 4, ours: []string{"memory", "memory/driver", "events", "host/wire", "internal/hostcall"}},
	{dir: "host/inspector", floor: 4, ours: []string{"capability", "commitment", "memory", "events", "host/wire", "internal/hostcall"}},
	{dir: "host/inspector/pagetest", floor: 5, ours: []string{"..."}},
	{dir: "adaptertest", floor: 4, others: libraries, testing: true,
		ours: []string{"memory", "memory/driver", "memory/inmem", "redact", "events", "consolidate", "distill", "commitment", "recall"}},
	{dir: "internal/testkit/bridgetest", floor: 4, ours: []string{"memory", "memory/driver", "memory/inmem", "recall", "redact"}, testing: true},
	{dir: "internal/testkit/crashload", floor: 4,
		ours: []string{"memory/driver", "memory/inmem", "events"}},
	{dir: "internal/testkit/forgetting", floor: 4,
		ours: []string{"commitment", "consolidate", "distill", "events", "memory", "memory/driver", "redact"}, testing: true},
	{dir: "bench/recall/dataset", floor: 4},

	{dir: "examples/...", floor: 5, ours: []string{"..."}, others: libraries},
	{dir: "bridges", floor: 4, ours: []string{"memory"}}, // what bridges share is in bridges/internal
	{dir: "bridges/anthropic/memorytool", floor: 4, ours: []string{"memory"}},
	{dir: "bridges/models", floor: 4, ours: []string{"memory", "consolidate", "distill", "commitment", "recall", "internal/wallclock"}},
	{dir: "bridges/dates", floor: 4, ours: []string{"commitment", "memory", "internal/wallclock"}},
	{dir: "bridges/otel", floor: 4, ours: []string{"telemetry"}},
	{dir: "bridges/mcp/cmd/...", floor: 6, ours: []string{"..."}},
	{dir: "cmd/...", floor: 6, ours: []string{"..."}},
	{dir: "bridges/...", floor: 5, ours: []string{"..."}},
	{dir: "bench/...", floor: 5, ours: []string{"..."}, testing: true},
	{dir: "docs", floor: 4},
}

// placeOf finds the rules for the package in dir.
func placeOf(dir string) (place, bool) {
	dir = owner(dir)
	best, found := place{}, false
	for _, p := range plan {
		if p.dir == dir {
			return p, true
		}
		if top, ok := strings.CutSuffix(p.dir, "/..."); ok && within(dir, top) && len(p.dir) > len(best.dir) {
			best, found = p, true
		}
	}
	return best, found
}

// owner is the directory whose internal/ holds dir, or dir itself if it has a place of its own.
func owner(dir string) string {
	if slices.ContainsFunc(plan, func(p place) bool { return p.dir == dir }) {
		return dir
	}
	head, _, _ := strings.Cut(dir+"/", "/internal/")
	return strings.TrimSuffix(head, "/")
}

func within(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// checkFloors returns one line for every broken rule about imports and modules.
func checkFloors(t *tree) []string {
	var broken []string
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		own, ok := placeOf(dir)
		if !ok {
			broken = append(broken, dir+": the package has no place in the plan of floors_test.go")
			continue
		}
		for _, f := range t.packages[dir] {
			if f.test {
				continue
			}
			for _, imported := range f.imports() {
				if why := refusal(own, dir, imported, t.nested(dir)); why != "" {
					broken = append(broken, fmt.Sprintf("%s imports %s: %s", f.name, imported, why))
				}
			}
		}
	}
	for _, file := range t.workspaces {
		broken = append(broken, file+": a workspace file must not be committed")
	}
	for _, required := range directRequirements(t.rootModule) {
		if !slices.Contains(libraries, required) {
			broken = append(broken, "go.mod: "+required+" must not be a direct requirement")
		}
	}
	return broken
}

// refusal says why the package in dir, whose place is own, must not import
// something; it is empty if it may.
func refusal(own place, dir, imported string, nested bool) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case within(imported, "testing"):
		if !own.testing {
			return "production code does not import testing"
		}
	case within(imported, testify):
		if !within(dir, "internal/testkit") {
			return "only test files import testify"
		}
	case within(dir, "examples") && within(imported, modulePath) && strings.Contains(imported+"/", "/internal/"):
		return "an example is copied, and nobody can import internal packages of another module"
	case within(imported, modulePath):
		return refusalOfOurs(own, dir, path.Clean(strings.TrimPrefix(strings.TrimPrefix(imported, modulePath), "/")))
	case strings.Contains(first, "."): // outside the standard library
		allowed := func(lib string) bool { return within(imported, lib) }
		if !nested && !slices.ContainsFunc(own.others, allowed) {
			return "not among the libraries this package may use"
		}
	}
	return ""
}

func refusalOfOurs(own place, dir, imported string) string {
	target, ok := placeOf(imported)
	switch {
	case !ok:
		return "the package has no place in the plan of floors_test.go"
	case owner(dir) == owner(imported), slices.Contains(own.ours, owner(imported)):
		return ""
	case slices.Contains(own.ours, "...") && target.floor < own.floor:
		return ""
	}
	return fmt.Sprintf("floor %d, %s, must not import floor %d, %s", own.floor, own.dir, target.floor, target.dir)
}

// directRequirements reads the require directives of a go.mod.
func directRequirements(mod string) []string {
	var required []string
	block := false
	for line := range strings.Lines(mod) {
		text, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(text)
		switch {
		case len(words) == 0:
			continue
		case block && words[0] == ")":
			block = false
			continue
		case words[0] == "require" && len(words) > 1 && words[1] == "(":
			block = true
			continue
		case words[0] == "require":
			words = words[1:]
		case !block:
			continue
		}
		if strings.TrimSpace(comment) != "indirect" {
			required = append(required, strings.Trim(words[0], "\"`"))
		}
	}
	return required
}

func TestFloors(t *testing.T) {
	for _, line := range checkFloors(load(t, os.DirFS(root))) {
		t.Error(line)
	}
}

// The plan itself may only point down: to a lower floor, or from a directory to
// one that holds it.
func TestFloors_PlanPointsDown(t *testing.T) {
	for _, p := range plan {
		for _, dir := range p.ours {
			if dir == "..." {
				continue
			}
			target, ok := placeOf(dir)
			if !ok || (target.floor >= p.floor && !within(p.dir, dir)) {
				t.Errorf("%s on floor %d may not be allowed %s", p.dir, p.floor, dir)
			}
		}
	}
}

// Every rule is shown to fail on a tree that breaks just that rule.
func TestFloors_BrokenTrees(t *testing.T) {
	source := func(imports ...string) string {
		var b strings.Builder
		b.WriteString("package p\n")
		for _, i := range imports {
			fmt.Fprintf(&b, "import _ %q\n", strings.Replace(i, "~", modulePath, 1))
		}
		return b.String()
	}
	for _, c := range []struct {
		file, content string
		want          string // part of the only complaint; empty for none
	}{
		{"memory/a.go", source("~/events", "context", "encoding/json"), ""},
		{"memory/a.go", source("~/redact"), "floor 2, memory, must not import floor 0, redact"},
		{"memory/a.go", source("~/memory/inmem"), "must not import floor 2"},
		{"memory/a.go", source("~/memory/internal/x"), ""},
		{"memory/internal/x/a.go", source("~/redact"), "must not import floor 0, redact"},
		{"memory/a.go", source("~/memory/internal/sqlstore"), "must not import floor 2, memory/internal/sqlstore"},
		{"memory/internal/sqlstore/a.go", source("~/memory"), "must not import floor 2, memory"},
		{"memory/a.go", source("~/consolidate"), "must not import floor 3"},
		{"memory/a.go", source("github.com/cespare/xxhash/v2"), "not among the libraries"},
		{"memory/inmem/a.go", source("~/memory/driver", "~/events"), ""},
		{"memory/inmem/a.go", source("~/memory"), "must not import floor 2, memory"},
		{"memory/driver/a.go", source("~/events"), ""},
		{"memory/driver/a.go", source("~/memory"), "must not import floor 2, memory"},
		{"memory/sqlite/a.go", source("~/distill"), "must not import floor 3"},
		{"memory/inmem/a.go", source("~/redact"), "must not import floor 0"},
		{"memory/inmem/a.go", source("~/memory/other"), "must not import floor 2"},
		{"memory/inmem/a.go", source("golang.org/x/sync/errgroup"), "not among the libraries"},
		{"events/a.go", source("~/redact"), "must not import floor 0"},
		{"events/a.go", source("~/events/eventschema"), "must not import floor 1"},
		{"events/a.go", source("~/internal/jsonguard"), ""},
		{"events/a.go", source("~/internal/schema"), "must not import floor 0"},
		{"memory/a.go", source("~/internal/jsonguard"), "must not import floor -1"},
		{"internal/schema/a.go", source("github.com/santhosh-tekuri/jsonschema/v5"), ""},
		{"internal/jsonguard/a.go", source("~/events"), "must not import floor 0"},
		{"internal/jsonguard/a.go", source("github.com/santhosh-tekuri/jsonschema/v5"), "not among the libraries"},
		{"events/a.go", source("github.com/gowebpki/jcs"), "not among the libraries"},
		{"events/a.go", source("~"), "must not import floor 0, ."},
		{"events/eventschema/a.go", source("~/events", "~/internal/jsonguard", "~/internal/schema"), ""},
		{"events/eventschema/a.go", source("github.com/santhosh-tekuri/jsonschema/v5"), "not among the libraries"},
		{"redact/a.go", source("~/events"), "must not import floor 0"},
		{"consolidate/a.go", source("~/memory", "~/events", "github.com/cespare/xxhash/v2"), ""},
		{"consolidate/a.go", source("~/redact"), "must not import floor 0"},
		{"consolidate/a.go", source("~/distill"), "must not import floor 3"},
		{"distill/a.go", source("~/capability"), "must not import floor 3"},
		{"commitment/a.go", source("~/inventory"), "must not import floor 4"},
		{"commitment/a.go", source("github.com/robfig/cron/v3"), "not among the libraries"},
		{"capability/a.go", source("~/memory", "~/events", "~/internal/jsonguard", "~/internal/schema"), ""},
		{"capability/a.go", source("~/consolidate"), "must not import floor 3"},
		{"capability/a.go", source("github.com/santhosh-tekuri/jsonschema/v5"), "not among the libraries"},
		{"inventory/a.go", source("~/capability"), ""},
		{"inventory/a.go", source("~/internal/jsonguard"), "must not import floor -1"},
		{"inventory/a.go", source("~/memory", "~/host/wire"), ""},
		{"inventory/a.go", source("~/events"), "must not import floor 0"},
		{"host/wire/a.go", source("~/memory", "~/events"), ""},
		{"host/wire/a.go", source("~/distill"), "must not import floor 3"},
		{"adaptertest/a.go", source("testing", "testing/synctest", "~/commitment", "~/redact"), ""},
		{"adaptertest/a.go", source("~/capability"), "must not import floor 3"},
		{"adaptertest/a.go", source(testify + "/require"), "only test files import testify"},
		{"examples/host/a.go", source("~/inventory", "~/memory/inmem", "~/redact"), ""},
		{"examples/host/a.go", source("~/examples/quickstart"), "must not import floor 5"},
		{"examples/host/a.go", source("~/internal/text"), "an example is copied"},
		{"examples/host/a_test.go", source("~/internal/testkit/pgcluster"), ""},
		{"examples/host/a.go", source("testing"), "does not import testing"},
		{"memory/a.go", source("testing/fstest"), "does not import testing"},
		{"memory/a_test.go", source("testing", testify+"/require", "~/redact"), ""},
		{"redact/a.go", "//go:build windows\n\n" + source("testing"), "does not import testing"},
		{"redact/a.go", source("~/unplaced"), "has no place"},
		{"unplaced/a.go", source(), "has no place"},
		{"internal/x/a.go", source(), "has no place"},
		{"events/other/a.go", source(), "has no place"},
		{"go.work", "go 1.26.0\n", "workspace file"},
		{"memory/sqlite/go.work", "go 1.26.0\n", "workspace file"},
		{"go.mod", "module x\nrequire github.com/gowebpki/jcs v1.0.2\n", ""},
		{"go.mod", "module x\nrequire modernc.org/sqlite v1.60.1\n", "modernc.org/sqlite must not be"},
		{"go.mod", "module x\nrequire (\n\tgithub.com/a/b v1.0.0 // indirect\n\tgithub.com/c/d v1.0.0\n)\n", "c/d must not be"},
	} {
		got := checkFloors(load(t, mapTree(map[string]string{"doc.go": "// Package p.\npackage p\n", c.file: c.content})))
		expectComplaint(t, c.file+" "+c.want, got, c.want)
	}

	// A driver is a matter of the nested module that holds it.
	nested := map[string]string{
		"memory/sqlite/go.mod": "module x\nrequire modernc.org/sqlite v1.60.1\n",
		"memory/sqlite/a.go":   source("modernc.org/sqlite", "~/memory/driver"),
	}
	expectComplaint(t, "nested module", checkFloors(load(t, mapTree(nested))), "")
	delete(nested, "memory/sqlite/go.mod")
	expectComplaint(t, "driver in the root module", checkFloors(load(t, mapTree(nested))), "not among the libraries")
}

func expectComplaint(t *testing.T, name string, got []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) != 0:
		t.Errorf("%s: unexpected: %s", name, strings.Join(got, "; "))
	case want != "" && (len(got) != 1 || !strings.Contains(got[0], want)):
		t.Errorf("%s: got %q, want one complaint with %q", name, got, want)
	}
}
