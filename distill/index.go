package distill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Where the index is (RFC 0062 §B step 5), and its sibling for people.
const (
	IndexPath         = "MEMORY-INDEX.json"
	IndexMarkdownPath = "MEMORY-INDEX.md"
)

// IndexVersion is the version of the index's shape.
const IndexVersion = 1

// Index is MEMORY-INDEX.json: what a session loads at its start to know which
// archives there are. It holds identifiers, counts and instants, and nothing of what
// an archive says.
//
//	{
//	  "version": 1,
//	  "refs": {
//	    "mem://acme/support": [
//	      {
//	        "archiveChecksum": "sha256:…",
//	        "memoryId": "mem_…",
//	        "entryCount": 412,
//	        "byteSize": 12044,
//	        "createdAt": "2026-03-01T23:00:00Z",
//	        "expiresAt": "2026-05-30T23:00:00Z"
//	      }
//	    ]
//	  }
//	}
type Index struct {
	Version int                    `json:"version"`
	Refs    map[string][]IndexLine `json:"refs"` // newest first
}

// IndexLine names an archive and the entry by which it is reached.
type IndexLine struct {
	ArchiveChecksum Digest    `json:"archiveChecksum"` // the archive's address
	MemoryID        string    `json:"memoryId"`
	EntryCount      int       `json:"entryCount"` // sources
	ByteSize        int       `json:"byteSize"`   // of the entry's content
	CreatedAt       time.Time `json:"createdAt"`
	ExpiresAt       time.Time `json:"expiresAt,omitzero"`
}

// ParseIndex reads an index. An error matches [ErrIndex] and holds nothing of it.
func ParseIndex(data string) (Index, error) {
	dec := json.NewDecoder(strings.NewReader(data))
	dec.DisallowUnknownFields()
	var x Index
	if err := dec.Decode(&x); err != nil {
		return Index{}, ErrIndex
	}
	if _, err := dec.Token(); err != io.EOF || x.Version != IndexVersion {
		return Index{}, ErrIndex
	}
	if x.Refs == nil {
		x.Refs = map[string][]IndexLine{}
	}
	return x, nil
}

// Encode returns the index as the file holds it.
func (x Index) Encode() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(x) // plain values: it cannot fail
	return b.String()
}

// Markdown returns the index for people to read.
func (x Index) Markdown() string {
	var b strings.Builder
	b.WriteString("# Memory index\n\nWritten after each distillation; changes made here are lost.\n")
	refs := make([]string, 0, len(x.Refs))
	for ref := range x.Refs {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	plain := strings.NewReplacer("`", "'", "|", "/")
	for _, ref := range refs {
		fmt.Fprintf(&b, "\n## `%s`\n\n| created | expires | sources | bytes | entry | archive |\n|---|---|--:|--:|---|---|\n", plain.Replace(ref))
		for _, l := range x.Refs[ref] {
			expires := "never"
			if !l.ExpiresAt.IsZero() {
				expires = l.ExpiresAt.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | `%s` | `%s` |\n", l.CreatedAt.UTC().Format(time.RFC3339), expires,
				l.EntryCount, l.ByteSize, plain.Replace(l.MemoryID), l.ArchiveChecksum)
		}
	}
	return b.String()
}

// Reindex rewrites a ref's lines of the index from the entries that are live now;
// those of other refs stay. Where nothing would change it writes nothing. It is what
// a pass does at its end, and makes up for one that could not. Without a Workspace it
// does nothing.
//
// Errors: [ErrIndex] if the file is not an index, which is then left as it is;
// [memory.ErrConflict] if others keep writing it.
func (r *Runner) Reindex(ctx context.Context, job *memory.Job, ref string) error {
	if r.cfg.Workspace == nil {
		return nil
	}
	_, err := r.reindex(ctx, job, ref)
	return err
}

// reindex returns the index as it is then.
func (r *Runner) reindex(ctx context.Context, job *memory.Job, ref string) (Index, error) {
	var x Index
	err := r.update(ctx, job, IndexPath, "application/json", func(old string) (string, error) {
		x = Index{Version: IndexVersion, Refs: map[string][]IndexLine{}}
		if old != "" {
			var err error
			if x, err = ParseIndex(old); err != nil {
				return "", err
			}
		}
		// Read after the file was: whoever committed since then writes it after us, or
		// has made our write fail.
		lines, err := lines(ctx, job, ref)
		if err != nil {
			return "", err
		}
		delete(x.Refs, ref)
		if len(lines) > 0 {
			x.Refs[ref] = lines
		}
		return x.Encode(), nil
	})
	if err != nil || !r.cfg.IndexMarkdown {
		return x, err
	}
	return x, r.update(ctx, job, IndexMarkdownPath, "text/markdown", func(string) (string, error) {
		return x.Markdown(), nil
	})
}

// update writes a file of the workspace until no other write comes between.
func (r *Runner) update(ctx context.Context, job *memory.Job, path, contentType string, next func(old string) (string, error)) error {
	for range attempts {
		f, err := r.cfg.Workspace.ReadFile(ctx, job.Tenant(), path)
		missing := errors.Is(err, memory.ErrNotFound)
		if err != nil && !missing {
			return &failed{"the workspace failed", err}
		}
		if missing {
			f = File{}
		}
		text, err := next(f.Content)
		if err != nil {
			return err
		}
		if !missing && text == f.Content || missing && text == emptyIndex {
			return nil
		}
		_, err = r.cfg.Workspace.WriteFile(ctx, Write{
			Tenant: job.Tenant(), RunID: job.ID(), Path: path, Content: text, ContentType: contentType,
			IfMatch: f.ETag, At: job.Now(),
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, memory.ErrConflict) {
			return &failed{"the workspace failed", err}
		}
	}
	return &failed{"others keep writing the index", memory.ErrConflict}
}

// emptyIndex need not be written where there is no file.
var emptyIndex = Index{Version: IndexVersion, Refs: map[string][]IndexLine{}}.Encode()

// lines are those of the live outputs of distillations.
func lines(ctx context.Context, job *memory.Job, ref string) ([]IndexLine, error) {
	var all []IndexLine
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return nil, err
		}
		if out, ok := asOutput(e); ok && !out.archive.IsZero() {
			all = append(all, IndexLine{out.archive, e.ID, len(e.Sources), len(e.Content), e.CreatedAt, e.ExpiresAt})
		}
	}
	return all, nil
}

// LoadIndex returns a ref's lines for the start of a session, newest first, without
// those that no entry backs: one that mem does not show, that names another archive,
// or that names none. mem is what the session reads memory by, so that index and
// memory agree. No index is an empty one.
func (r *Runner) LoadIndex(ctx context.Context, mem memory.Reader, tenant, ref string) ([]IndexLine, error) {
	if r.cfg.Workspace == nil {
		return nil, nil
	}
	f, err := r.cfg.Workspace.ReadFile(ctx, tenant, IndexPath)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &failed{"the workspace failed", err}
	}
	x, err := ParseIndex(f.Content)
	if err != nil {
		return nil, err
	}
	var backed []IndexLine
	for _, l := range x.Refs[ref] {
		e, err := mem.Get(ctx, ref, l.MemoryID)
		if errors.Is(err, memory.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out, ok := asOutput(e); ok && out.archive == l.ArchiveChecksum {
			backed = append(backed, l)
		}
	}
	return backed, nil
}
