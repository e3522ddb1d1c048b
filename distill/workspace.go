package distill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Workspace is where a tenant's files are (RFC 0059), as far as the index needs
// them. A host that has a workspace implements it over that; one that has none uses
// a [MemoryWorkspace]. It is safe for concurrent use.
//
// Who implements it emits workspace.updated for every write, and nobody else does:
// the runner never emits it, so that there is one event a version.
type Workspace interface {
	// ReadFile returns a file, or [memory.ErrNotFound].
	ReadFile(ctx context.Context, tenant, path string) (File, error)
	// WriteFile makes the next version of a file, whole or not at all, if the ETag of
	// the one that is there is w.IfMatch; an empty IfMatch expects that there is none.
	// Otherwise it returns [memory.ErrConflict] (workspace_conflict on the wire) and
	// nothing happened.
	WriteFile(ctx context.Context, w Write) (File, error)
}

// File is a version of a workspace file.
type File struct {
	Path        string
	Content     string
	ContentType string
	Version     int64 // from 1
	ETag        string
	UpdatedAt   time.Time
}

// Write is a write to a workspace file.
type Write struct {
	Tenant string
	// RunID is the pass on whose log workspace.updated goes.
	RunID       string
	Path        string
	Content     string
	ContentType string
	IfMatch     string
	At          time.Time
}

var workspacePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$`)

// CheckPath refuses a path that RFC 0059 does not allow, and one with an empty
// segment or a segment "." or "..", with [ErrPath].
func CheckPath(path string) error {
	if !workspacePath.MatchString(path) {
		return ErrPath
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return ErrPath
		}
	}
	return nil
}

// MemoryWorkspace is a [Workspace] in the process's own memory. Create one with
// [NewMemoryWorkspace].
type MemoryWorkspace struct {
	sink events.Sink

	mu      sync.Mutex
	files   map[place]File
	waiting []events.Record // not yet in the sink, oldest first
}

type place struct{ tenant, path string }

// NewMemoryWorkspace returns an empty workspace that emits workspace.updated to
// sink, which may be nil.
func NewMemoryWorkspace(sink events.Sink) *MemoryWorkspace {
	return &MemoryWorkspace{sink: sink, files: map[place]File{}}
}

// ReadFile returns a file, or [memory.ErrNotFound].
func (m *MemoryWorkspace) ReadFile(ctx context.Context, tenant, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, err
	}
	if err := CheckPath(path); err != nil {
		return File{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[place{tenant, path}]
	if !ok {
		return File{}, memory.ErrNotFound
	}
	return f, nil
}

// WriteFile makes the next version of a file. Its event is delivered before
// WriteFile returns if the sink takes it, otherwise by the next write of the same run or
// by [Flush]. That the sink refused is no error of WriteFile, whose file is there: Flush
// tells it.
//
// [Flush]: MemoryWorkspace.Flush
func (m *MemoryWorkspace) WriteFile(ctx context.Context, w Write) (File, error) {
	if err := ctx.Err(); err != nil {
		return File{}, err
	}
	if err := CheckPath(w.Path); err != nil {
		return File{}, err
	}
	f, err := m.put(w)
	if err != nil {
		return File{}, err
	}
	_ = m.deliver(ctx, memory.RunName{Tenant: w.Tenant, RunID: w.RunID}) // the file is written; its event waits, and comes again
	return f, nil
}

func (m *MemoryWorkspace) put(w Write) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{w.Tenant, w.Path}
	old := m.files[at]
	if old.ETag != w.IfMatch {
		return File{}, memory.ErrConflict
	}
	sum := sha256.Sum256([]byte(w.Tenant + "\x00" + w.Path + "\x00" + w.Content))
	f := File{
		Path: w.Path, Content: w.Content, ContentType: w.ContentType, Version: old.Version + 1, UpdatedAt: w.At,
		ETag: hex.EncodeToString(sum[:8]) + "-" + string(appendInt(nil, int(old.Version+1))),
	}
	if m.sink != nil {
		rec := events.Record{
			ID: "evt_ws_" + f.ETag, Tenant: w.Tenant, RunID: w.RunID, Time: w.At,
			Payload: events.WorkspaceUpdated{Path: f.Path, Version: f.Version},
		}
		if err := rec.Validate(); err != nil {
			return File{}, err
		}
		m.waiting = append(m.waiting, rec)
	}
	m.files[at] = f
	return f, nil
}

// Flush gives the sink what it did not take before, each run's oldest first. A run whose
// events the sink refuses holds up no other; Flush then returns what the sink said at
// last. A host calls it from time to time, as it calls [memory.Bank.Relay]. The sink may
// use the workspace.
func (m *MemoryWorkspace) Flush(ctx context.Context) error {
	var refused error
	seen := map[memory.RunName]bool{}
	for _, rec := range m.left() {
		run := memory.RunName{Tenant: rec.Tenant, RunID: rec.RunID}
		if seen[run] {
			continue
		}
		seen[run] = true
		if err := m.deliver(ctx, run); err != nil {
			refused = err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return refused
}

// deliver gives the sink what waits of a run. An event stops waiting when the sink has it,
// and each call begins with the oldest that is left: so none overtakes another, however
// many deliver at the same time.
func (m *MemoryWorkspace) deliver(ctx context.Context, run memory.RunName) error {
	recs := slices.DeleteFunc(m.left(), func(r events.Record) bool { return r.Tenant != run.Tenant || r.RunID != run.RunID })
	if len(recs) == 0 {
		return nil
	}
	if err := events.Emit(ctx, m.sink, slices.Clone(recs)...); err != nil {
		return &failed{"the sink failed", err}
	}
	taken := map[string]bool{}
	for _, r := range recs {
		taken[r.ID] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = slices.DeleteFunc(m.waiting, func(r events.Record) bool {
		return r.Tenant == run.Tenant && r.RunID == run.RunID && taken[r.ID]
	})
	return nil
}

// left returns the events that wait.
func (m *MemoryWorkspace) left() []events.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.waiting)
}
