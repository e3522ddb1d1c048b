package distill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

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
	ArchiveChecksum Digest    `json:"archiveChecksum"` // the archive's address
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

// Index renders the index of the job's tenant from the archives whose entries are live
// now. It reads no archive, but the entries, in batches: its cost is near-linear in the
// number and the size of the summaries that the tenant has.
func (r *Runner) Index(ctx context.Context, job *memory.Job) (Index, error) {
	if job == nil {
		return Index{}, errJob
	}
	addresses := map[string]map[string]Digest{} // by ref and entry
	for d, err := range archives(ctx, job, "") {
		if err != nil {
			return Index{}, err
		}
		if addresses[d.Ref] == nil {
			addresses[d.Ref] = map[string]Digest{}
		}
		for _, id := range d.Of {
			addresses[d.Ref][id] = d.address
		}
	}
	x := Index{Version: IndexVersion, Refs: map[string][]IndexLine{}}
	for ref, of := range addresses {
		entries, err := job.Live(ctx, ref, slices.Sorted(maps.Keys(of)))
		if err != nil {
			return Index{}, err
		}
		for _, e := range entries {
			x.Refs[ref] = append(x.Refs[ref], lineOf(of[e.ID], e))
		}
		slices.SortFunc(x.Refs[ref], IndexLine.compare)
	}
	return x, nil
}

// LoadIndex returns a ref's lines for the start of a session, newest first. mem is what
// the session reads memory by: the lines are those of the entries that it shows, so that
// index and memory agree.
func (r *Runner) LoadIndex(ctx context.Context, job *memory.Job, mem memory.Reader, ref string) ([]IndexLine, error) {
	var lines []IndexLine
	for d, err := range archives(ctx, job, ref) {
		if err != nil {
			return nil, err
		}
		for _, id := range d.Of {
			e, err := mem.Get(ctx, ref, id)
			if errors.Is(err, memory.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			lines = append(lines, lineOf(d.address, e))
		}
	}
	slices.SortFunc(lines, IndexLine.compare)
	return lines, nil
}

// storedArchive is an archive's document without its value.
type storedArchive struct {
	driver.Document
	address Digest
}

// archives yields the archives of a ref, or with an empty ref those of all refs.
func archives(ctx context.Context, job *memory.Job, ref string) iter.Seq2[storedArchive, error] {
	return func(yield func(storedArchive, error) bool) {
		q := driver.DocumentQuery{EveryRef: ref == "", Kind: archiveKind, Bare: true}
		for d, err := range job.Documents(ctx, ref, q) {
			address, malformed := ParseDigest(d.Group)
			if err == nil && malformed != nil {
				continue // no archive of this package
			}
			if !yield(storedArchive{d, address}, err) || err != nil {
				return
			}
		}
	}
}

func lineOf(address Digest, e memory.Entry) IndexLine {
	return IndexLine{address, e.ID, len(e.Sources), len(e.Content), e.CreatedAt, e.ExpiresAt}
}

// compare puts the newest first (M5).
func (l IndexLine) compare(o IndexLine) int {
	return cmp.Or(o.CreatedAt.Compare(l.CreatedAt), strings.Compare(o.MemoryID, l.MemoryID))
}

// lines are the digests of all lines, by xor; zero if there are none.
func (x Index) lines() (sum Digest) {
	for ref, lines := range x.Refs {
		for _, l := range lines {
			sum = sum.xor(l.digest(ref))
		}
	}
	return sum
}
