package memorytool

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/openwop/agentmemory/memory"
)

// Root is the directory of all files.
const Root = "/memories"

// MaxPath is the length in bytes of the longest path.
const MaxPath = 200

const (
	fileTag = "memory-file"         // of every entry of this package
	pathTag = "file:"               // and the path
	goneTag = "memory-file-deleted" // of the mark by which a run ends a file
)

// Config says where the files are.
type Config struct {
	Memory Memory
	// Ref is the memoryRef that holds them. Other entries of the ref are no files and are left
	// alone.
	Ref string
	// Subjects, if set, labels a new file, so that memory.Bank.Forget finds it. An edited or
	// renamed file keeps the labels that it has.
	Subjects func(path string) []string
}

// Files answers the tool's commands. Use [New].
type Files struct {
	cfg  Config
	turn chan struct{} // holds the edit that is under way
}

// New returns the files of a memory.
func New(cfg Config) *Files { return &Files{cfg, make(chan struct{}, 1)} }

// normal returns a path below Root without a slash at its end. What would leave Root, or is no
// path of the tool, is not valid.
func normal(p string) (string, bool) {
	trimmed := strings.TrimSuffix(p, "/")
	inside := trimmed == Root || strings.HasPrefix(trimmed, Root+"/")
	bad := func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || r == '\\' || r == unicode.ReplacementChar
	}
	return trimmed, inside && path.Clean(trimmed) == trimmed && len(trimmed) <= MaxPath && !strings.ContainsFunc(trimmed, bad) &&
		!strings.Contains(strings.ToLower(trimmed), "%2e")
}

// file is a file with the ids of its live versions, newest first: one, unless another writer than this
// package has made more.
type file struct {
	memory.Entry
	versions []string
}

// add takes in another version of the file, which is older than those before.
func (f *file) add(e memory.Entry) {
	if len(f.versions) == 0 {
		f.Entry = e
	}
	f.versions = append(f.versions, e.ID)
}

// read returns the file at a path. found is false if there is no such file.
func (f *Files) read(ctx context.Context, p string) (is file, found bool, err error) {
	for e, err := range f.entries(ctx, pathTag+p) {
		if err != nil {
			return file{}, false, err
		}
		if at, ok := pathOf(&e); ok && at == p {
			is.add(e)
		}
	}
	return is, len(is.versions) > 0, nil
}

// all returns all files by path.
func (f *Files) all(ctx context.Context) (map[string]*file, error) {
	files := map[string]*file{}
	for e, err := range f.entries(ctx, fileTag) {
		if err != nil {
			return nil, err
		}
		if p, ok := pathOf(&e); ok {
			if files[p] == nil {
				files[p] = new(file)
			}
			files[p].add(e)
		}
	}
	return files, nil
}

// entries yields the entries with a tag, newest first.
func (f *Files) entries(ctx context.Context, tag string) func(yield func(memory.Entry, error) bool) {
	return func(yield func(memory.Entry, error) bool) {
		o := memory.ListOptions{Tag: tag, Limit: memory.MaxListLimit}
		for {
			page, err := f.cfg.Memory.List(ctx, f.cfg.Ref, o)
			if err != nil {
				yield(memory.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < o.Limit {
				return
			}
			o.After = page[len(page)-1].Cursor()
		}
	}
}

// pathOf returns the path of a file's entry. An entry of another writer that is tagged with a path is none.
func pathOf(e *memory.Entry) (string, bool) {
	for _, tag := range e.Tags {
		if p, ok := strings.CutPrefix(tag, pathTag); ok {
			clean, valid := normal(p)
			return p, valid && clean == p && p != Root && slices.Contains(e.Tags, fileTag)
		}
	}
	return "", false
}
