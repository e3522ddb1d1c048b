package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const tree = "../../.."

// Every go.mod of the tree is in the table, each behind those that it requires, and a tagged
// module requires only tagged ones.
func TestTable(t *testing.T) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(tree), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			found[path.Dir(name)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]bool{}
	for _, m := range table {
		if !found[m.dir] {
			t.Errorf("%s is in the table and not in the tree", m.dir)
			continue
		}
		delete(found, m.dir)
		file, err := readMod(tree, m)
		if err != nil {
			t.Fatal(err)
		}
		if file.Module.Mod.Path != m.path() {
			t.Errorf("%s is module %s", m.dir, file.Module.Mod.Path)
		}
		for _, r := range file.Require {
			if !inTree(r.Mod.Path) {
				continue
			}
			required, ok := find(table, r.Mod.Path)
			switch {
			case !ok:
				t.Errorf("%s requires %s, which is not in the table", m.dir, r.Mod.Path)
			case !before[required.dir]:
				t.Errorf("%s stands before %s, which it requires", m.dir, required.dir)
			case !required.tagged:
				t.Errorf("%s requires %s, which nobody else can get", m.dir, required.dir)
			}
		}
		for _, program := range m.programs {
			sources, err := filepath.Glob(filepath.Join(tree, m.dir, program, "*.go"))
			if err != nil || len(sources) == 0 || !m.tagged {
				t.Errorf("%s has no program %s to install", m.dir, program)
			}
		}
		before[m.dir] = true
	}
	for dir := range found {
		t.Errorf("%s is not in the table", dir)
	}
}

// Dependabot looks at every module of the table and at nothing else.
func TestTable_Dependabot(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(tree, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +- "?/([^"\n]*)"?$`).FindAllStringSubmatch(string(data), -1) {
		listed[path.Clean(match[1])] = true
	}
	var want []string
	for _, m := range table {
		want = append(want, m.dir)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, want) {
		t.Errorf("dependabot.yml lists %v, and the table %v", got, want)
	}
}

// Between releases the go.mod files of the tree have the replace directives that reopen writes.
func TestReplacements_OfTheTree(t *testing.T) {
	copied := t.TempDir()
	for _, m := range table {
		data, err := os.ReadFile(filepath.Join(tree, m.dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, copied, path.Join(m.dir, "go.mod"), string(data))
	}
	if err := setReplacements(copied, table); err != nil {
		t.Fatal(err)
	}
	for _, m := range table {
		want, err := os.ReadFile(filepath.Join(copied, m.dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(tree, m.dir, "go.mod")); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, want\n%s", m.dir, err, want)
		}
	}
}
