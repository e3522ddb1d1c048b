package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Config has the limits of every tenant's files. Zero is the default.
type Config struct {
	// MaxFileBytes bounds the content of a file, redacted; 1 MiB by default, 8 MiB at most.
	MaxFileBytes int
	// MaxFiles bounds the files of a tenant; 1,000 by default. Files that are made at the same
	// moment may exceed it.
	MaxFiles int
	// MaxVersions bounds the versions of a file that are kept, with the current one; 20 by
	// default. The oldest goes first.
	MaxVersions int

	// Index, if set, renders the file at IndexPath, such as MEMORY-INDEX.json by
	// distill.Runner.Index. It is read and listed like any other, and cannot be written. A
	// call of it has memory.PluginTimeout.
	Index func(ctx context.Context, job *memory.Job) (File, error)
	// IndexPath is the path of the rendered file.
	IndexPath string
}

const mostFileBytes = 8 << 20 // as JSON with every byte escaped, it fits a document

// Workspace is the files of all tenants. Use [New].
type Workspace struct{ cfg Config }

// New returns a workspace with the limits of cfg. It fails with memory.ErrValidation for a limit
// below 0 or above its bound, and if only one of Index and IndexPath is set.
func New(cfg Config) (*Workspace, error) {
	for _, limit := range []struct {
		name     string
		value    *int
		standard int
	}{{"MaxFileBytes", &cfg.MaxFileBytes, 1 << 20}, {"MaxFiles", &cfg.MaxFiles, 1000}, {"MaxVersions", &cfg.MaxVersions, 20}} {
		if *limit.value < 0 {
			return nil, invalid("Config." + limit.name + " is below 0: 0 means the default")
		}
		*limit.value = cmp.Or(*limit.value, limit.standard)
	}
	if cfg.MaxFileBytes > mostFileBytes {
		return nil, invalid("Config.MaxFileBytes is above 8 MiB")
	}
	if (cfg.Index != nil) != (cfg.IndexPath != "") {
		return nil, invalid("Config has only one of Index and IndexPath: set both or none")
	}
	if cfg.Index != nil && !validPath(cfg.IndexPath) {
		return nil, errPath
	}
	return &Workspace{cfg}, nil
}

// Limits returns the capability block of the workspace (RFC 0059 §A), to be declared in a
// discovery document.
func (w *Workspace) Limits() map[string]any {
	return map[string]any{
		"supported": true, "versioned": true, "maxFileBytes": w.cfg.MaxFileBytes,
		"maxFiles": w.cfg.MaxFiles, "maxVersions": w.cfg.MaxVersions,
	}
}

// Read returns the current version of a file, or with a version above 0 that one, as long as
// it is kept. If the current version was forgotten it is the newest that is left. The error is
// memory.ErrNotFound for what is not there.
func (w *Workspace) Read(ctx context.Context, job *memory.Job, path string, version int64) (File, error) {
	if job == nil {
		return File{}, errJob
	}
	if !validPath(path) || version < 0 {
		return File{}, errNotFound
	}
	if path == w.cfg.IndexPath {
		return w.index(ctx, job, version)
	}
	f, _, err := w.current(ctx, job, path)
	if version == 0 || err == nil && f.Version == version {
		if err == nil && f.Version == 0 {
			err = errNotFound
		}
		return f, err
	}
	d, err := job.Document(ctx, "", fileKind, versionKey(path, version))
	if err == nil && d.Rev == 0 {
		err = errNotFound
	}
	if err != nil {
		return File{}, err
	}
	return fileOf(path, &d)
}

// current returns the current version of a file, and the document under its path; a file that
// is not there has version 0.
func (w *Workspace) current(ctx context.Context, job *memory.Job, path string) (File, driver.Document, error) {
	d, err := job.Document(ctx, "", fileKind, path)
	if err != nil {
		return File{}, d, err
	}
	if d.Rev == 0 {
		f, err := w.lastVersion(ctx, job, path)
		return f, d, err
	}
	f, err := fileOf(path, &d)
	return f, d, err
}

// lastVersion returns the current version of a file that has no document under its path: the newest
// earlier one, unless the file was deleted. It begins anew if the file is changed meanwhile.
func (w *Workspace) lastVersion(ctx context.Context, job *memory.Job, path string) (File, error) {
	for {
		h, before, err := readHead(ctx, job, path)
		if err != nil || h.Deleted {
			return File{}, err
		}
		var newest driver.Document
		last := int64(0)
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: fileKind, Group: path}) {
			if err != nil {
				return File{}, err
			}
			if _, version := namesOf(d.Key); version > last {
				last, newest = version, d
			}
		}
		d, err := job.Document(ctx, "", fileKind, path)
		if err != nil {
			return File{}, err
		}
		if d.Rev > 0 {
			return fileOf(path, &d)
		}
		_, after, err := readHead(ctx, job, path)
		switch {
		case err != nil || after.Rev == before.Rev && last == 0:
			return File{}, err
		case after.Rev == before.Rev:
			return fileOf(path, &newest)
		}
	}
}

func (w *Workspace) index(ctx context.Context, job *memory.Job, version int64) (File, error) {
	const part = "the index"
	f, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(ctx context.Context) (File, error) { return w.cfg.Index(ctx, job) })
	if hostcall.Misbehaved(err) {
		err = memory.ErrInternal.In(pkg, part+" failed", err)
	}
	if err != nil {
		return File{}, err
	}
	if f.Version == 0 || version > 0 && version != f.Version {
		return File{}, errNotFound
	}
	f.Path = w.cfg.IndexPath
	f.ETag = etag(stored{Version: f.Version, ContentType: f.ContentType, Content: f.Content})
	if f.UpdatedAt.IsZero() {
		f.UpdatedAt = job.Now()
	}
	return f, nil
}

// RendersIndex reports whether Config.Index is set, as capability.Derive asks.
func (w *Workspace) RendersIndex() bool { return w.cfg.Index != nil }

// List returns the files whose path begins with prefix, in the byte order of their paths and
// without their content; all files for an empty prefix.
func (w *Workspace) List(ctx context.Context, job *memory.Job, prefix string) ([]File, error) {
	if job == nil {
		return nil, errJob
	}
	all, err := w.allFiles(ctx, job, false)
	if err != nil {
		return nil, err
	}
	var files []File
	for path, f := range all {
		if path != w.cfg.IndexPath && strings.HasPrefix(path, prefix) {
			files = append(files, f)
		} // the index hides a file that was written before there was one
	}
	if w.cfg.Index != nil && strings.HasPrefix(w.cfg.IndexPath, prefix) {
		f, err := w.index(ctx, job, 0)
		if err == nil {
			f.Content = ""
			files = append(files, f)
		} else if !errors.Is(err, memory.ErrNotFound) {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// allFiles returns the files by path, each with its current version and without its content; bare
// ones may be empty.
func (w *Workspace) allFiles(ctx context.Context, job *memory.Job, bare bool) (map[string]File, error) {
	files, earlier := map[string]File{}, map[string]bool{}
	for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: fileKind, Bare: bare}) {
		if err != nil {
			return nil, err
		}
		path, version := namesOf(d.Key)
		if version > 0 {
			earlier[path] = true
			continue
		}
		var f File
		if !bare {
			if f, err = fileOf(path, &d); err != nil {
				return nil, err
			}
		}
		f.Content = ""
		files[path] = f
	}
	for path := range files {
		delete(earlier, path)
	}
	if len(earlier) > 0 {
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: headKind}) {
			if err != nil {
				return nil, err
			}
			if h, err := headOf(&d); err == nil && h.Deleted {
				delete(earlier, d.Key)
			}
		}
	}
	for path := range earlier { // the current version was forgotten
		f, err := w.lastVersion(ctx, job, path)
		if err != nil {
			return nil, err
		}
		if f.Version > 0 {
			f.Content = ""
			files[path] = f
		}
	}
	return files, nil
}

// Write makes the next version of a file and returns it as it is stored. Errors, after which
// nothing was written: a *wire.Error that is workspace_conflict, with details.currentVersion, if IfMatch
// or IfNoneMatch does not hold; one that is workspace_too_large or storage_limit_exceeded, with
// details.limit, for a content or a number of files beyond the limits; memory.ErrValidation for a malformed path,
// content type or content, and for the path of the index; memory.ErrSecretLeakage if the redactor
// refuses, or finds a secret in a name.
func (w *Workspace) Write(ctx context.Context, job *memory.Job, d Draft) (File, error) {
	if job == nil {
		return File{}, errJob
	}
	d.ContentType = cmp.Or(d.ContentType, DefaultContentType)
	if !validPath(d.Path) {
		return File{}, errPath
	}
	if len(d.ContentType) > MaxContentType || !utf8.ValidString(d.ContentType) || strings.ContainsFunc(d.ContentType, isControl) {
		return File{}, invalid(fmt.Sprintf("the content type is longer than %d bytes, not UTF-8 or has control characters", MaxContentType))
	}
	content, err := job.RedactText(ctx, d.Content)
	if err != nil {
		return File{}, err
	}
	if len(content) > w.cfg.MaxFileBytes {
		return File{}, tooLarge(w.cfg.MaxFileBytes)
	}
	var made File
	err = w.change(ctx, job, d.Path, d.IfMatch, func(before File, version int64) (*driver.Document, error) {
		switch {
		case d.IfNoneMatch && before.Version > 0:
			return nil, conflict(before.Version)
		case before.Version == 0:
			if err := w.checkFileLimit(ctx, job); err != nil {
				return nil, err
			}
		}
		s := stored{format, d.ContentType, version, job.Now().UnixMilli(), content}
		value, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		clean, err := job.RedactText(ctx, string(value))
		if err == nil && clean != string(value) {
			err = errSecret
		}
		if err != nil {
			return nil, err
		}
		doc := &driver.Document{Value: value, Subjects: d.Subjects}
		made, err = fileOf(d.Path, doc)
		return doc, err
	})
	return made, err
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// checkFileLimit fails if the tenant has all the files that it may have.
func (w *Workspace) checkFileLimit(ctx context.Context, job *memory.Job) error {
	files, err := w.allFiles(ctx, job, true)
	if err == nil && len(files) >= w.cfg.MaxFiles {
		err = tooMany(w.cfg.MaxFiles)
	}
	return err
}

// Delete ends a file and returns the version of the delete. Its earlier versions stay until
// they are pruned. ifMatch, if set, is the ETag that it must have, or else the error is
// a *wire.Error that is workspace_conflict. A file that is not there is memory.ErrNotFound.
func (w *Workspace) Delete(ctx context.Context, job *memory.Job, path, ifMatch string) (version int64, err error) {
	if job == nil {
		return 0, errJob
	}
	if !validPath(path) {
		return 0, errNotFound
	}
	err = w.change(ctx, job, path, ifMatch, func(before File, next int64) (*driver.Document, error) {
		if before.Version == 0 {
			return nil, errNotFound
		}
		version = next
		return nil, nil
	})
	return version, err
}

// change moves a file to its next version, which next returns the document of; nil is a
// delete. It begins anew if another change came first.
func (w *Workspace) change(ctx context.Context, job *memory.Job, path, ifMatch string, next func(before File, version int64) (*driver.Document, error)) error {
	if path == w.cfg.IndexPath {
		return errRendered
	}
	for {
		h, hd, err := readHead(ctx, job, path)
		if err != nil {
			return err
		}
		before, fd, err := w.current(ctx, job, path)
		if err != nil {
			return err
		}
		if ifMatch != "" && (before.Version == 0 || ifMatch != "*" && ifMatch != before.ETag) {
			return conflict(before.Version)
		}
		h = head{format, max(h.Version, before.Version) + 1, false}
		made, err := next(before, h.Version)
		if err != nil {
			return err
		}
		h.Deleted = made == nil
		hd.Value, _ = json.Marshal(h) // plain values: it cannot fail
		swaps := []driver.DocumentSwap{{Document: hd}}
		if fd.Rev > 0 && before.Version > h.Version-int64(w.cfg.MaxVersions) {
			old := fd
			old.Key, old.Rev, old.Group = versionKey(path, before.Version), 0, path
			swaps = append(swaps, driver.DocumentSwap{Document: old})
		}
		switch {
		case made != nil:
			fd.Class, fd.Value, fd.Subjects = driver.HostText, made.Value, made.Subjects
			swaps = append(swaps, driver.DocumentSwap{Document: fd})
		case fd.Rev > 0:
			swaps = append(swaps, driver.DocumentSwap{Document: fd, Act: driver.Remove})
		}
		if swaps, err = w.prune(ctx, job, path, h.Version, swaps); err != nil {
			return err
		}
		_, err = job.Rewrite(ctx, "", memory.Rewrite{
			Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps },
			Announce: func([]memory.Entry) []events.Record {
				return []events.Record{{Payload: events.WorkspaceUpdated{Path: path, Version: h.Version}}}
			},
		})
		if !errors.Is(err, memory.ErrConflict) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// prune adds the removal of the versions that are too old once the file is at version.
func (w *Workspace) prune(ctx context.Context, job *memory.Job, path string, version int64, swaps []driver.DocumentSwap) ([]driver.DocumentSwap, error) {
	for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: fileKind, Group: path, Bare: true}) {
		if err != nil {
			return nil, err
		}
		if _, n := namesOf(d.Key); n > 0 && n <= version-int64(w.cfg.MaxVersions) {
			swaps = append(swaps, driver.DocumentSwap{Document: d, Act: driver.Remove})
		}
	}
	return swaps, nil
}

func readHead(ctx context.Context, job *memory.Job, path string) (head, driver.Document, error) {
	d, err := job.Document(ctx, "", headKind, path)
	if err != nil || d.Rev == 0 {
		return head{}, d, err
	}
	h, err := headOf(&d)
	return h, d, err
}
