package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
)

// listName is the file with the changes of the API since the last tag that somebody has
// looked at and wants, and listHead is the file without any.
const (
	listName = "internal/testkit/release/api-changes.txt"
	listHead = `# Incompatible changes of public packages since the last tag that are intended, one a line, as
# "go run -C internal/testkit/release . api" prints them. A change that is not listed fails there, and
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
		problems = slices.Insert(problems, 0, fmt.Errorf("incompatible changes that %s does not list", listName))
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

// goPackage is what the go command says of a package.
type goPackage struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	DepOnly                       bool
}

func list(dir string, args ...string) ([]goPackage, error) {
	out, err := command(dir, nil, "go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly"}, args...)...)
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// publicPackages reads the types of the packages of the module in dir that others can import.
// Those of this tree are read from their sources without the bodies of functions, which is
// fast; the others from what the go command has compiled for the tests anyway.
func publicPackages(dir string) ([]*types.Package, error) {
	needed, err := list(dir, "-deps", "./...")
	if err != nil {
		return nil, err
	}
	export := []string{"-export"}
	for _, p := range needed {
		if !inTree(p.ImportPath) && p.ImportPath != "unsafe" {
			export = append(export, p.ImportPath)
		}
	}
	compiled := map[string]string{}
	if len(export) > 1 {
		others, err := list(dir, export...)
		if err != nil {
			return nil, err
		}
		for _, p := range others {
			compiled[p.ImportPath] = p.Export
		}
	}
	files := token.NewFileSet()
	read := reader{
		sources: map[string]*types.Package{},
		compiled: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(compiled[path])
		}),
	}
	var public []*types.Package
	for _, p := range needed { // each behind what it imports
		if !inTree(p.ImportPath) {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, file)
		}
		config := types.Config{Importer: read, IgnoreFuncBodies: true}
		checked, err := config.Check(p.ImportPath, files, parsed, nil)
		if err != nil {
			return nil, err
		}
		read.sources[p.ImportPath] = checked
		if !p.DepOnly && p.Name != "main" && !strings.Contains("/"+p.ImportPath+"/", "/internal/") {
			public = append(public, checked)
		}
	}
	return public, nil
}

// reader imports packages that were read from their sources, or compiled.
type reader struct {
	sources  map[string]*types.Package
	compiled types.Importer
}

func (r reader) Import(path string) (*types.Package, error) {
	if p, ok := r.sources[path]; ok {
		return p, nil
	}
	return r.compiled.Import(path)
}
