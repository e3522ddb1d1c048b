package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Search is a filter over the entries of a ref.
type Search struct {
	// Text must occur in the content, compared without regard to case. Empty keeps all.
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

// Search filters the tenant's live memory in a ref by text, tags and time, newest first. A
// search by text reads the ref until it has enough. A ref that is foreign, malformed or
// unresolvable holds nothing. The result is never nil without an error.
func (b *Bank) Search(ctx context.Context, tenant, ref string, q Search) (found []Entry, err error) {
	ctx, span := b.Begin(ctx, telemetry.Search)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Records.Of(len(found))) }()
	return b.readFiltered(ctx, tenant, ref, q, b.store.List)
}

// Search filters what the run sees in a ref by text, tags and time, as [Bank.Search] does.
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
	return r.bank.readFiltered(ctx, r.tenant, ref, q, r.list)
}

// readFiltered is the one way by which the answer of a search reaches a host.
func (b *Bank) readFiltered(ctx context.Context, tenant, ref string, q Search, list listFunc) ([]Entry, error) {
	limit, err := boundLimit(q.Limit)
	if err == nil {
		err = q.check()
	}
	if err != nil {
		return nil, err
	}
	s, ok, err := b.visible(ctx, tenant, ref)
	if !ok || err != nil {
		return []Entry{}, err
	}
	text := strings.ToLower(q.Text)
	found := []Entry{}
	for e, err := range pages(ctx, s, q.filter(b.Now()), list) {
		if err != nil {
			return nil, shape(err)
		}
		if !strings.Contains(strings.ToLower(e.Content), text) {
			continue
		}
		if found = append(found, ownCopy(e)); len(found) == limit {
			break
		}
	}
	return found, nil
}

// check refuses a question that no entry could answer.
func (q *Search) check() error {
	if !validText(q.Text) {
		return fail(ErrValidation, "Search.Text is not UTF-8 or has U+0000")
	}
	if !slices.ContainsFunc(q.Tags, func(t string) bool { return !validTag(t) }) {
		return nil
	}
	return fail(ErrValidation, "a tag of Search.Tags is longer than 256 characters, not UTF-8 or has U+0000")
}

// filter is the question as a store is asked it, without its text.
func (q *Search) filter(at time.Time) driver.Query {
	return driver.Query{At: at, Tags: q.Tags, Since: millisUp(q.Since), Until: millisUp(q.Until)}
}
