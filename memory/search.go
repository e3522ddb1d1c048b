package memory

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Search filters the tenant's live memory in a ref by text, tags and time. Where the
// store is a [Searcher] its index is used, and a semantic one ranks; otherwise the
// bank filters, which reads the whole ref. A ref that is foreign, malformed or
// unresolvable holds nothing. The result is never nil without an error.
func (b *Bank) Search(ctx context.Context, tenant, ref string, q Search) ([]Entry, error) {
	q.At = b.Now()
	return b.search(ctx, tenant, ref, q, func(ctx context.Context, s Scope, q Search) ([]Entry, error) {
		if b.searcher == nil {
			return filter(ctx, s, q, b.store.List)
		}
		found, err := b.searcher.Search(ctx, s, q)
		return slices.DeleteFunc(slices.Clone(found), func(e Entry) bool { return !e.LiveAt(q.At) }), err
	})
}

// Search filters what the run sees in a ref by text, tags and time, newest first. It
// reads the whole ref: no index knows the past.
func (r *Run) Search(ctx context.Context, ref string, q Search) ([]Entry, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil, fail(ErrNotProvided, "searches are not recorded")
	}
	q.At = r.bank.Now()
	return r.bank.search(ctx, r.tenant, ref, q, func(ctx context.Context, s Scope, q Search) ([]Entry, error) {
		return filter(ctx, s, q, r.list)
	})
}

func (b *Bank) search(ctx context.Context, tenant, ref string, q Search, find func(context.Context, Scope, Search) ([]Entry, error)) ([]Entry, error) {
	limit, err := boundLimit(q.Limit)
	if err != nil {
		return nil, err
	}
	q.Limit = limit
	if !validText(q.Text) {
		return nil, fail(ErrValidation, "text is not UTF-8 or holds U+0000")
	}
	for _, t := range q.Tags {
		if !validTag(t) {
			return nil, fail(ErrValidation, "malformed tag")
		}
	}
	s, held, err := b.visible(ctx, tenant, ref)
	if !held || err != nil {
		return []Entry{}, err
	}
	found, err := find(ctx, s, q)
	if err != nil {
		return nil, shape(err)
	}
	return handOut(found), nil
}

// filter searches by reading everything.
func filter(ctx context.Context, s Scope, q Search, list listFunc) ([]Entry, error) {
	var found []Entry
	for e, err := range pages(ctx, s, driver.Query{At: q.At}, list) {
		if err != nil {
			return nil, err
		}
		if !q.Matches(&e) {
			continue
		}
		if found = append(found, e); len(found) == q.Limit {
			break
		}
	}
	return found, nil
}
