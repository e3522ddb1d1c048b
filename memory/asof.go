package memory

import (
	"context"
	"slices"
	"time"
)

// AsOf returns a reader of exactly what a run saw at a token's position, expiry
// judged at the token's instant (M7; RFC 0039 §B). It fails with
// [ErrSnapshotUnavailable], then or at any later read, for a token of another
// tenant or of a history that was lost, and in a ref where the run could have seen what
// has been forgotten or purged: never with live memory. The store must be Versioned.
func (b *Bank) AsOf(ctx context.Context, tenant string, t Token) (Reader, error) {
	if b.versions == nil {
		return nil, fail(ErrNotProvided, "AsOf needs a Versioned store")
	}
	snap, err := t.snapshot(tenant)
	if err != nil {
		return nil, err
	}
	v, err := b.reopen(ctx, snap, func(*ownMark) bool { return true })
	if err != nil {
		return nil, err
	}
	return &asOf{bank: b, snap: snap, view: v}, nil
}

type asOf struct {
	bank *Bank
	snap *snapshot
	view *view
}

// add lays an own write over what is read.
func (r *asOf) add(ref string, e ownEntry) {
	r.view.add(ref, e)
	r.snap.own[ref] = append(r.snap.own[ref], ownMark{e.id, e.inherited})
}

// advance moves on the instant at which expiry is judged.
func (r *asOf) advance(at time.Time) {
	if at.After(r.snap.at) {
		r.snap.at = at
	}
}

// drop takes an own write out again.
func (r *asOf) drop(ref, id string) {
	r.view.drop(ref, id)
	r.snap.own[ref] = slices.DeleteFunc(r.snap.own[ref], func(m ownMark) bool { return m.id == id && !m.inherited })
}

// source is what is read. A ranker may keep the view, while a replay goes on.
func (r *asOf) source() source {
	return source{r.snap.at, r.view.list, func(context.Context, string) (*view, error) { return r.view.clone(), nil }}
}

func (r *asOf) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	entries, err := readList(ctx, r.bank, r.snap.tenant, ref, o, r.source())
	return exactly(ctx, r, ref, entries, err)
}

func (r *asOf) Get(ctx context.Context, ref, id string) (Entry, error) {
	e, err := readGet(ctx, r.bank, r.snap.tenant, ref, id, r.snap.at, r.view.get)
	return exactly(ctx, r, ref, e, err)
}

// exactly lets an answer through, an error too, if after it everything that the run
// could see in the ref is still there: what was erased meanwhile could be missing.
func exactly[T any](ctx context.Context, r *asOf, ref string, answer T, err error) (T, error) {
	if gone := r.whole(ctx, ref); gone != nil {
		var none T
		return none, gone
	}
	return answer, err
}

// whole fails if anything that the run could see in the ref is gone.
func (r *asOf) whole(ctx context.Context, ref string) error {
	s, held, err := r.bank.visible(ctx, r.snap.tenant, ref)
	if !held || err != nil {
		return err
	}
	ids := make([]string, 0, len(r.snap.own[ref]))
	for _, m := range r.snap.own[ref] {
		ids = append(ids, m.id)
	}
	recs, err := lookup(ctx, r.bank.tx, s, ids)
	if err != nil {
		return err
	}
	intact, err := r.bank.versions.Intact(ctx, s, r.snap.base)
	if err != nil {
		return shape(err)
	}
	if !intact || len(recs) < len(ids) || slices.ContainsFunc(recs, func(rec Record) bool { return rec.Erased }) {
		return fail(ErrSnapshotUnavailable, "something that it could see was forgotten")
	}
	return nil
}
