package memory

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// RunConfig says whose run it is.
type RunConfig struct {
	// ID is the run's id, 1 to 128 bytes. Events carry it.
	ID string
	// Tenant owns the run, 1 to 256 bytes, from the host's authentication.
	Tenant string
	// Redactor holds the secrets that the run has resolved. It is required: a run
	// without secrets has an empty registry. If it is an [io.Closer], ending the
	// run closes it.
	Redactor Redactor
	// Resume continues from a token: of this run, after a suspension and in
	// whatever process; of another run of the tenant, as a fork of it that sees
	// what that run saw there.
	Resume Token
	// Replay makes this a replay of a recorded run; see [Replay].
	Replay *Replay
}

// Run is a workflow run's handle on memory. Its reads see memory as it was when
// the run started, its own writes, and those of completed children (M6); what
// others write, delete or consolidate meanwhile is invisible, what expires or is
// forgotten is gone. It is safe for concurrent use.
type Run struct {
	writer
	parent *Run      // nil unless it is a child
	replay *replayer // nil unless it is a replay

	life  sync.RWMutex // held shared by every operation, alone to end the run
	ended bool

	viewLock sync.RWMutex
	view     *view // nil in a replay
}

// Start opens a run. The store must be [Versioned], unless the run is a replay:
// otherwise Start fails with [ErrNotProvided], and a host can work with
// [Bank.Background] and [Bank.Reader], which promise no view. Resuming fails with
// [ErrSnapshotUnavailable] for a token of another tenant or store, or one that is
// older than what was purged; like every open view, a resumed one lacks what was
// forgotten since.
func (b *Bank) Start(ctx context.Context, c RunConfig) (*Run, error) {
	w, err := newWriter(b, c.Tenant, c.ID, c.Redactor)
	if err != nil {
		return nil, err
	}
	if c.Replay != nil {
		if c.Resume != "" {
			return nil, fail(ErrValidation, "a replay does not resume")
		}
		replay, err := newReplayer(w, c.Replay)
		if err != nil {
			return nil, err
		}
		return &Run{writer: w, replay: replay}, nil
	}
	if b.versions == nil {
		return nil, fail(ErrNotProvided, "run views need a Versioned store")
	}
	v, err := b.openView(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Run{writer: w, view: v}, nil
}

func (b *Bank) openView(ctx context.Context, c RunConfig) (*view, error) {
	if c.Resume == "" {
		version, err := b.versions.Version(ctx, c.Tenant)
		if err != nil {
			return nil, shape(err)
		}
		return newView(b.versions, version), nil
	}
	snap, err := c.Resume.snapshot(c.Tenant)
	if err != nil {
		return nil, err
	}
	fork := snap.RunID != c.ID
	return b.reopen(ctx, snap, func(m *ownMark) bool {
		m.Inherited = m.Inherited || fork
		return true
	})
}

// reopen opens the view of a snapshot, with the own writes that keep lets through
// and without what was erased since.
func (b *Bank) reopen(ctx context.Context, snap *snapshot, keep func(*ownMark) bool) (*view, error) {
	// Only whether the version can be read at all matters here, not whether it is
	// still whole.
	if _, err := b.versions.Intact(ctx, snap.Tenant, snap.Base); err != nil {
		return nil, shape(err)
	}
	v := newView(b.versions, snap.Base)
	if _, err := v.load(ctx, snap, keep); err != nil {
		return nil, err
	}
	return v, nil
}

// ID returns the run's id.
func (r *Run) ID() string { return r.runID }

// Memory returns what the run's nodes read. It has no way to write.
func (r *Run) Memory() Reader { return runReader{r} }

type runReader struct{ run *Run }

func (rr runReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	r := rr.run
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return r.replay.reads.List(ctx, ref, o)
	}
	return readList(ctx, r.bank, r.tenant, ref, o, r.bank.Now(), r.list)
}

func (rr runReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	r := rr.run
	if err := r.enter(); err != nil {
		return Entry{}, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return r.replay.reads.Get(ctx, ref, id)
	}
	return readGet(ctx, r.bank, r.tenant, ref, id, r.bank.Now(), r.get)
}

func (r *Run) list(ctx context.Context, s Scope, q Query) ([]Entry, error) {
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	return r.view.list(ctx, s, q)
}

func (r *Run) get(ctx context.Context, s Scope, id string, at time.Time) (Entry, error) {
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	return r.view.get(ctx, s, id, at)
}

// enter begins an operation. Unless it fails, the caller gives r.life back.
func (r *Run) enter() error {
	r.life.RLock()
	if r.ended {
		r.life.RUnlock()
		return fail(ErrEnded, "")
	}
	return nil
}

// Put redacts a draft and writes it to the ref, and returns the entry as stored.
// The run sees it from then on; other runs that are open do not. Where the bank
// has WriteEvents, the write and its memory.written event commit together. In a
// replay nothing is written: the recorded id and instant come back.
//
// Errors: [ErrValidation], [ErrForbidden] for another tenant's ref,
// [ErrSecretLeakage], [ErrBacklog], [ErrEnded], [ErrDiverged] in a replay. After
// [ErrInternal] the entry may have been written; a second try writes another one.
func (r *Run) Put(ctx context.Context, ref string, d Draft) (Entry, error) {
	if err := r.enter(); err != nil {
		return Entry{}, err
	}
	defer r.life.RUnlock()
	if !d.CreatedAt.IsZero() {
		return Entry{}, fail(ErrValidation, "a run cannot backdate an entry")
	}
	s, err := r.target(ctx, ref)
	if err != nil {
		return Entry{}, err
	}
	e, err := r.entry(d, false)
	if err != nil {
		return Entry{}, err
	}
	if r.replay != nil {
		return r.replay.put(ctx, ref, e)
	}
	version, err := r.put(ctx, s, e, d)
	if err != nil {
		return Entry{}, err
	}
	r.viewLock.Lock()
	r.view.add(ref, ownEntry{id: e.ID, createdAt: e.CreatedAt, version: version})
	r.viewLock.Unlock()
	return ownCopy(e), nil
}

// Delete ends the life of an entry that the run can see, and reports whether it
// could see it. Other runs that start later do not see the entry; this one goes on
// seeing it unless it wrote it itself (RFC 0004 §A). An entry that was merged or
// superseded since the run started is [ErrConflict]: [Bank.Trace] tells what it
// became. In a replay nothing is deleted.
func (r *Run) Delete(ctx context.Context, ref, id string) (bool, error) {
	if err := r.enter(); err != nil {
		return false, err
	}
	defer r.life.RUnlock()
	s, err := r.target(ctx, ref)
	if err != nil {
		return false, err
	}
	if !validID(id) {
		return false, nil
	}
	if r.replay != nil {
		_, err := r.replay.reads.Get(ctx, ref, id)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	now := r.bank.Now()
	if _, err := r.get(ctx, s, id, now); err != nil {
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return false, shape(err)
	}
	deleted, err := r.bank.store.Delete(ctx, s, id, now)
	if err != nil {
		return false, shape(err)
	}
	if !deleted {
		rec, err := r.bank.tx.Lookup(ctx, s, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, shape(err)
		}
		if rec.State == Merged || rec.State == Superseded {
			return false, fail(ErrConflict, "the entry has been merged or superseded")
		}
	}
	r.viewLock.Lock()
	r.view.drop(ref, id)
	r.viewLock.Unlock()
	return true, nil
}

// Token returns the position that the run has reached, by which it can be resumed
// or forked, and read again with [Bank.AsOf]. A host records one at the start and
// wherever its log must be replayable from. It makes no store call.
func (r *Run) Token() (Token, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return "", fail(ErrNotProvided, "a replay has no position of its own")
	}
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	snap := snapshot{
		Tenant: r.tenant,
		RunID:  r.runID,
		Base:   r.view.base,
		Millis: r.bank.Now().UnixMilli(),
		Own:    r.view.marks(),
	}
	return snap.token(), nil
}

// Child opens a child run. It sees what its parent sees now, writes through the
// parent's redactor, and when it ends its writes become visible to the parent
// (RFC 0039 §B). A child that runs in another process is started there with the
// parent's token as Resume, and comes back by [Run.Join].
func (r *Run) Child(id string) (*Run, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil, fail(ErrNotProvided, "a child's replay is started by itself")
	}
	w, err := newWriter(r.bank, r.tenant, id, r.redactor)
	if err != nil {
		return nil, err
	}
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	return &Run{writer: w, parent: r, view: r.view.clone()}, nil
}

// Join makes visible what a child wrote that completed in another process, as the
// last token of the child has it. It fails with [ErrSnapshotUnavailable] for a
// token of another tenant or store.
func (r *Run) Join(ctx context.Context, child Token) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil
	}
	snap, err := child.snapshot(r.tenant)
	if err != nil {
		return err
	}
	loaded, err := r.bank.reopen(ctx, snap, func(m *ownMark) bool { return !m.Inherited })
	if err != nil {
		return err
	}
	r.viewLock.Lock()
	defer r.viewLock.Unlock()
	r.view.join(loaded)
	return nil
}

// End closes a run that completed: no read or write after it, its registry closed,
// its writes visible to its parent, and its events acknowledged by the sink. A host
// calls it before it appends the run's terminal event, and calls it again if it
// fails.
func (r *Run) End(ctx context.Context) error { return r.finish(ctx, true) }

// Abort closes a run that failed or was cancelled: as End does, but a parent never
// sees what the run wrote.
func (r *Run) Abort(ctx context.Context) error { return r.finish(ctx, false) }

func (r *Run) finish(ctx context.Context, completed bool) error {
	r.life.Lock()
	first := !r.ended
	r.ended = true
	r.life.Unlock()
	var closing error
	if first && r.parent == nil {
		closing = r.close()
	}
	if first && r.parent != nil && completed {
		r.parent.viewLock.Lock()
		r.parent.view.join(r.view)
		r.parent.viewLock.Unlock()
	}
	if err := r.bank.flush(ctx, r.tenant, r.runID); err != nil {
		return err
	}
	return closing
}

// close closes a redactor that can be closed.
func (w writer) close() error {
	c, ok := w.redactor.(io.Closer)
	if !ok {
		return nil
	}
	if err := c.Close(); err != nil {
		return failWith(ErrInternal, "the redactor did not close", err)
	}
	return nil
}
