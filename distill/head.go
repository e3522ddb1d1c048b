package distill

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Workspace is where a host keeps a tenant's files (RFC 0059), if it wants the index
// among them. What it keeps is the host's to erase: after a [memory.Bank.Forget] it holds
// the old lines, which are identifiers and counts, until [Runner.Reindex] or the next
// pass. It is safe for concurrent use.
type Workspace interface {
	// WriteFile keeps a version of a file, unless it has that one or a later one: then
	// it does nothing. It does not emit workspace.updated, which committed with the
	// version.
	WriteFile(ctx context.Context, tenant string, f File) error
}

// File is a version of a file.
type File struct {
	Path        string
	Content     string
	ContentType string
	Version     int64 // from 1; 0 while there was never an index
}

// The head of a tenant's index says which version it is at. It is machinery: it holds no
// word of an entry.
const (
	headKind   = "distill/index" // under IndexPath
	headFormat = 1
)

type indexHead struct {
	Format  int    `json:"format"`
	Version int64  `json:"version"`
	Digest  Digest `json:"digest"` // of the rendered file
}

// catalogue is the index of a tenant with its head, which was read first: whoever has
// published since has moved the head, so that it cannot be swapped any more.
type catalogue struct {
	doc   memory.Document
	head  indexHead
	index Index
}

func (r *Runner) catalogue(ctx context.Context, job *memory.Job) (*catalogue, error) {
	c := new(catalogue)
	var err error
	if c.doc, err = job.Document(ctx, "", headKind, IndexPath); err != nil {
		return nil, err
	}
	if c.doc.Rev != 0 && (json.Unmarshal(c.doc.Value, &c.head) != nil || c.head.Format != headFormat) {
		return nil, ErrIndex
	}
	c.index, err = r.Index(ctx, job)
	return c, err
}

// moved reports whether the head is another one by now.
func (c *catalogue) moved(ctx context.Context, job *memory.Job) (bool, error) {
	doc, err := job.Document(ctx, "", headKind, IndexPath)
	return doc.Rev != c.doc.Rev, err
}

// edition is a version of the index.
type edition struct {
	file  File
	moved bool                  // whether the head has to move to it
	swaps []memory.DocumentSwap // which this does
}

// next is the edition in which the index is x: the one that the head names, if it is
// the same.
func (c *catalogue) next(x Index) edition {
	e := edition{file: File{IndexPath, x.Encode(), "application/json", c.head.Version}}
	digest := DigestOf([]byte(e.file.Content))
	if digest == c.head.Digest || c.doc.Rev == 0 && len(x.Refs) == 0 {
		return e
	}
	e.file.Version++
	e.moved = true
	doc := c.doc
	doc.Value, _ = json.Marshal(indexHead{headFormat, e.file.Version, digest}) // plain values: it cannot fail
	e.swaps = []memory.DocumentSwap{{Document: doc}}
	return e
}

// announce is workspace.updated, if there is something to announce.
func (e edition) announce() []events.Record {
	if !e.moved {
		return nil
	}
	return []events.Record{{Payload: events.WorkspaceUpdated{Path: e.file.Path, Version: e.file.Version}}}
}

// give hands the file to the host's workspace, if there is one.
func (r *Runner) give(ctx context.Context, job *memory.Job, f File) error {
	if r.cfg.Workspace == nil || f.Version == 0 {
		return nil
	}
	if err := r.cfg.Workspace.WriteFile(ctx, job.Tenant(), f); err != nil {
		return &failed{"the workspace failed", err}
	}
	return nil
}

// Reindex renders the index of the job's tenant and returns it as a file. Where entries
// have ended since the last version it makes the next one, which commits with its
// workspace.updated. The Workspace is given the file in any case. A host calls it where
// the file is read, from time to time, and after it forgot something.
//
// Errors: [ErrIndex]; what the store, the job and the workspace return.
func (r *Runner) Reindex(ctx context.Context, job *memory.Job) (File, error) {
	for {
		c, err := r.catalogue(ctx, job)
		if err != nil {
			return File{}, err
		}
		e := c.next(c.index)
		if e.moved {
			_, err = job.Rewrite(ctx, "", memory.Rewrite{
				Documents: func([]memory.Entry) []memory.DocumentSwap { return e.swaps },
				Announce:  func([]memory.Entry) []events.Record { return e.announce() },
			})
		}
		if errors.Is(err, memory.ErrConflict) {
			continue // another one has moved the head, and may have said more
		}
		if err != nil {
			return File{}, err
		}
		return e.file, r.give(ctx, job, e.file)
	}
}
