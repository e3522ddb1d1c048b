package memory

import "context"

// AsOf returns a reader of exactly what a run saw at a token's position, expiry
// judged at the token's instant (M7; RFC 0039 §B). It fails with
// [ErrSnapshotUnavailable], then or at any later read, for a token of another
// tenant or store, and for one whose run could have seen what has been forgotten or
// purged: never with live memory. The store must be [Versioned].
func (b *Bank) AsOf(ctx context.Context, tenant string, t Token) (Reader, error) {
	if b.versions == nil {
		return nil, fail(ErrNotProvided, "AsOf needs a Versioned store")
	}
	snap, err := t.snapshot(tenant)
	if err != nil {
		return nil, err
	}
	r := &asOf{bank: b, snap: snap}
	if r.view, err = r.load(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

type asOf struct {
	bank *Bank
	snap *snapshot
	view *view
}

// load reads the whole view, or fails if any of it is gone.
func (r *asOf) load(ctx context.Context) (*view, error) {
	v := newView(r.bank.versions, r.snap.Base)
	whole, err := v.load(ctx, r.snap, func(*ownMark) bool { return true })
	if err != nil {
		return nil, err
	}
	if whole {
		whole, err = r.bank.versions.Intact(ctx, r.snap.Tenant, r.snap.Base)
		if err != nil {
			return nil, shape(err)
		}
	}
	if !whole {
		return nil, fail(ErrSnapshotUnavailable, "something that it could see was forgotten")
	}
	return v, nil
}

func (r *asOf) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	entries, err := readList(ctx, r.bank, r.snap.Tenant, ref, o, r.snap.instant(), r.view.list)
	return exactly(ctx, r, entries, err)
}

func (r *asOf) Get(ctx context.Context, ref, id string) (Entry, error) {
	e, err := readGet(ctx, r.bank, r.snap.Tenant, ref, id, r.snap.instant(), r.view.get)
	return exactly(ctx, r, e, err)
}

// exactly lets an answer through, an error too, if after it everything is still
// there: what was erased meanwhile could be missing from it.
func exactly[T any](ctx context.Context, r *asOf, answer T, err error) (T, error) {
	if _, gone := r.load(ctx); gone != nil {
		var none T
		return none, gone
	}
	return answer, err
}
