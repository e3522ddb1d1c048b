package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// prepare writes the go.mod and go.sum files of a release into the working tree.
func prepare(repo string, modules []module, version string, out io.Writer) error {
	last, err := lastTag(repo)
	if err != nil {
		return err
	}
	if err := errors.Join(checkVersion(version, last), clean(repo)); err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(repo, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(changes), "\n## ["+strings.TrimPrefix(version, "v")+"]") {
		return fmt.Errorf("CHANGELOG.md has no section for %s", version)
	}
	// The sums are those of the files that are committed, in a copy of them.
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	tree, err := export(repo, "HEAD", temp)
	if err != nil {
		return err
	}
	if _, err := setVersions(tree, modules, version, func(m module) bool { return m.tagged }); err != nil {
		return err
	}
	for _, m := range modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			data, err := os.ReadFile(filepath.Join(tree, m.dir, name))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(repo, m.dir, name), data, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "The modules require each other at %[1]s. Commit this as it is, then run check and tag:\n\n\tgit commit -am %[1]s\n", version)
	return nil
}

// tag shows the tags that HEAD gets, which has to be a release; if it is told to, it checks
// the release and makes them. It never pushes.
func tag(repo string, modules []module, yes bool, out io.Writer) error {
	if err := clean(repo); err != nil {
		return err
	}
	version, err := released(repo, modules)
	if err != nil {
		return err
	}
	if version == "" {
		return errors.New("HEAD is no release: prepare one and commit it")
	}
	last, err := lastTag(repo)
	if err != nil {
		return err
	}
	if err := checkVersion(version, last); err != nil {
		return err
	}
	if yes {
		if err := errors.Join(api(repo, modules, out), check(repo, modules, out)); err != nil {
			return err
		}
	}
	var names []string
	for _, m := range modules {
		if !m.tagged {
			continue
		}
		name := m.tag(version)
		names = append(names, name)
		args := []string{"tag", "--annotate", "--message", name, name}
		fmt.Fprintln(out, "git", strings.Join(args, " "))
		if !yes {
			continue
		}
		if _, err := git(repo, args...); err != nil {
			return err
		}
	}
	if !yes {
		fmt.Fprintln(out, "\nNothing was made: run it with -yes, which checks the commit first.")
		return nil
	}
	fmt.Fprintf(out, "\nMake the tree one to work in again with reopen, and commit that. Then publish both commits and the tags:\n\n"+
		"\tgit push --atomic origin HEAD %s\n", strings.Join(names, " "))
	return nil
}

// reopen puts the replace directives back into the working tree after a release, and begins
// an empty list of changes of the API.
func reopen(repo string, modules []module, out io.Writer) error {
	if err := clean(repo); err != nil {
		return err
	}
	if err := setReplacements(repo, modules); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(repo, filepath.FromSlash(listName)), []byte(listHead), 0o644); err != nil {
		return err
	}
	fmt.Fprint(out, "The modules replace each other again. Commit that:\n\n\tgit commit -am \"Work in the tree again\"\n")
	return nil
}
