package main

import (
	"bytes"
	"strings"
	"testing"
)

// A change of the API since the last tag passes if it breaks nobody or is listed.
func TestAPI(t *testing.T) {
	const (
		get     = "package memory\n\n// Get is public.\nfunc Get(id string) string { return id }\n"
		reader  = "\n// Reader is public.\ntype Reader interface{ Read() string }\n"
		listed  = ".: ./memory.Reader.Close: added\n"
		closing = get + "\n// Reader is public.\ntype Reader interface{ Read() string; Close() }\n"
	)
	for name, c := range map[string]struct {
		file, content, list string
		want, wantOut       string // parts of the error, empty for none, and of the output
	}{
		"nothing":                      {"memory/doc.go", "package memory\n", "", "", "0 compatible changes, 0 incompatible"},
		"an addition":                  {"memory/new.go", "package memory\n\n// New is.\nfunc New() {}\n", "", "", "1 compatible changes, 0 incompatible"},
		"a method of an interface":     {"memory/memory.go", closing, "", listed[:len(listed)-1], "1 that are not"},
		"the same, intended":           {"memory/memory.go", closing, "# Wanted.\n" + listed, "", "1 incompatible ones that are intended, 0"},
		"a line that is no change":     {"memory/doc.go", "package memory\n", listed, "no incompatible change", ""},
		"a function that is gone":      {"memory/memory.go", strings.Replace(get, "Get", "Got", 2) + reader, "", "./memory.Get: removed", ""},
		"a package that is gone":       {"memory/memory.go", "package main\n\nfunc main() {}\n", "", "memory: removed", ""},
		"in an internal package":       {"internal/hidden/hidden.go", "package hidden\n", "", "", "0 compatible changes, 0 incompatible"},
		"in a nested module":           {"memory/sqlite/sqlite.go", "package sqlite\n", "", "memory/sqlite: Open: removed", ""},
		"in a program":                 {"cmd/agentmemory/main.go", "package main\n\nfunc main() {}\n", "", "", "0 compatible changes, 0 incompatible"},
		"in a module that has no tags": {"examples/sqlite/main.go", "package main\n\nfunc main() {}\n", "", "", "0 compatible changes, 0 incompatible"},
	} {
		t.Run(name, func(t *testing.T) {
			files := smallFiles()
			if strings.Contains(name, "package that is gone") || strings.Contains(name, "function that is gone") { // nothing may need it
				files["memory/sqlite/sqlite.go"] = "package sqlite\n\n// Open is public.\nfunc Open() {}\n"
			}
			repo := project(t, files)
			if err := api(repo, small, new(bytes.Buffer)); err != nil {
				t.Fatalf("without a tag: %v", err)
			}
			for _, m := range small[:3] {
				must(t, repo, "tag", m.tag("v0.1.0"))
			}
			put(t, repo, c.file, c.content)
			put(t, repo, listName, listHead+c.list)
			if c.file == "memory/sqlite/sqlite.go" { // they would not compile
				put(t, repo, "cmd/agentmemory/main.go", "package main\n\nimport _ \""+rootPath+"/memory/sqlite\"\n\nfunc main() {}\n")
			}
			commit(t, repo)
			var out bytes.Buffer
			err := api(repo, small, &out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if !strings.Contains(out.String(), c.wantOut) {
				t.Errorf("want %q, got %q", c.wantOut, out.String())
			}
		})
	}
}

func TestAPI_WithoutATag(t *testing.T) {
	repo := project(t, smallFiles())
	var out bytes.Buffer
	if err := api(repo, small, &out); err != nil || out.String() != "nothing to compare with: no tag yet\n" {
		t.Errorf("got %v and %q", err, out.String())
	}
	put(t, repo, listName, listHead+".: ./memory.Get: removed\n")
	if err := api(repo, small, &out); err == nil {
		t.Error("a line that is no change passed")
	}
}
