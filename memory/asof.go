package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/telemetry"
)

// Past reads what a run saw at a token's position.
type Past struct {
	Reader
	past *asOf
}

// Search is [Bank.Search] over what the run saw.
func (p *Past) Search(ctx context.Context, ref string, q Search) ([]Hit, error) {
	return p.past.bank.tracedSearch(ctx, func(ctx context.Context) ([]Hit, error) { return p.past.search(ctx, ref, q) })
}

// AsOf returns a reader of exactly what a run saw at a token's position, expiry
// judged at the token's instant (M7; RFC 0039 §B). It fails with
// [ErrSnapshotUnavailable], then or at any later read, for a token of another
// tenant or of a history that was lost, and in a ref where the run could have seen what
// has been forgotten or purged: never with live memory. The store must be Versioned.
func (b *Bank) AsOf(ctx context.Context, tenant string, t Token) (_ *Past, err error) {
	ctx, span := b.begin(ctx, telemetry.AsOf)
	defer span.Done(&err)
	r, err := b.openAsOf(ctx, tenant, t)
	if err != nil {
		return nil, err
	}
	return &Past{b.traced(r), r}, nil
}

// openAsOf opens what a run saw at a token's position.
func (b *Bank) openAsOf(ctx context.Context, tenant string, t Token) (*asOf, error) {
	if b.versions == nil {
		return nil, fail(ErrNotProvided, "AsOf needs a store that is driver.Versioned")
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

// CheckToken tells whether a token can still be read, resumed and replayed from. The reason is empty
// if it can, in each of the refs, and otherwise the first of these words:
//
//   - "malformed": it is not a token of this version of the library, or damaged;
//   - "tenant": it belongs to another tenant;
//   - "horizon": it is older than the bank's Horizon, and what it stands on was purged;
//   - "lost": it is younger, and what it stands on is gone all the same: by a restored
//     backup, or since the tenant was dropped;
//   - "forgotten": in one of the refs something that its run could see was forgotten.
//
// A host that has recorded which refs a run reads names them; without refs the last reason
// does not come up, and a read of [Bank.AsOf] may still be refused. The error is the store's
// or that of the context; the store must be Versioned.
func (b *Bank) CheckToken(ctx context.Context, tenant string, t Token, refs ...string) (reason string, err error) {
	if b.versions == nil {
		return "", fail(ErrNotProvided, "tokens need a store that is driver.Versioned")
	}
	snap, err := t.snapshot(tenant)
	if err == errToken {
		return "malformed", nil
	}
	if err != nil {
		return "tenant", nil
	}
	v, err := b.reopen(ctx, snap, func(*ownMark) bool { return true })
	if errors.Is(err, ErrSnapshotUnavailable) {
		if snap.at.Before(b.Now().Add(-b.cfg.Horizon)) {
			return "horizon", nil
		}
		return "lost", nil
	}
	r := &asOf{bank: b, snap: snap, view: v}
	for _, ref := range refs {
		if err == nil {
			err = r.checkIntact(ctx, ref)
		}
	}
	if errors.Is(err, ErrSnapshotUnavailable) {
		return "forgotten", nil
	}
	return "", err
}

type asOf struct {
	bank *Bank
	snap *snapshot
	view *view
}

// advance moves on the instant at which expiry is judged.
func (r *asOf) advance(at time.Time) {
	if at.After(r.snap.at) {
		r.snap.at = at
	}
}

// source is what is read. A ranker may keep the view, while a replay goes on.
func (r *asOf) source() source {
	return source{r.snap.at, r.view.list, func(context.Context, string) (*view, error) { return r.view.clone(), nil }}
}

func (r *asOf) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	entries, err := readList(ctx, r.bank, r.snap.tenant, ref, o, r.source())
	return ifIntact(ctx, r, ref, entries, err)
}

func (r *asOf) Get(ctx context.Context, ref, id string) (Entry, error) {
	e, err := readGet(ctx, r.bank, r.snap.tenant, ref, id, r.snap.at, r.view.get)
	return ifIntact(ctx, r, ref, e, err)
}

// ifIntact lets an answer through, an error too, if after it everything that the run
// could see in the ref is still there: what was erased meanwhile could be missing.
func ifIntact[T any](ctx context.Context, r *asOf, ref string, answer T, err error) (T, error) {
	if gone := r.checkIntact(ctx, ref); gone != nil {
		var none T
		return none, gone
	}
	return answer, err
}

// checkIntact fails if anything that the run could see in the ref is gone.
func (r *asOf) checkIntact(ctx context.Context, ref string) error {
	s, ok, err := r.bank.visible(ctx, r.snap.tenant, ref)
	if !ok || err != nil {
		return err
	}
	var ids []string
	for _, e := range r.view.own[ref] {
		ids = append(ids, e.id)
	}
	recs, err := lookup(ctx, r.bank.tx, s, ids)
	if err != nil {
		return err
	}
	intact, err := r.bank.versions.Intact(ctx, s, r.snap.base)
	if err != nil {
		return shape(err)
	}
	if !intact || r.view.lost[ref] || len(recs) < len(ids) || slices.ContainsFunc(recs, func(rec Record) bool { return rec.Erased }) {
		return fail(ErrSnapshotUnavailable, "something that it could see was forgotten")
	}
	return nil
}
