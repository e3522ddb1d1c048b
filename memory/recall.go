package memory

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Ranker finds the entries of a view that answer a question. Package recall has one. It is
// safe for concurrent use.
type Ranker interface {
	// Rank returns the entries of the view that answer q, best first and at most q.Limit.
	// Of Hit.Entry only the ID is set: the bank reads each entry through the view, and
	// leaves out what the view does not show or the filters of q exclude.
	Rank(ctx context.Context, v *View, q Search) ([]Hit, error)
	// Version names how the ranker works. The same view, question and version give the
	// same answer.
	Version() string
}

// Hit is an entry that answers a question, and why it does.
type Hit struct {
	Entry Entry
	// Score orders the hits of one answer. It means nothing outside of it.
	Score float64
	// Terms are the words of the question that the entry matched, as the ranker compares
	// them.
	Terms []string
}

// Recall returns the entries of the tenant's live memory in a ref that answer q.Text, best
// first, by the bank's Config.Ranker; the other fields of q narrow the answer. It returns
// nothing that a list of the ref would not. A ref that is foreign, malformed or unresolvable
// holds nothing. It fails with [ErrNotProvided] without a ranker.
func (b *Bank) Recall(ctx context.Context, tenant, ref string, q Search) ([]Hit, error) {
	return b.recall(ctx, tenant, ref, q, b.Now(), b.newest)
}

// RecallAsOf is [Bank.Recall] over what a run saw at a token's position, with the errors of
// [Bank.AsOf].
func (b *Bank) RecallAsOf(ctx context.Context, tenant string, t Token, ref string, q Search) ([]Hit, error) {
	r, err := b.AsOf(ctx, tenant, t)
	if err != nil {
		return nil, err
	}
	return r.(*asOf).recall(ctx, ref, q)
}

func (r *asOf) recall(ctx context.Context, ref string, q Search) ([]Hit, error) {
	hits, err := r.bank.recall(ctx, r.snap.tenant, ref, q, r.snap.at, func(context.Context, string) (*view, error) {
		return r.view.clone(), nil // a ranker may keep it, while the replay goes on
	})
	return exactly(ctx, r, ref, hits, err)
}

// Recall is [Bank.Recall] over what the run sees. In a replay from tokens it gives the
// recorded run's answer, or [ErrSnapshotUnavailable] if anything in the ref may have expired
// meanwhile, since all of it counts in a ranking; one from recorded reads fails with
// [ErrNotProvided].
func (r *Run) Recall(ctx context.Context, ref string, q Search) ([]Hit, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return r.replay.recall(ctx, ref, q)
	}
	return r.bank.recall(ctx, r.tenant, ref, q, r.bank.Now(), func(context.Context, string) (*view, error) {
		r.viewLock.RLock()
		defer r.viewLock.RUnlock()
		return r.view.clone(), nil
	})
}

func (p *replayer) recall(ctx context.Context, ref string, q Search) ([]Hit, error) {
	if p.past == nil {
		return nil, fail(ErrNotProvided, "recalls are not in a record of reads")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	hits, err := p.past.recall(ctx, ref, q)
	if err == nil {
		err = p.steadyRef(ctx, ref)
	}
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// steadyRef is steady for everything in a ref, by all of which an answer is ranked.
func (p *replayer) steadyRef(ctx context.Context, ref string) error {
	s, held, err := p.bank.visible(ctx, p.tenant, ref)
	if !held || err != nil {
		return err
	}
	for e, err := range pages(ctx, s, driver.Query{At: p.past.snap.at}, p.past.view.list) {
		if err != nil {
			return shape(err)
		}
		if err := p.steady(e); err != nil {
			return err
		}
	}
	return nil
}

// newest is a view of memory as it is now; nil if the store has no views.
func (b *Bank) newest(ctx context.Context, tenant string) (*view, error) {
	if b.versions == nil {
		return nil, nil
	}
	version, err := b.versions.Version(ctx, tenant)
	if err != nil {
		return nil, shape(err)
	}
	return newView(b.versions, version), nil
}

// recall is the one way by which a ranked answer reaches a host, whatever it is read from.
func (b *Bank) recall(ctx context.Context, tenant, ref string, q Search, at time.Time, open func(context.Context, string) (*view, error)) ([]Hit, error) {
	if b.cfg.Ranker == nil {
		return nil, fail(ErrNotProvided, "the bank has no ranker")
	}
	filter, err := b.filter(q, at)
	if err != nil {
		return nil, err
	}
	s, held, err := b.visible(ctx, tenant, ref)
	if !held || err != nil {
		return []Hit{}, err
	}
	seen, err := open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	v := &View{bank: b, scope: s, at: at, view: seen}
	q.Limit, q.Since, q.Until = filter.Limit, filter.Since, filter.Until
	q.Tags = slices.Clone(q.Tags) // the ranker may do with them what it wants, even too late
	ranked, err := ask(ctx, "the ranker", func(ctx context.Context) ([]Hit, error) { return b.cfg.Ranker.Rank(ctx, v, q) })
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, shape(err)
	}
	return v.answer(ctx, ranked, filter)
}

// answer reads what a ranker has found, and leaves out what it should not have.
func (v *View) answer(ctx context.Context, ranked []Hit, filter driver.Search) ([]Hit, error) {
	var ids []string
	for i := range ranked {
		if id := ranked[i].Entry.ID; validID(id) {
			ids = append(ids, id)
		}
	}
	entries, err := v.Get(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Entry, len(entries))
	for _, e := range entries {
		byID[e.ID] = e
	}
	filter.Text = "" // the ranker has judged it
	hits := make([]Hit, 0, len(ranked))
	for _, h := range ranked {
		e, ok := byID[h.Entry.ID]
		if !ok || !filter.Matches(&e) || len(hits) == filter.Limit {
			continue
		}
		delete(byID, e.ID) // once
		h.Entry = e
		hits = append(hits, h)
	}
	return hits, nil
}

// View is what a [Ranker] reads: the entries of one ref as somebody sees them at one
// instant. It is safe for concurrent use, and may be kept.
type View struct {
	bank  *Bank
	scope Scope
	at    time.Time
	view  *view // nil if the store has no views: then it is read as it is now
}

// Scope returns the tenant and ref that the view is of.
func (v *View) Scope() Scope { return v.scope }

// At returns the instant at which expiry is judged.
func (v *View) At() time.Time { return v.at }

// Entries yields everything that the view shows, newest first, and stops after an error.
func (v *View) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	list := v.bank.store.List
	if v.view != nil {
		list = v.view.list
	}
	return func(yield func(Entry, error) bool) {
		for e, err := range pages(ctx, v.scope, driver.Query{At: v.at}, list) {
			if err != nil {
				yield(Entry{}, shape(err))
				return
			}
			if !yield(ownCopy(e), nil) {
				return
			}
		}
	}
}

// Get returns those of the entries that the view shows, in no particular order.
func (v *View) Get(ctx context.Context, ids []string) ([]Entry, error) {
	var found []Entry
	if v.view == nil {
		for _, id := range ids {
			e, err := v.bank.store.Get(ctx, v.scope, id, v.at)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, shape(err)
			}
			found = append(found, ownCopy(e))
		}
		return found, nil
	}
	own, base := v.view.split(v.scope.Ref, ids)
	for part := range slices.Chunk(own, lookupSize) {
		recs, err := v.view.store.Lookup(ctx, v.scope, part)
		if err != nil {
			return nil, shape(err)
		}
		for _, rec := range recs {
			if !rec.Erased && rec.Entry.LiveAt(v.at) {
				found = append(found, ownCopy(rec.Entry))
			}
		}
	}
	if len(own) > 0 { // while the base can be read, no purge has taken an own write
		if _, err := v.view.store.Intact(ctx, v.scope, v.view.base); err != nil {
			return nil, shape(err)
		}
	}
	for part := range slices.Chunk(base, lookupSize) {
		entries, err := v.view.store.GetAt(ctx, v.scope, v.view.base, part, v.at)
		if err != nil {
			return nil, shape(err)
		}
		found = append(found, handOut(entries)...)
	}
	return found, nil
}

// split tells own writes of the view from others.
func (v *view) split(ref string, ids []string) (own, base []string) {
	mine := make(map[string]bool, len(v.own[ref]))
	for _, e := range v.own[ref] {
		mine[e.id] = true
	}
	for _, id := range ids {
		if mine[id] {
			own = append(own, id)
		} else {
			base = append(base, id)
		}
	}
	return own, base
}

// Newest returns a view of the same ref as it is now, in which nothing has expired, and a
// name of that state: two newest views of a ref with the same name show the same entries,
// but for what was erased. It fails with [ErrNotProvided] if the store cannot tell what changes, so
// that a ranker must read the ref each time.
func (v *View) Newest(ctx context.Context) (*View, string, error) {
	if v.view == nil || v.bank.changes == nil {
		return nil, "", fail(ErrNotProvided, "the store does not tell what has changed")
	}
	seen, err := v.bank.newest(ctx, v.scope.Tenant)
	if err != nil {
		return nil, "", err
	}
	return &View{bank: v.bank, scope: v.scope, view: seen}, string(seen.base), nil
}

// Differs returns the ids of all entries that the view may show and the newest view of that
// name did not, or the other way round, and which of them were erased. Expiry is left to
// the caller. It fails with [ErrSnapshotUnavailable] if the name is too old.
func (v *View) Differs(ctx context.Context, name string) (touched, erased []string, err error) {
	if v.view == nil || v.bank.changes == nil {
		return nil, nil, fail(ErrNotProvided, "the store does not tell what has changed")
	}
	for _, e := range v.view.own[v.scope.Ref] {
		touched = append(touched, e.id)
	}
	base, then := v.view.base, driver.Version(name)
	if base == then {
		return touched, nil, nil
	}
	for _, way := range [2][2]driver.Version{{then, base}, {base, then}} { // one of them is empty
		c, err := v.bank.changes.Changes(ctx, v.scope, way[0], way[1])
		if err != nil {
			return nil, nil, shape(err)
		}
		touched = slices.Concat(touched, c.Put, c.Retired, c.Restored, c.Erased)
		erased = append(erased, c.Erased...)
	}
	return touched, erased, nil
}
