package main

import (
	"path"
	"strings"
)

// rootPath is the module path of the root. A module in a directory has that path behind it.
const rootPath = "github.com/openwop/agentmemory"

// module is one module of the tree.
type module struct {
	dir string // relative to the root of the tree, with slashes; "." is the root
	// tagged modules can be required and installed by others: each release tags them.
	tagged bool
	// programs are the packages of the module, relative to dir, that people install.
	programs []string
}

// table holds every module of the tree, each behind those that it requires. A tagged module
// requires only tagged ones.
var table = []module{
	{dir: ".", tagged: true},
	{dir: "internal/testkit", tagged: true}, // tests of the stores import it
	{dir: "memory/sqlite", tagged: true},
	{dir: "memory/postgres", tagged: true},
	{dir: "bridges/anthropic", tagged: true},
	{dir: "bridges/dates", tagged: true},
	{dir: "bridges/models", tagged: true},
	{dir: "bridges/otel", tagged: true},
	{dir: "bridges/eino", tagged: true},
	{dir: "bridges/mcp", tagged: true, programs: []string{"cmd/agentmemory-mcp"}},
	{dir: "cmd/agentmemory", tagged: true, programs: []string{"."}},

	// These are read, copied or run in the tree.
	{dir: "examples/customstore/boltstore"},
	{dir: "examples/host"},
	{dir: "examples/postgres"},
	{dir: "examples/sqlite"},
	{dir: "examples/tokenizer"},
	{dir: "host/inspector/pagetest"},
	{dir: "docs"},
	{dir: "bench"},
	{dir: "bench/recall"},
	{dir: "internal/testkit/release"},
}

// path is the module path.
func (m module) path() string { return path.Join(rootPath, m.dir) }

// tag is the name of the module's tag for a version.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

// forTests reports whether only tests of this tree import the module: go mod tidy of a module that imports a store
// looks for it, and no user gets it by name.
func (m module) forTests() bool { return strings.HasPrefix(m.dir, "internal/") }

// example reports whether the module is there to be copied.
func (m module) example() bool { return strings.HasPrefix(m.dir, "examples/") }

// find returns the module of the table that has a module path.
func find(modules []module, modulePath string) (module, bool) {
	for _, m := range modules {
		if m.path() == modulePath {
			return m, true
		}
	}
	return module{}, false
}

// holder returns the module of the table that a package path belongs to: the one with the
// longest path that is the package's or stands before it.
func holder(modules []module, packagePath string) (module, bool) {
	var best module
	found := false
	for _, m := range modules {
		if (packagePath == m.path() || strings.HasPrefix(packagePath, m.path()+"/")) && (!found || len(m.path()) > len(best.path())) {
			best, found = m, true
		}
	}
	return best, found
}

// inTree reports whether a package belongs to this tree.
func inTree(packagePath string) bool {
	return packagePath == rootPath || strings.HasPrefix(packagePath, rootPath+"/")
}
