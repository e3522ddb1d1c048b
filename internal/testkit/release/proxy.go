package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// source is a file of a module on the disk, under the name that it has in the module.
type source struct{ name, disk string }

func (s source) Path() string                 { return s.name }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(s.disk) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(s.disk) }

// pack writes the zip of a module of the tree below root, with the files that the go command
// takes from a repository: all of its directory without nested modules, and the license of
// the root if it has none of its own.
func pack(w io.Writer, root string, m module, version string) error {
	var files []zip.File
	dir := filepath.Join(root, m.dir)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		files = append(files, source{filepath.ToSlash(relative), name})
		return err
	})
	if err != nil {
		return err
	}
	license := filepath.Join(root, "LICENSE")
	if _, err := os.Stat(filepath.Join(dir, "LICENSE")); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(license); err == nil {
			files = append(files, source{"LICENSE", license})
		}
	}
	return zip.Create(w, gomodule.Version{Path: m.path(), Version: version}, files)
}

// sum is the two lines of go.sum for a module of the tree below root.
func sum(root string, m module, version string) (_ string, err error) {
	packed, err := os.CreateTemp("", "module*.zip")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	if err := pack(packed, root, m, version); err != nil {
		return "", err
	}
	content, err := dirhash.HashZip(packed.Name(), dirhash.Hash1)
	if err != nil {
		return "", err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(root, m.dir, "go.mod"))
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", m.path(), version, content, mod), nil
}

// serve writes the tagged modules of the tree below root into a folder that the go command
// takes as a proxy. Their only version is the newest.
func serve(folder, root string, modules []module, version string, at time.Time) error {
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, at})
	if err != nil {
		return err
	}
	list := version + "\n"
	if gomodule.IsPseudoVersion(version) { // such a version is found as the latest one, not in the list
		list = ""
	}
	for _, m := range modules {
		if !m.tagged {
			continue
		}
		mod, err := os.ReadFile(filepath.Join(root, m.dir, "go.mod"))
		if err != nil {
			return err
		}
		base := filepath.Join(folder, filepath.FromSlash(m.path()))
		for name, data := range map[string][]byte{
			"@latest":                 info,
			"@v/list":                 []byte(list),
			"@v/" + version + ".info": info,
			"@v/" + version + ".mod":  mod,
		} {
			if err := write(filepath.Join(base, filepath.FromSlash(name)), data); err != nil {
				return err
			}
		}
		packed, err := os.Create(filepath.Join(base, "@v", version+".zip"))
		if err != nil {
			return err
		}
		if err := errors.Join(pack(packed, root, m, version), packed.Close()); err != nil {
			return err
		}
	}
	return nil
}

// write makes a file and the directories that it needs.
func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
