package memory

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// RunConfig says whose run it is.
type RunConfig struct {
	// ID is the run's id, 1 to 128 bytes, of which version 2 of the protocol takes 16 to 128 letters,
	// digits and . _ ~ - only (identity.md §5). Events carry it. Give each run a fresh one: a
	// second run of an id writes into the log of the first, behind its terminal event, and a
	// replay would show both. Only a suspended run that resumes keeps its id.
	ID string
	// Tenant owns the run, 1 to 256 bytes, from the host's authentication.
	Tenant string
	// Redactor holds the secrets that the run has resolved. It is required: a run
	// without secrets has an empty registry. If it is an [io.Closer], ending the
	// run closes it.
	Redactor Redactor
	// Resume continues from a token: of this run, after a suspension and in
	// any process; of another run of the tenant, as a fork of it that sees
	// what that run saw there. A fork that shares the events before that position first repeats
	// them under its own id, by a Replay to the same token. Before it waits, a host takes the token of the first
	// handle, and then ends that one by [Run.Abort] without a terminal event: its
	// registry is closed and its events are delivered. The second handle needs a
	// registry with the secrets again. If both go on, neither sees what the other
	// writes after the token, and their events share the log of the run id.
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
	last  []events.Record // its terminal event, once it has ended

	keep atomic.Pointer[func(RecordedRead) error] // of Record

	viewLock sync.RWMutex
	view     *view // nil in a replay
}

// Start opens a run, resumes a suspended one, or replays a recorded one. Its caller ends it by
// [Run.End] or [Run.Abort].
//
// A run needs a store that is Versioned, unless it is a replay. Over another store Start fails
// with [ErrNotProvided], and a host can work with [Bank.Pass] and [Bank.Reader], which promise
// no view. A malformed ID or Tenant is [ErrValidation], and a secret in the ID, or a closed
// redactor, [ErrSecretLeakage]. Resuming fails with [ErrSnapshotUnavailable] for a token of
// another tenant or store, or one that is older than what was purged. Like every open view, a
// resumed one lacks what was forgotten since.
func (b *Bank) Start(ctx context.Context, c RunConfig) (run *Run, err error) {
	ctx, span := b.begin(ctx, telemetry.Start)
	defer span.Done(&err)
	w, err := newWriter(b, c.Tenant, c.ID, c.Redactor, false)
	if err == nil {
		err = w.identifiers(ctx, w.run()) // no write could carry it
	}
	if err != nil {
		return nil, err
	}
	if c.Replay != nil {
		if c.Resume != "" {
			return nil, fail(ErrValidation, "RunConfig has both Resume and Replay: set one of them")
		}
		replay, err := b.replay(ctx, w, c.Replay)
		if err != nil {
			return nil, err
		}
		return &Run{writer: w, replay: replay}, nil
	}
	if b.versions == nil {
		return nil, fail(ErrNotProvided, "a run needs a store that is driver.Versioned for its view: use Bank.Background and Bank.Reader")
	}
	v, err := b.openView(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Run{writer: w, view: v}, nil
}

func (b *Bank) openView(ctx context.Context, c RunConfig) (*view, error) {
	if c.Resume == "" {
		if err := b.checkClock(); err != nil {
			return nil, err
		}
		opened := b.Now()
		version, err := b.versions.Version(ctx, c.Tenant)
		if err != nil {
			return nil, shape(err)
		}
		v := newView(b.versions, version)
		v.opened = opened
		return v, nil
	}
	snap, err := c.Resume.snapshot(c.Tenant)
	if err != nil {
		return nil, err
	}
	fork := snap.run != digestOf(c.ID)
	return b.reopen(ctx, snap, func(m *ownMark) bool {
		m.Inherited = m.Inherited || fork
		return true
	})
}

// reopen opens the view of a snapshot, with the own writes that keep lets through
// and without what was erased since.
func (b *Bank) reopen(ctx context.Context, snap *snapshot, keep func(*ownMark) bool) (*view, error) {
	if err := b.loadOwn(ctx, snap); err != nil {
		return nil, err
	}
	v := newView(b.versions, snap.base)
	v.opened = snap.opened
	for ref, marks := range snap.own {
		var ids []string
		inherited := map[string]bool{}
		for _, m := range marks {
			if m.Hidden {
				v.hide(ref, m.ID)
			} else if keep(&m) {
				ids = append(ids, m.ID)
				inherited[m.ID] = m.Inherited
			}
		}
		recs, err := lookup(ctx, b.tx, Scope{Tenant: snap.tenant, Ref: ref}, ids)
		if err != nil {
			return nil, err
		}
		if len(recs) < len(ids) {
			v.lost[ref] = true
		}
		for _, rec := range recs {
			if rec.Erased {
				v.lost[ref] = true
				continue
			}
			v.add(ref, ownEntry{rec.Entry.ID, rec.Entry.CreatedAt, inherited[rec.Entry.ID]})
		}
	}
	// Only whether the version can be read at all matters here, and that it could after
	// the own writes were read: then no purge has taken one of them.
	if _, err := b.versions.Intact(ctx, Scope{Tenant: snap.tenant}, snap.base); err != nil {
		return nil, shape(err)
	}
	return v, nil
}

// ID returns the run's id.
func (r *Run) ID() string { return r.runID }

// Memory returns what the run's nodes read. It has no way to write.
func (r *Run) Memory() Reader { return r.bank.traced(runReader{r}) }

type runReader struct{ run *Run }

func (rr runReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	r := rr.run
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	o, err := r.redactQuery(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.replay != nil {
		return r.replay.List(ctx, ref, o)
	}
	return readList(ctx, r.bank, r.tenant, ref, o, r.source())
}

func (rr runReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	r := rr.run
	if err := r.enter(); err != nil {
		return Entry{}, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return r.replay.Get(ctx, ref, id)
	}
	return readGet(ctx, r.bank, r.tenant, ref, id, r.bank.Now(), r.get)
}

// Scan yields everything that the run sees in a ref, newest first, as it saw it when
// the loop began, and stops after an error.
func (r *Run) Scan(ctx context.Context, ref string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		seen, s, err := r.copyView(ctx, ref)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if seen == nil {
			return
		}
		walk(ctx, s, driver.Query{At: r.bank.Now()}, seen.list)(yield)
	}
}

// copyView returns a copy of the view, which later writes of the run do not change. It is nil
// for a ref under which the tenant has nothing.
func (r *Run) copyView(ctx context.Context, ref string) (*view, Scope, error) {
	if err := r.enter(); err != nil {
		return nil, Scope{}, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil, Scope{}, fail(ErrNotProvided, "a replay has no scans: they are not recorded")
	}
	s, ok, err := r.bank.visible(ctx, r.tenant, ref)
	if !ok || err != nil {
		return nil, Scope{}, err
	}
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	return r.view.clone(), s, nil
}

// source is what the run sees.
func (r *Run) source() source {
	return source{r.bank.Now(), r.list, func(context.Context, string) (*view, error) {
		r.viewLock.RLock()
		defer r.viewLock.RUnlock()
		return r.view.clone(), nil
	}}
}

// redactQuery takes the run's secrets out of the query of its node.
func (r *Run) redactQuery(ctx context.Context, o ListOptions) (ListOptions, error) {
	if o.Query == "" {
		return o, nil
	}
	query, err := r.clean(ctx, o.Query, false)
	o.Query = query
	return o, err
}

func (r *Run) list(ctx context.Context, s Scope, q driver.Query) ([]Entry, error) {
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
		return fail(ErrEnded, "start another, or resume a suspended one by its last token")
	}
	return nil
}
