package memory

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Search is a filter over the entries of a ref.
type Search struct {
	// Text must occur in the content, compared without regard to case; a semantic store
	// ranks by it instead. Empty keeps all.
	Text string
	// Tags must all be carried.
	Tags []string
	// Since and Until bound CreatedAt: Since <= CreatedAt < Until, also for instants between
	// milliseconds. Zero is no bound.
	Since, Until time.Time
	// Limit bounds the number of entries; 0 means [DefaultListLimit], and [MaxListLimit] is
	// the most.
	Limit int
	// Rank says by what a recall ranks: "lexical" by words, "semantic" by meaning, and empty
	// by both as far as the bank's ranker can. A filter does not look at it.
	Rank string
}

// Search filters the tenant's live memory in a ref by text, tags and time. Where the
// store is a driver.Searcher its index is used, and a semantic one ranks; otherwise the
// bank filters, which reads the whole ref. A ref that is foreign, malformed or
// unresolvable holds nothing. The result is never nil without an error.
func (b *Bank) Search(ctx context.Context, tenant, ref string, q Search) (found []Entry, err error) {
	ctx, span := b.Begin(ctx, telemetry.Search)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Records.Of(len(found))) }()
	return b.readFiltered(ctx, tenant, ref, q, func(ctx context.Context, s Scope, q driver.Search) ([]Entry, error) {
		if b.searcher == nil {
			return filterPages(ctx, s, q, b.store.List)
		}
		found, err := b.searcher.Search(ctx, s, q)
		return slices.DeleteFunc(slices.Clone(found), func(e Entry) bool { return !e.LiveAt(q.At) }), err
	})
}

// Search filters what the run sees in a ref by text, tags and time, newest first. It
// reads the whole ref: no index knows the past.
func (r *Run) Search(ctx context.Context, ref string, q Search) (found []Entry, err error) {
	ctx, span := r.bank.Begin(ctx, telemetry.Search)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Records.Of(len(found))) }()
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.life.RUnlock()
	if r.replay != nil {
		return nil, fail(ErrNotProvided, "a replay has no searches: they are not recorded")
	}
	return r.bank.readFiltered(ctx, r.tenant, ref, q, func(ctx context.Context, s Scope, q driver.Search) ([]Entry, error) {
		return filterPages(ctx, s, q, r.list)
	})
}

// readFiltered is the one way by which the answer of a search reaches a host.
func (b *Bank) readFiltered(ctx context.Context, tenant, ref string, q Search, find func(context.Context, Scope, driver.Search) ([]Entry, error)) ([]Entry, error) {
	filter, err := b.filter(q, b.Now())
	if err != nil {
		return nil, err
	}
	s, ok, err := b.visible(ctx, tenant, ref)
	if !ok || err != nil {
		return []Entry{}, err
	}
	found, err := find(ctx, s, filter)
	if err != nil {
		return nil, shape(err)
	}
	return handOut(found), nil
}

// filter is what a host searches for, as a store is asked for it.
func (b *Bank) filter(q Search, at time.Time) (driver.Search, error) {
	limit, err := boundLimit(q.Limit)
	if err != nil {
		return driver.Search{}, err
	}
	if !validText(q.Text) {
		return driver.Search{}, fail(ErrValidation, "Search.Text is not UTF-8 or has U+0000")
	}
	for _, t := range q.Tags {
		if !validTag(t) {
			return driver.Search{}, fail(ErrValidation, "a tag of Search.Tags is longer than 256 characters, not UTF-8 or has U+0000")
		}
	}
	return driver.Search{Text: q.Text, Tags: q.Tags, Since: millisUp(q.Since), Until: millisUp(q.Until), Limit: limit, At: at}, nil
}

// filterPages searches a ref by reading all of it, page by page.
func filterPages(ctx context.Context, s Scope, q driver.Search, list listFunc) ([]Entry, error) {
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
