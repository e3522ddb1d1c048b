package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// small is a table like that of this tree: a library, what tests of stores need, a store over
// the library, a program over both, and an example to be copied.
var small = []module{
	{dir: ".", tagged: true},
	{dir: "internal/testkit", tagged: true},
	{dir: "memory/sqlite", tagged: true},
	{dir: "cmd/agentmemory", tagged: true, programs: []string{"."}},
	{dir: "examples/sqlite"},
}

const (
	goLine    = "\n\ngo 1.26.0\n"
	rootLine  = "\nrequire " + rootPath + " v0.0.0\n"
	kitLine   = "\nrequire " + rootPath + "/internal/testkit v0.0.0\n"
	storeLine = "\nrequire " + rootPath + "/memory/sqlite v0.0.0\n\nrequire " + rootPath + " v0.0.0 // indirect\n"
)

// smallFiles are the files of a tree with the modules of small.
func smallFiles() map[string]string {
	return map[string]string{
		"LICENSE":      "A license.\n",
		"CHANGELOG.md": "# Changelog\n\n## [0.2.0] - 2026-12-02\n\n## [0.1.0] - 2026-12-01\n",
		"README.md": "# Small\n\n```\ngo get " + rootPath + "/memory  # the library\n```\n\n" +
			"    go get " + rootPath + "/memory/sqlite\n\nor `go install " + rootPath + "/cmd/agentmemory@latest`\n",
		"go.mod":                                     "module " + rootPath + goLine,
		"internal/hidden/hidden.go":                  "package hidden\n\nconst Size = 1\n",
		"memory/memory.go":                           "package memory\n\n// Get is public.\nfunc Get(id string) string { return id }\n\n// Reader is public.\ntype Reader interface{ Read() string }\n",
		"internal/testkit/go.mod":                    "module " + rootPath + "/internal/testkit" + goLine,
		"internal/testkit/load.go":                   "package testkit\n\n// Rounds is a number of kills.\nconst Rounds = 3\n",
		"memory/sqlite/go.mod":                       "module " + rootPath + "/memory/sqlite" + goLine + rootLine + kitLine,
		"memory/sqlite/sqlite_test.go":               "package sqlite\n\nimport (\n\t\"testing\"\n\n\t\"" + rootPath + "/internal/testkit\"\n)\n\nfunc TestKill(t *testing.T) { _ = testkit.Rounds }\n",
		"memory/sqlite/sqlite.go":                    "package sqlite\n\nimport \"" + rootPath + "/memory\"\n\n// Open is public.\nfunc Open(r memory.Reader) string { return memory.Get(r.Read()) }\n",
		"cmd/agentmemory/go.mod":                     "module " + rootPath + "/cmd/agentmemory" + goLine + storeLine,
		"cmd/agentmemory/main.go":                    "package main\n\nimport \"" + rootPath + "/memory/sqlite\"\n\nfunc main() { _ = sqlite.Open }\n",
		"examples/sqlite/go.mod":                     "module " + rootPath + "/examples/sqlite" + goLine + storeLine,
		"examples/sqlite/main.go":                    "package main\n\nimport \"" + rootPath + "/memory/sqlite\"\n\nfunc main() { _ = sqlite.Open }\n",
		"internal/testkit/release/api-changes.txt":   listHead,
		"internal/testkit/release/go.mod":            "module " + rootPath + "/internal/testkit/release" + goLine,
		"internal/testkit/release/testdata/keep.txt": "So that there is one.\n",
	}
}

// project makes a repository of these files, in which the modules replace each other, with one
// commit. The go command and git see nothing of the machine's settings and caches.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	repo := t.TempDir()
	for name, value := range map[string]string{
		"GOMODCACHE": t.TempDir(), "GOFLAGS": "-modcacherw -buildvcs=false", "GOPROXY": "off", "GOENV": "off",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
	} {
		t.Setenv(name, value)
	}
	must(t, repo, "init", "--quiet")
	for name, content := range files {
		put(t, repo, name, content)
	}
	if err := setReplacements(repo, small); err != nil {
		t.Fatal(err)
	}
	commit(t, repo)
	return repo
}

func put(t *testing.T, repo, name, content string) {
	t.Helper()
	if err := write(filepath.Join(repo, filepath.FromSlash(name)), []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, repo string) {
	t.Helper()
	must(t, repo, "add", "--all")
	must(t, repo, "commit", "--quiet", "--message", "Change")
}

func must(t *testing.T, repo string, args ...string) string {
	t.Helper()
	out, err := git(repo, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// release prepares a version and commits and tags it.
func release(t *testing.T, repo, version string) {
	t.Helper()
	var out bytes.Buffer
	if err := prepare(repo, small, version, &out); err != nil {
		t.Fatal(err)
	}
	commit(t, repo)
	if err := tag(repo, small, true, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}
