package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Each fault of a tree is found, and a tree without one passes.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string]string)
		want   string // part of the error; empty for none
	}{
		"sound": {func(map[string]string) {}, ""},
		"an example imports an internal package": {func(files map[string]string) {
			files["examples/sqlite/main.go"] = "package main\n\nimport _ \"" + rootPath + "/internal/hidden\"\n\nfunc main() {}\n"
		}, "use of internal package"},
		"a requirement is missing": {func(files map[string]string) {
			files["examples/sqlite/go.mod"] = "module " + rootPath + "/examples/sqlite" + goLine + "\nrequire " + rootPath + "/memory/sqlite v0.0.0\n"
		}, "examples/sqlite"},
		"a program replaces what is not ours": {func(files map[string]string) {
			files["cmd/agentmemory/go.mod"] += "\nreplace example.org/other => ../other\n"
		}, "replace directives"},
		"a page names a module that has no tags": {func(files map[string]string) {
			files["examples/README.md"] = "`go install " + rootPath + "/examples/sqlite@latest`\n"
		}, "examples/README.md"},
		"a page names a module that is not in the table": {func(files map[string]string) {
			files["examples/README.md"] = "`go install " + rootPath + "/internal/testkit/release@latest`\n"
		}, "does not contain package"},
		"a page names a package that is not there": {func(files map[string]string) {
			files["memory/sqlite/README.md"] = "$ go get " + rootPath + "/memory/sqlite/vectors\n"
		}, "memory/sqlite/vectors"},
		"no page says how to get a module": {func(files map[string]string) {
			files["README.md"] = strings.Replace(files["README.md"], "    go get", "    go doc", 1)
		}, "memory/sqlite: no Markdown file"},
		"a package is left out of the zip": {func(files map[string]string) {
			files["memory/inner/go.mod"] = "module example.org/inner" + goLine
			files["memory/inner/inner.go"] = "package inner\n"
			files["memory/uses.go"] = "package memory\n\nimport _ \"" + rootPath + "/memory/inner\"\n"
		}, "memory/inner"},
	} {
		t.Run(name, func(t *testing.T) {
			files := smallFiles()
			c.change(files)
			repo := project(t, files)
			var out bytes.Buffer
			err := check(repo, small, &out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v\n%s", c.want, err, out.String())
			}
			for _, step := range []string{"required", "copied", "installed", "typed"} {
				if c.want == "" && !strings.Contains(out.String(), "\n"+step+" ") {
					t.Errorf("nothing was %s:\n%s", step, out.String())
				}
			}
			if status := must(t, repo, "status", "--porcelain", "--ignored"); status != "" {
				t.Errorf("something is left in the tree: %s", status)
			}
		})
	}
}

func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "README.md", fmt.Sprintf("```\n$ go get -u %[1]s/memory@latest example.org/other # the newest\n    go get %[1]s\n```\n"+
		"Type `go install %[1]s/cmd/agentmemory@v0.1.0`, or go get %[1]s/not/a/command of ours, or\n"+
		"go install example.org/other@latest\n> go get %[1]s\n", rootPath))
	lines, _ := instructions(dir, small)
	want := fmt.Sprintf("[[go get -u %[1]s/memory@latest] [go get %[1]s] [go install %[1]s/cmd/agentmemory@v0.1.0]]", rootPath)
	if got := fmt.Sprint(lines); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
