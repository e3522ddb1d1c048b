package distill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// IndexPath is the name of the index among a tenant's files (RFC 0062 §B step 5).
const IndexPath = "MEMORY-INDEX.json"

// IndexVersion is the version of the index's shape.
const IndexVersion = 1

// Index is MEMORY-INDEX.json: what a session loads at its start to know which
// archives there are. It holds identifiers, counts and instants, and nothing of what
// an archive says. It is not stored: it is rendered from the archives whose entries are
// live, see [Runner.Index].
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
	ArchiveChecksum string    `json:"archiveChecksum"` // the archive's address
	MemoryID        string    `json:"memoryId"`
	EntryCount      int       `json:"entryCount"` // sources
	ByteSize        int       `json:"byteSize"`   // of the entry's content
	CreatedAt       time.Time `json:"createdAt"`
	ExpiresAt       time.Time `json:"expiresAt,omitzero"`
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

// The head of a tenant's index says which version it is at, and how many archives that has. It is
// machinery: it holds no word of an entry.
const (
	headKind   = "distill/index" // under IndexPath
	headFormat = 1
)

// head is the head of an index as it was read: a pass that has published since has moved it, so
// that it cannot be swapped any more.
type head struct {
	Format   int   `json:"format"`
	Version  int64 `json:"version"`
	Archives int   `json:"archives"`
	doc      driver.Document
}

func readHead(ctx context.Context, job *memory.Job) (h head, err error) {
	if h.doc, err = job.Document(ctx, "", headKind, IndexPath); err != nil || h.doc.Rev == 0 {
		return h, err
	}
	if json.Unmarshal(h.doc.Value, &h) != nil || h.Format != headFormat {
		return h, ErrNewerFormat
	}
	return h, nil
}

// next is the head of the next version, which has so many archives.
func (h head) next(archives int) head {
	h.Format, h.Version, h.Archives = headFormat, h.Version+1, archives
	h.doc.Value, _ = json.Marshal(h) // plain values: it cannot fail
	return h
}

func (h head) announcement() events.Record {
	return events.Record{Payload: events.WorkspaceUpdated{Path: IndexPath, Version: h.Version}}
}

// Index renders the index of the job's tenant from the archives whose entries are live now, and
// tells its version, from 1; 0 while there was never an index. If entries have ended since the
// last version it makes the next one, which commits with its workspace.updated: so who reads the
// index has all that a file needs, and nothing has to be called when something was forgotten.
//
// It reads no archive, but the entries, in batches: its cost is near-linear in the number and the
// size of the summaries that the tenant has. Errors: [ErrNewerFormat]; what the store and the job
// return.
func (r *Runner) Index(ctx context.Context, job *memory.Job) (index Index, version int64, err error) {
	if job == nil {
		return Index{}, 0, errJob
	}
	for {
		before, err := readHead(ctx, job)
		if err != nil {
			return Index{}, 0, err
		}
		refs, archives, err := render(ctx, job, "", func(ref string, ids []string) ([]memory.Entry, error) { return job.Live(ctx, ref, ids) })
		if err != nil {
			return Index{}, 0, err
		}
		after := before
		if archives == before.Archives {
			after, err = readHead(ctx, job)
		} else { // an archive never comes without its head: some have ended
			after = before.next(archives)
			_, err = job.Rewrite(ctx, "", memory.Rewrite{
				Documents: func([]memory.Entry) []driver.DocumentSwap { return []driver.DocumentSwap{{Document: after.doc}} },
				Announce:  func([]memory.Entry) []events.Record { return []events.Record{after.announcement()} },
			})
		}
		if errors.Is(err, memory.ErrConflict) || err == nil && after.doc.Rev != before.doc.Rev {
			continue // another pass has moved the head, and may have said more
		}
		return Index{IndexVersion, refs}, after.Version, err
	}
}

// LoadIndex returns a ref's lines for the start of a session, newest first. mem is what
// the session reads memory by: the lines are those of the entries that it shows, so that
// index and memory agree.
func (r *Runner) LoadIndex(ctx context.Context, job *memory.Job, mem memory.Reader, ref string) ([]IndexLine, error) {
	if job == nil {
		return nil, errJob
	}
	refs, _, err := render(ctx, job, ref, func(ref string, ids []string) (shown []memory.Entry, err error) {
		for _, id := range ids {
			e, err := mem.Get(ctx, ref, id)
			if err == nil {
				shown = append(shown, e)
			} else if !errors.Is(err, memory.ErrNotFound) {
				return nil, err
			}
		}
		return shown, nil
	})
	return refs[ref], err
}

// render renders the lines of a ref, or with an empty ref those of all, and counts them. live
// returns those of the entries that are.
func render(ctx context.Context, job *memory.Job, ref string, live func(ref string, ids []string) ([]memory.Entry, error)) (refs map[string][]IndexLine, lines int, err error) {
	addresses := map[string]map[string]string{} // by ref and entry
	for d, err := range job.Documents(ctx, ref, driver.DocumentQuery{EveryRef: ref == "", Kind: archiveKind, Bare: true}) {
		if err != nil {
			return nil, 0, err
		}
		if addresses[d.Ref] == nil {
			addresses[d.Ref] = map[string]string{}
		}
		for _, id := range d.Of {
			addresses[d.Ref][id] = d.Group
		}
	}
	refs = map[string][]IndexLine{}
	for ref, of := range addresses {
		entries, err := live(ref, slices.Sorted(maps.Keys(of)))
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			refs[ref] = append(refs[ref], IndexLine{of[e.ID], e.ID, len(e.Sources), len(e.Content), e.CreatedAt, e.ExpiresAt})
			lines++
		}
		slices.SortFunc(refs[ref], func(a, b IndexLine) int { // newest first (M5)
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.MemoryID, a.MemoryID))
		})
	}
	return refs, lines, nil
}
