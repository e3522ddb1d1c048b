package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	gomodule "golang.org/x/mod/module"
)

// stranger is a place outside the tree with nothing but the go command and a proxy that serves
// the tagged modules of a commit.
type stranger struct {
	temp    string
	tree    string // the commit, with requirements and without replace directives
	modules []module
	version string
	cache   string   // the module cache of the machine
	fetch   []string // the environment in which modules of others are fetched
	offline []string // the environment in which nothing but ours can be fetched
	out     io.Writer
}

// check proves that the tagged modules of HEAD can be required, and its programs installed,
// by someone who has nothing of the tree, and that the other modules can be copied out of it.
func check(repo string, modules []module, out io.Writer) (err error) {
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	s, err := newStranger(repo, modules, temp, out)
	if err != nil {
		return err
	}
	if err := s.forget(); err != nil { // what a check that was killed has left
		return err
	}
	defer func() { err = errors.Join(err, s.forget()) }()
	fmt.Fprintf(out, "%d modules as %s\n", len(modules), s.version)
	for _, m := range modules {
		if !m.tagged {
			err = errors.Join(err, s.timed("copied", m.dir, func() error { return s.copy(m) }))
			continue
		}
		err = errors.Join(err, s.timed("required", m.dir, func() error { return s.require(m) }))
		for _, program := range m.programs {
			argument := path.Join(m.path(), program) + "@" + s.version
			err = errors.Join(err, s.timed("installed", argument, func() error { return s.run([]string{"go", "install", argument}) }))
		}
	}
	lines, badLine := instructions(s.tree, modules)
	err = errors.Join(err, badLine)
	for _, line := range lines {
		err = errors.Join(err, s.timed("typed", strings.Join(line, " "), func() error { return s.run(line) }))
	}
	return err
}

func newStranger(repo string, modules []module, temp string, out io.Writer) (*stranger, error) {
	tree, err := export(repo, "HEAD", temp)
	if err != nil {
		return nil, err
	}
	version, at, err := versionOfHead(repo, tree, modules)
	if err != nil {
		return nil, err
	}
	committed, err := requirements(tree, modules)
	if err != nil {
		return nil, err
	}
	if _, err := setVersions(tree, modules, version, func(module) bool { return true }); err != nil {
		return nil, err
	}
	if !gomodule.IsPseudoVersion(version) { // a release has to hold what was just computed
		if now, err := requirements(tree, modules); err != nil || now != committed {
			return nil, errors.Join(err, errors.New("the go.mod and go.sum files of this release are not those of its files: prepare it again"))
		}
	}
	folder := filepath.Join(temp, "proxy")
	if err := serve(folder, tree, modules, version, at); err != nil {
		return nil, err
	}
	cache, err := command(repo, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	proxies, err := command(repo, nil, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	ours := "GOPROXY=" + fileURL(folder)
	// Whatever GOPRIVATE says, ours come from the folder.
	own := []string{"GONOPROXY=none", "GOBIN=" + filepath.Join(temp, "bin")}
	return &stranger{
		temp: temp, tree: tree, modules: modules, version: version, cache: cache, out: out,
		fetch:   append([]string{ours + "," + proxies, "GONOSUMDB=" + rootPath}, own...),
		offline: append([]string{ours, "GOSUMDB=off"}, own...), // the rest is in the cache, and was verified
	}, nil
}

// forget removes the version of the stranger from the module cache of the machine, so that a
// tag of that name is fetched when there is one.
func (s *stranger) forget() error {
	for _, m := range s.modules {
		if !m.tagged {
			continue
		}
		unpacked := filepath.Join(s.cache, filepath.FromSlash(m.path())+"@"+s.version)
		err := filepath.WalkDir(unpacked, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() { // the go command has made it one to read
				err = os.Chmod(name, 0o755)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(unpacked); err != nil {
			return err
		}
		packed, err := filepath.Glob(filepath.Join(s.cache, "cache", "download", filepath.FromSlash(m.path()), "@v", s.version+".*"))
		if err != nil {
			return err
		}
		for _, name := range packed {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// versionOfHead is the version of a release, or a pseudo-version of the commit, and its time.
func versionOfHead(repo, tree string, modules []module) (string, time.Time, error) {
	commit, err := git(repo, "show", "--no-patch", "--format=%H %cI", "HEAD")
	if err != nil {
		return "", time.Time{}, err
	}
	hash, date, _ := strings.Cut(commit, " ")
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return "", time.Time{}, err
	}
	version, err := released(tree, modules)
	if version == "" {
		version = gomodule.PseudoVersion("v0", "", at.UTC(), hash[:12])
	}
	return version, at.UTC(), err
}

// requirements are the go.mod and go.sum files of the tagged modules, for comparison.
func requirements(tree string, modules []module) (string, error) {
	var all bytes.Buffer
	for _, m := range modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			data, err := os.ReadFile(filepath.Join(tree, m.dir, name))
			if err != nil && !os.IsNotExist(err) {
				return "", err
			}
			if m.tagged {
				all.Write(data)
			}
		}
	}
	return all.String(), nil
}

func fileURL(dir string) string {
	slashed := filepath.ToSlash(dir)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return "file://" + slashed
}

// timed runs one step and says how it went and how long it took.
func (s *stranger) timed(verb, what string, step func() error) error {
	begin := time.Now()
	err := step()
	if err != nil {
		verb = "NOT " + verb
		err = fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(s.out, "%-13s %5.1f s  %s\n", verb, time.Since(begin).Seconds(), what)
	return err
}

// require builds all packages of a tagged module from a module that requires it.
func (s *stranger) require(m module) error {
	dir, err := s.empty()
	if err != nil {
		return err
	}
	lines, err := os.ReadFile(filepath.Join(s.tree, m.dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), lines, 0o644); err != nil {
		return err
	}
	if _, err := command(dir, s.fetch, "go", "mod", "edit", "-require="+m.path()+"@"+s.version); err != nil {
		return err
	}
	_, err = command(dir, s.fetch, "go", "build", "-mod=mod", "-o", os.DevNull, m.path()+"/...")
	return err
}

// copy builds a module without a tag outside the tree, as the tree's prepared copy has it.
func (s *stranger) copy(m module) error {
	dir, err := os.MkdirTemp(s.temp, "copy")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(s.tree, m.dir))); err != nil {
		return err
	}
	if m.example() {
		if _, err := command(dir, s.fetch, "go", "mod", "edit", "-module=example.org/copy/"+path.Base(m.dir)); err != nil {
			return err
		}
	}
	_, err = command(dir, s.fetch, "go", "build", "-o", os.DevNull, "./...")
	return err
}

// run runs a go get or go install command in an empty module, after require has fetched what
// it needs. What go get has fetched is built.
func (s *stranger) run(line []string) error {
	dir, err := s.empty()
	if err != nil {
		return err
	}
	if _, err := command(dir, s.offline, line[0], line[1:]...); err != nil || line[1] != "get" {
		return err
	}
	build := []string{"build", "-o", os.DevNull}
	for _, argument := range line[2:] {
		if name, _, _ := strings.Cut(argument, "@"); !strings.HasPrefix(name, "-") {
			build = append(build, name)
		}
	}
	_, err = command(dir, s.offline, "go", build...)
	return err
}

// empty makes a module without requirements.
func (s *stranger) empty() (string, error) {
	dir, err := os.MkdirTemp(s.temp, "empty")
	if err != nil {
		return "", err
	}
	_, err = command(dir, s.offline, "go", "mod", "init", "example.org/stranger")
	return dir, err
}
