package memory

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
)

// Token returns the position that the run has reached, by which it can be resumed
// or forked, and read again with [Bank.AsOf]. A host records one at the start and
// at each position from which its log must be replayable.
//
// It makes no store call unless the run wrote more than about a dozen entries: then the list of
// them, ids and refs, is kept in the store as a document, once for each list, and for a horizon
// after the newest token that names it. Of a read-only bank such a token is as long as its list.
func (r *Run) Token(ctx context.Context) (Token, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return "", fail(ErrNotProvided, "a replay has no position of its own")
	}
	snap := r.position()
	if err := r.bank.keepOwn(ctx, snap); err != nil {
		return "", err
	}
	return snap.token(), nil
}

// position is what a token says of the run as it is now.
func (r *Run) position() *snapshot {
	r.viewLock.RLock()
	defer r.viewLock.RUnlock()
	snap := &snapshot{
		tenant: r.tenant,
		run:    digestOf(r.runID),
		base:   r.view.base,
		at:     r.bank.Now(),
		opened: r.view.opened,
		own:    ownMarks{},
	}
	for ref, own := range r.view.own {
		for _, e := range own {
			snap.own[ref] = append(snap.own[ref], ownMark{ID: e.id, Inherited: e.inherited})
		}
	}
	for ref, hidden := range r.view.hidden {
		for _, id := range slices.Sorted(maps.Keys(hidden)) {
			snap.own[ref] = append(snap.own[ref], ownMark{ID: id, Hidden: true})
		}
	}
	return snap
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
		return nil, fail(ErrNotProvided, "a replay has no children: start the replay of a child by Bank.Start")
	}
	w := r.writer
	w.runID = id
	err := w.check()
	if err == nil {
		err = w.identifiers(context.Background(), w.run())
	}
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
		return r.replay.join(ctx, child)
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

// Flush delivers the events of the run that wait, and returns when the sink has taken them,
// so that they precede what the host appends to the run's log afterwards. If the
// sink refuses, Flush fails and the events wait on. Events that are kept do not wait.
func (r *Run) Flush(ctx context.Context) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil // it has written none
	}
	return r.bank.flush(ctx, r.tenant, r.runID)
}

// End closes a run that completed; one that is only suspended is closed by [Run.Abort]. After it
// the run refuses reads and writes, its registry is closed, its writes are visible to its
// parent, and the sink has its events.
//
// The run's terminal event, if it is given as last, then goes into the log as [Run.Emit] would
// put it there, redacted by the registry before that was closed. A host that appends it by
// itself does so after End. If End fails, call it again: a terminal event that was accepted the
// first time is the one that counts. If both the registry and the sink failed, errors.Is and
// errors.As reach what each of them said.
func (r *Run) End(ctx context.Context, last ...events.Record) error { return r.finish(ctx, true, last) }

// Abort closes a run that failed or was canceled, with its terminal event as [Run.End] does.
// What the run wrote stays in memory, where later runs see it. It differs from End only for a
// child: its writes do not become visible to its parent. Without a terminal event it also ends
// the handle of a run that is suspended, once its token was taken.
func (r *Run) Abort(ctx context.Context, last ...events.Record) error {
	return r.finish(ctx, false, last)
}

func (r *Run) finish(ctx context.Context, completed bool, last []events.Record) error {
	first, err := r.markEnded(ctx, last)
	if err != nil {
		return err
	}
	var closing error
	if first && r.parent == nil {
		closing = r.close(ctx)
	}
	if first && r.parent != nil && completed {
		r.parent.viewLock.Lock()
		r.parent.view.join(r.view)
		r.parent.viewLock.Unlock()
	}
	err = r.bank.flush(ctx, r.tenant, r.runID)
	if err == nil {
		err = r.bank.emit(ctx, r.writer, r.last)
	}
	return joinErrors(closing, err)
}

// markEnded lets no operation in any more, and reports whether it was the first to do that.
func (r *Run) markEnded(ctx context.Context, last []events.Record) (first bool, err error) {
	r.life.Lock()
	defer r.life.Unlock()
	if r.ended {
		return false, nil
	}
	r.last, err = r.hostEvents(ctx, last)
	r.ended = err == nil
	return r.ended, err
}

// close closes a redactor that can be closed, also if the context has ended: no later call closes
// it.
func (w writer) close(ctx context.Context) error {
	c, ok := w.redactor.(io.Closer)
	if !ok {
		return nil
	}
	w.closed.Store(true)
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	closing := func() (struct{}, error) { return struct{}{}, c.Close() }
	var err error
	if w.inline {
		_, err = hostcall.Inline(theRedactor, closing)
	} else {
		_, err = hostcall.Call(ctx, theRedactor, PluginTimeout, func(context.Context) (struct{}, error) { return closing() })
	}
	if err == nil || err == ctx.Err() {
		return err
	}
	return failWith(ErrInternal, "the redactor did not close", err)
}
