package memorytool

import (
	"context"
	"errors"
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
	goneTag = "memory-file-deleted" // of the mark that a delete leaves
)

// Memory is what the files are kept in. A *memory.Run is one, whose view holds for the run;
// [Live] makes one of live memory.
type Memory interface {
	List(ctx context.Context, ref string, o memory.ListOptions) ([]memory.Entry, error)
	Put(ctx context.Context, ref string, d memory.Draft) (memory.Entry, error)
	Delete(ctx context.Context, ref, id string) (bool, error)
}

// InRun is the memory of a run: its view and its own writes.
func InRun(run *memory.Run) Memory { return runMemory{run.Memory(), run} }

type runMemory struct {
	memory.Reader
	run *memory.Run
}

func (m runMemory) Put(ctx context.Context, ref string, d memory.Draft) (memory.Entry, error) {
	return m.run.Put(ctx, ref, d)
}

func (m runMemory) Delete(ctx context.Context, ref, id string) (bool, error) {
	return m.run.Delete(ctx, ref, id)
}

// Live is a tenant's memory as it is at each call.
func Live(bank *memory.Bank, job *memory.Job) Memory {
	return liveMemory{bank.Reader(job.Tenant()), job}
}

type liveMemory struct {
	memory.Reader
	job *memory.Job
}

func (m liveMemory) Put(ctx context.Context, ref string, d memory.Draft) (memory.Entry, error) {
	return m.job.Put(ctx, ref, d)
}

func (m liveMemory) Delete(ctx context.Context, ref, id string) (bool, error) {
	return m.job.Delete(ctx, ref, id)
}

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
type Files struct{ cfg Config }

// New returns the files of a memory.
func New(cfg Config) *Files { return &Files{cfg} }

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

// read returns the newest entry of a path. ok is false if there is no such file.
func (f *Files) read(ctx context.Context, p string) (e memory.Entry, ok bool, err error) {
	for e, err := range f.versions(ctx, p) {
		return e, err == nil && !slices.Contains(e.Tags, goneTag), err
	}
	return memory.Entry{}, false, nil
}

// versions yields the entries of a path, newest first.
func (f *Files) versions(ctx context.Context, p string) func(yield func(memory.Entry, error) bool) {
	return func(yield func(memory.Entry, error) bool) {
		for e, err := range f.entries(ctx, pathTag+p) {
			if at, ok := pathOf(&e); (err != nil || ok && at == p) && !yield(e, err) {
				return
			}
		}
	}
}

// all returns the newest entries of all files, by path.
func (f *Files) all(ctx context.Context) (map[string]memory.Entry, error) {
	newest := map[string]memory.Entry{}
	for e, err := range f.entries(ctx, fileTag) {
		if err != nil {
			return nil, err
		}
		if p, ok := pathOf(&e); ok {
			if _, later := newest[p]; !later {
				newest[p] = e
			}
		}
	}
	for p, e := range newest {
		if slices.Contains(e.Tags, goneTag) {
			delete(newest, p)
		}
	}
	return newest, nil
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

var errSecretPath = errors.New("memorytool: the path holds a secret")

// write makes text the file at a path and deletes what was there.
func (f *Files) write(ctx context.Context, p, text string, subjects []string) error {
	before, err := f.ids(ctx, p)
	if err != nil {
		return err
	}
	e, err := f.cfg.Memory.Put(ctx, f.cfg.Ref, memory.Draft{Content: text, Tags: []string{fileTag, pathTag + p}, Subjects: subjects})
	if err != nil {
		return err
	}
	if !slices.Contains(e.Tags, pathTag+p) { // the redactor has changed it
		before, err = []string{e.ID}, errSecretPath
	}
	if failed := f.drop(ctx, before); failed != nil {
		return failed
	}
	return err
}

// remove makes a path one that has no file. It needs no room but where a view goes on showing
// what was deleted.
func (f *Files) remove(ctx context.Context, p string, subjects []string) error {
	ids, err := f.ids(ctx, p)
	if err == nil {
		err = f.drop(ctx, ids)
	}
	if err == nil {
		ids, err = f.ids(ctx, p)
	}
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = f.cfg.Memory.Put(ctx, f.cfg.Ref, memory.Draft{Tags: []string{fileTag, pathTag + p, goneTag}, Subjects: subjects})
	return err
}

// ids are those of the entries of a path.
func (f *Files) ids(ctx context.Context, p string) (ids []string, err error) {
	for e, err := range f.versions(ctx, p) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, e.ID)
	}
	return ids, nil
}

func (f *Files) drop(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, err := f.cfg.Memory.Delete(ctx, f.cfg.Ref, id); err != nil {
			return err
		}
	}
	return nil
}
