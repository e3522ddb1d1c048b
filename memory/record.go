package memory

import (
	"context"
	"errors"
	"sync"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// RecordedRead is one read of a run with its answer. It holds what the entries
// say: the host keeps it as it keeps memory, and erases it itself (RFC 0080 §A:
// forgetting does not reach a run's log).
type RecordedRead struct {
	Ref string `json:"ref"`
	// ID is the entry that was asked for; empty for a list.
	ID      string      `json:"id,omitempty"`
	Options ListOptions `json:"options,omitzero"`
	// Entries are the answer; empty for an absent entry.
	Entries []Entry `json:"entries"`
}

// RecordReads returns what the run's nodes read, as [Run.Memory] does, and gives every successful
// read to keep before the node has it, absent entries included. If keep fails, so does the
// read. A call of it has [PluginTimeout]. A host that must replay a run even after an erasure
// replays from such a record, see Replay.Reads. From then on keep is also given what [Run.Delete],
// [Run.Replace] and [Run.PutAll] look up, as reads of one entry, but not whether another caller's change then
// refused them: a replay from a record does not know of that [ErrConflict]. Concurrent reads call keep concurrently.
func (r *Run) RecordReads(keep func(RecordedRead) error) Reader {
	r.keep.Store(&keep)
	return recordingReader{r, r.Memory(), keep}
}

type recordingReader struct {
	run    *Run
	reader Reader
	keep   func(RecordedRead) error
}

// lookUp reads an entry that the run is about to end, and records that.
func (r *Run) lookUp(ctx context.Context, s Scope, id string) (Entry, error) {
	e, err := r.get(ctx, s, id, r.bank.Now())
	if keep := r.keep.Load(); keep != nil && (err == nil || errors.Is(err, ErrNotFound)) {
		if failed := record(ctx, *keep, recordOfGet(s.Ref, id, e, err)); failed != nil {
			return Entry{}, failed
		}
	}
	if errors.Is(err, ErrNotFound) {
		return Entry{}, fail(ErrNotFound, "")
	}
	return e, shape(err)
}

// recordOfGet is the record of a Get.
func recordOfGet(ref, id string, e Entry, err error) RecordedRead {
	read := RecordedRead{Ref: ref, ID: id, Entries: []Entry{}}
	if err == nil {
		read.Entries = append(read.Entries, ownCopy(e))
	}
	return read
}

func (r recordingReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	o, err := r.run.redactQuery(ctx, o) // so that the record holds no secret either
	if err != nil {
		return nil, err
	}
	entries, err := r.reader.List(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	if err := record(ctx, r.keep, RecordedRead{Ref: ref, Options: o, Entries: handOut(entries)}); err != nil {
		return nil, err
	}
	return entries, nil
}

// record gives a read to keep.
func record(ctx context.Context, keep func(RecordedRead) error, read RecordedRead) error {
	const part = "the record of reads"
	_, err := hostcall.Call(ctx, part, PluginTimeout, func(context.Context) (struct{}, error) { return struct{}{}, keep(read) })
	if err != nil {
		return hostFailed(ctx, part, err)
	}
	return nil
}

func (r recordingReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	e, err := r.reader.Get(ctx, ref, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Entry{}, err
	}
	if err := record(ctx, r.keep, recordOfGet(ref, id, e, err)); err != nil {
		return Entry{}, err
	}
	return e, err
}

// replayReads returns a reader that answers from a record, without any store. Equal
// reads are answered in the order in which they were recorded, also if other reads
// come between. A read that the record does not have is [ErrDiverged].
func replayReads(reads []RecordedRead) *replayingReader {
	r := &replayingReader{left: map[readKey][]RecordedRead{}}
	for _, rec := range reads {
		key := readKey{rec.Ref, rec.ID, rec.Options}
		r.left[key] = append(r.left[key], rec)
	}
	return r
}

type readKey struct {
	ref, id string
	options ListOptions
}

type replayingReader struct {
	mu   sync.Mutex
	left map[readKey][]RecordedRead
}

func (r *replayingReader) next(ctx context.Context, key readKey) (RecordedRead, error) {
	if err := ctx.Err(); err != nil {
		return RecordedRead{}, shape(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left[key]
	if len(left) == 0 {
		return RecordedRead{}, fail(ErrDiverged, "no such read was recorded")
	}
	r.left[key] = left[1:]
	return left[0], nil
}

func (r *replayingReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	rec, err := r.next(ctx, readKey{ref: ref, options: o})
	if err != nil {
		return nil, err
	}
	return handOut(rec.Entries), nil
}

func (r *replayingReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	rec, err := r.next(ctx, readKey{ref: ref, id: id})
	if err != nil {
		return Entry{}, err
	}
	if len(rec.Entries) == 0 {
		return Entry{}, fail(ErrNotFound, "")
	}
	return ownCopy(rec.Entries[0]), nil
}
