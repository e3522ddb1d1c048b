package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// sums are the lines of go.sum for a module of this tree, by module path.
type sums map[string]string

// readMod parses the go.mod of a module of the tree below root.
func readMod(root string, m module) (*modfile.File, error) {
	name := filepath.Join(root, m.dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, data, nil)
}

func writeMod(root string, m module, file *modfile.File) error {
	file.Cleanup()
	data, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, m.dir, "go.mod"), data, 0o644)
}

// ours are the modules of the table that a go.mod requires.
func ours(file *modfile.File, modules []module) []module {
	var required []module
	for _, r := range file.Require {
		if m, ok := find(modules, r.Mod.Path); ok {
			required = append(required, m)
		}
	}
	return required
}

// setVersions lets every module of the tree below root require the others at a version. Those
// for which drop says so lose the replace directives for modules of the table. It goes by the
// order of the table, so that the go.sum of a module can hold the sums of what it requires.
func setVersions(root string, modules []module, version string, drop func(module) bool) (sums, error) {
	known := sums{}
	for _, m := range modules {
		file, err := readMod(root, m)
		if err != nil {
			return nil, err
		}
		var lines []string
		for _, required := range ours(file, modules) {
			if err := file.AddRequire(required.path(), version); err != nil {
				return nil, err
			}
			line, ok := known[required.path()]
			if !ok {
				return nil, fmt.Errorf("%s requires %s, which has no tags or stands behind it in the table", m.dir, required.dir)
			}
			lines = append(lines, line)
		}
		if drop(m) {
			for _, other := range modules { // also those that m only replaces
				if err := file.DropReplace(other.path(), ""); err != nil {
					return nil, err
				}
			}
		}
		if err := writeMod(root, m, file); err != nil {
			return nil, err
		}
		if !drop(m) {
			lines = nil
		}
		if err := writeSums(root, m, lines); err != nil {
			return nil, err
		}
		if m.tagged {
			if known[m.path()], err = sum(root, m, version); err != nil {
				return nil, err
			}
		}
	}
	return known, nil
}

// setReplacements lets every module of the tree below root replace what it requires of the
// table by its directory, and what that requires in its turn: go mod tidy looks for the tests
// of what a module imports. It goes by the order of the table.
func setReplacements(root string, modules []module) error {
	needed := map[string][]module{} // by directory
	for _, m := range modules {
		file, err := readMod(root, m)
		if err != nil {
			return err
		}
		for _, required := range ours(file, modules) {
			for _, n := range append([]module{required}, needed[required.dir]...) {
				if !slices.ContainsFunc(needed[m.dir], func(o module) bool { return o.dir == n.dir }) {
					needed[m.dir] = append(needed[m.dir], n)
				}
			}
		}
		for _, required := range needed[m.dir] {
			dir, err := filepath.Rel(filepath.FromSlash(m.dir), filepath.FromSlash(required.dir))
			if err != nil {
				return err
			}
			if err := file.AddReplace(required.path(), "", filepath.ToSlash(dir), ""); err != nil {
				return err
			}
		}
		if err := writeMod(root, m, file); err != nil {
			return err
		}
		if err := writeSums(root, m, nil); err != nil {
			return err
		}
	}
	return nil
}

// writeSums replaces the lines for modules of this tree in the go.sum of one of them.
func writeSums(root string, m module, lines []string) error {
	name := filepath.Join(root, m.dir, "go.sum")
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, rootPath+" ") && !strings.HasPrefix(line, rootPath+"/") {
			kept.WriteString(line)
		}
	}
	for _, line := range lines {
		kept.WriteString(line)
	}
	if kept.Len() == 0 && os.IsNotExist(err) {
		return nil
	}
	return os.WriteFile(name, []byte(kept.String()), 0o644)
}

// released says at which version the tagged modules of the tree below root require each other
// without a replace directive; it is empty if the tree is not a release.
func released(root string, modules []module) (string, error) {
	version := ""
	for _, m := range modules {
		if !m.tagged {
			continue
		}
		file, err := readMod(root, m)
		if err != nil || len(file.Replace) > 0 {
			return "", err
		}
		for _, r := range file.Require {
			if _, ok := find(modules, r.Mod.Path); !ok {
				continue
			}
			if version != "" && version != r.Mod.Version {
				return "", fmt.Errorf("%s requires %s at %s, and others require %s", m.dir, r.Mod.Path, r.Mod.Version, version)
			}
			version = r.Mod.Version
		}
	}
	return version, nil
}

// checkVersion says why a version cannot be that of the next release.
func checkVersion(version, last string) error {
	major := semver.Major(version)
	switch {
	case semver.Canonical(version) != version || semver.Build(version) != "":
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	case major != "v0" && major != "v1":
		return fmt.Errorf("%s needs module paths that end in /%s", version, major)
	case last != "" && semver.Compare(version, last) <= 0:
		return fmt.Errorf("%s is not higher than the last tag, %s", version, last)
	}
	return nil
}

// newest is the highest of the words that are versions; empty if none is.
func newest(words []string) string {
	best := ""
	for _, w := range words {
		if semver.IsValid(w) && semver.Compare(w, best) > 0 {
			best = w
		}
	}
	return best
}
