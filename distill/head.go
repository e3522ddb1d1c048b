package distill

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Workspace is where a host keeps a tenant's files (RFC 0059), if it wants the index
// among them. What it keeps is the host's to erase: after a [memory.Bank.Forget] it holds
// the old lines, which are identifiers and counts, until [Runner.Reindex] or the next
// pass. It is safe for concurrent use.
type Workspace interface {
	// WriteFile keeps a version of a file, unless it has that one or a later one: then
	// it does nothing. It does not emit workspace.updated, which committed with the
	// version. A call of it has [memory.PluginTimeout].
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
	Lines   Digest `json:"lines"` // those of its lines, by xor
}

// head is the head of an index as it was read: whoever has published since has moved it, so
// that it cannot be swapped any more.
type head struct {
	indexHead
	doc driver.Document
}

func readHead(ctx context.Context, job *memory.Job) (head, error) {
	var h head
	var err error
	if h.doc, err = job.Document(ctx, "", headKind, IndexPath); err != nil || h.doc.Rev == 0 {
		return h, err
	}
	if json.Unmarshal(h.doc.Value, &h.indexHead) != nil || h.Format != headFormat {
		return h, ErrIndex
	}
	return h, nil
}

// next is the head of the next version, which has these lines.
func (h head) next(lines Digest) head {
	h.indexHead = indexHead{headFormat, h.Version + 1, lines}
	h.doc.Value, _ = json.Marshal(h.indexHead) // plain values: it cannot fail
	return h
}

func (h head) announcement() events.Record {
	return events.Record{Payload: events.WorkspaceUpdated{Path: IndexPath, Version: h.Version}}
}

// xor of the digests of its lines, no two of which are equal, tells whether an index changed,
// and gains a line without reading the others.
func (d Digest) xor(o Digest) Digest {
	for i := range d {
		d[i] ^= o[i]
	}
	return d
}

// digest is that of a line of a ref.
func (l IndexLine) digest(ref string) Digest {
	data, _ := json.Marshal(map[string]IndexLine{ref: l}) // plain values: it cannot fail
	return DigestOf(data)
}

// Reindex renders the index of the job's tenant and returns it as a file. Where entries
// have ended since the last version it makes the next one, which commits with its
// workspace.updated. The Workspace is given the file in any case. A host calls it where
// the file is read, from time to time, and after it forgot something.
//
// Its cost is that of [Runner.Index]. Errors: [ErrIndex]; what the store, the job and the
// workspace return.
func (r *Runner) Reindex(ctx context.Context, job *memory.Job) (File, error) {
	if job == nil {
		return File{}, errJob
	}
	for {
		h, err := readHead(ctx, job)
		if err != nil {
			return File{}, err
		}
		x, err := r.Index(ctx, job)
		if err != nil {
			return File{}, err
		}
		if lines := x.lines(); lines != h.Lines {
			h = h.next(lines)
			_, err = job.Rewrite(ctx, "", memory.Rewrite{
				Documents: func([]memory.Entry) []driver.DocumentSwap { return []driver.DocumentSwap{{Document: h.doc}} },
				Announce:  func([]memory.Entry) []events.Record { return []events.Record{h.announcement()} },
			})
			if errors.Is(err, memory.ErrConflict) {
				continue // another one has moved the head, and may have said more
			}
			if err != nil {
				return File{}, err
			}
		}
		f := File{IndexPath, x.Encode(), "application/json", h.Version}
		if r.cfg.Workspace != nil && f.Version > 0 {
			const part = "the workspace"
			_, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, r.cfg.Workspace.WriteFile(ctx, job.Tenant(), f)
			})
			if err != nil {
				return f, hostFailed(ctx, part, err)
			}
		}
		return f, nil
	}
}
