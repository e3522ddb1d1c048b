package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
)

// listName is the file with the changes of the API since the last tag that somebody has
// looked at and wants, and listHead is the file without any.
const (
	listName = "internal/release/api-changes.txt"
	listHead = `# Incompatible changes of public packages since the last tag that are intended, one a line, as
# "go run -C internal/release . api" prints them. A change that is not listed fails there, and
# so does a line that is no change any more. Compatible changes need no line.
`
)

// api compares the public packages of the tagged modules of HEAD with those of the last tag.
// An incompatible change that is not listed, or a listed one that is none, is an error.
func api(repo string, modules []module, out io.Writer) error {
	last, err := lastTag(repo)
	if err != nil {
		return err
	}
	listed, err := intended(filepath.Join(repo, filepath.FromSlash(listName)))
	if err != nil {
		return err
	}
	if last == "" {
		fmt.Fprintln(out, "nothing to compare with: no tag yet")
		return stale(listed)
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	before, err := surfaces(repo, last, temp, modules)
	if err != nil {
		return err
	}
	after, err := surfaces(repo, "HEAD", temp, modules)
	if err != nil {
		return err
	}
	var problems []error
	compatible, wanted := 0, 0
	for _, m := range modules {
		old, ok := before[m.dir]
		if !m.tagged || !ok {
			continue
		}
		for _, change := range apidiff.ModuleChanges(old, after[m.dir]).Changes {
			line := m.dir + ": " + change.Message
			switch at := slices.Index(listed, line); {
			case change.Compatible:
				compatible++
			case at >= 0:
				wanted++
				listed = slices.Delete(listed, at, at+1)
			default:
				problems = append(problems, errors.New(line))
			}
		}
	}
	fmt.Fprintf(out, "since %s: %d compatible changes, %d incompatible ones that are intended, %d that are not\n", last, compatible, wanted, len(problems))
	if len(problems) > 0 {
		problems = slices.Insert(problems, 0, fmt.Errorf("incompatible changes that %s does not list:", listName))
	}
	return errors.Join(append(problems, stale(listed))...)
}

// intended reads the list: its lines without the comments.
func intended(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func stale(listed []string) error {
	if len(listed) == 0 {
		return nil
	}
	return fmt.Errorf("%s lists what is no incompatible change since the last tag:\n%s", listName, strings.Join(listed, "\n"))
}

// surfaces are the public packages of the tagged modules of a commit, by directory of the
// module. A module that the commit does not have is left out.
func surfaces(repo, commit, temp string, modules []module) (map[string]*apidiff.Module, error) {
	tree, err := export(repo, commit, temp)
	if err != nil {
		return nil, err
	}
	present := slices.DeleteFunc(slices.Clone(modules), func(m module) bool {
		_, err := os.Stat(filepath.Join(tree, m.dir, "go.mod"))
		return err != nil
	})
	// The modules of a commit belong together, whether it is a release or not.
	if err := setReplacements(tree, present); err != nil {
		return nil, err
	}
	found := map[string]*apidiff.Module{}
	for _, m := range present {
		if !m.tagged {
			continue
		}
		packages, err := publicPackages(filepath.Join(tree, m.dir))
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", m.dir, commit, err)
		}
		found[m.dir] = &apidiff.Module{Path: m.path(), Packages: packages}
	}
	return found, nil
}

// publicPackages compiles the module in dir and reads the types of the packages that others
// can import.
func publicPackages(dir string) ([]*types.Package, error) {
	const fields = "-json=ImportPath,Name,Export,DepOnly"
	listed, err := command(dir, nil, "go", "list", "-trimpath", "-export", "-deps", fields, "./...")
	if err != nil {
		return nil, err
	}
	compiled, public := map[string]string{}, map[string]bool{}
	for decoder := json.NewDecoder(strings.NewReader(listed)); ; {
		var p struct {
			ImportPath, Name, Export string
			DepOnly                  bool
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		compiled[p.ImportPath] = p.Export
		if !p.DepOnly && p.Name != "main" && !strings.Contains("/"+p.ImportPath+"/", "/internal/") {
			public[p.ImportPath] = true
		}
	}
	reader := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
	var packages []*types.Package
	for _, path := range slices.Sorted(maps.Keys(public)) {
		p, err := reader.Import(path)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}
