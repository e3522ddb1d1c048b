package memory

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Search is a question to the memory of a ref. Its zero value asks for everything.
type Search struct {
	// Text is what is asked. The bank's Config.Ranker ranks by it; where there is none, Text
	// must occur in the content, compared without regard to case. Empty asks for all that the
	// other fields let through, newest first.
	Text string
	// Tags must all be carried.
	Tags []string
	// Subject must be carried, if it is not empty. SQLite and PostgreSQL find what carries one by an
	// index; for tags they read the ref, newest first, until enough is found.
	Subject string
	// Since and Until bound CreatedAt: Since <= CreatedAt < Until, also for instants between
	// milliseconds. Zero is no bound.
	Since, Until time.Time
	// Limit bounds the number of entries; 0 means [DefaultListLimit], and [MaxListLimit] is
	// the most.
	Limit int
	// TokenBudget bounds what the entries say together, as ListOptions.TokenBudget does.
	TokenBudget int
	// Rank says by what the ranker ranks: "lexical" by words, "semantic" by meaning, and empty
	// by both as far as it can.
	Rank string
}

// Search answers a question from the tenant's live memory in a ref: best first with a
// Config.Ranker, and newest first without one or without a Text. It returns nothing that a
// list of the ref would not. A ref that is foreign, malformed or unresolvable holds nothing.
// The result is never nil without an error. It fails with [ErrNotProvided] if q.Rank or
// q.TokenBudget asks for a part that the bank has not.
func (b *Bank) Search(ctx context.Context, tenant, ref string, q Search) ([]Hit, error) {
	return b.tracedSearch(ctx, func(ctx context.Context) ([]Hit, error) {
		return b.search(ctx, tenant, ref, q, b.live())
	})
}

// Search is [Bank.Search] over what the run sees, by a question out of whose text the run's
// secrets were taken. In a replay from tokens it gives the recorded run's answer, or
// [ErrSnapshotUnavailable] if anything in the ref may have expired meanwhile, since all of it
// counts in a ranking; one from recorded reads fails with [ErrNotProvided].
func (r *Run) Search(ctx context.Context, ref string, q Search) ([]Hit, error) {
	return r.bank.tracedSearch(ctx, func(ctx context.Context) (_ []Hit, err error) {
		if err := r.enter(); err != nil {
			return nil, err
		}
		defer r.life.RUnlock()
		if q.Text != "" {
			if q.Text, err = r.clean(ctx, q.Text, false); err != nil {
				return nil, err
			}
		}
		if r.replay != nil {
			return r.replay.search(ctx, ref, q)
		}
		return r.bank.search(ctx, r.tenant, ref, q, r.source())
	})
}

func (b *Bank) tracedSearch(ctx context.Context, search func(context.Context) ([]Hit, error)) (hits []Hit, err error) {
	ctx, span := b.begin(ctx, telemetry.Search)
	defer span.Done(&err)
	hits, err = search(ctx)
	span.Add(telemetry.Records.Of(len(hits)))
	return hits, err
}

func (r *asOf) search(ctx context.Context, ref string, q Search) ([]Hit, error) {
	hits, err := r.bank.search(ctx, r.snap.tenant, ref, q, r.source())
	return ifIntact(ctx, r, ref, hits, err)
}

func (p *replayer) search(ctx context.Context, ref string, q Search) ([]Hit, error) {
	if p.past == nil {
		return nil, fail(ErrNotProvided, "a replay from recorded reads has no searches: replay from tokens")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	hits, err := p.past.search(ctx, ref, q)
	if err == nil {
		err = p.refuseExpiredInRef(ctx, ref)
	}
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// refuseExpiredInRef refuses a ref if anything in it expired, since an answer is ranked by all of it.
func (p *replayer) refuseExpiredInRef(ctx context.Context, ref string) error {
	s, ok, err := p.bank.visible(ctx, p.tenant, ref)
	if !ok || err != nil {
		return err
	}
	for e, err := range walk(ctx, s, driver.Query{At: p.past.snap.at}, p.past.view.list) {
		if err == nil {
			err = p.refuseExpiredBetween(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// live is memory as it is now.
func (b *Bank) live() source { return source{b.Now(), b.store.List, b.newest} }

// search is the one way by which an answer reaches a host, from every source.
func (b *Bank) search(ctx context.Context, tenant, ref string, q Search, from source) ([]Hit, error) {
	limit, err := boundLimit(q.Limit)
	if err == nil {
		err = b.checkSearch(&q)
	}
	if err != nil {
		return nil, err
	}
	s, ok, err := b.visible(ctx, tenant, ref)
	if !ok || err != nil {
		return []Hit{}, err
	}
	q.Limit = limit
	return b.withinBudget(ctx, b.candidates(ctx, s, q, from), q.TokenBudget, limit)
}

// candidates yields the entries that answer a question, as many as it may want.
func (b *Bank) candidates(ctx context.Context, s Scope, q Search, from source) iter.Seq2[Hit, error] {
	if q.Text != "" && b.cfg.Ranker != nil {
		return b.rank(ctx, s, q, from)
	}
	filter := q.filter(from.at)
	if q.Text == "" && q.TokenBudget == 0 {
		filter.Limit = q.Limit
	}
	return filtered(ctx, s, q.Text, filter, from)
}

// filtered yields the entries of a list in which a text occurs. It reads some at a time, as
// many as q.Limit says.
func filtered(ctx context.Context, s Scope, text string, q driver.Query, from source) iter.Seq2[Hit, error] {
	text = strings.ToLower(text)
	return func(yield func(Hit, error) bool) {
		for e, err := range walk(ctx, s, q, from.list) {
			if (err != nil || strings.Contains(strings.ToLower(e.Content), text)) && !yield(Hit{Entry: e}, err) {
				return
			}
		}
	}
}

// maxRanked bounds what a ranker is asked for at once.
const maxRanked = 1 << 20

// rank yields what the ranker has found, best first. It asks again for twice as many while the
// filters, which the ranker may not know, leave fewer than are wanted.
func (b *Bank) rank(ctx context.Context, s Scope, q Search, from source) iter.Seq2[Hit, error] {
	filter := q.filter(from.at)
	if filter.Limit = q.Limit; q.TokenBudget > 0 {
		filter.Limit = 2 * MaxListLimit // some may be passed over
	}
	return func(yield func(Hit, error) bool) {
		seen, err := from.view(ctx, s.Tenant)
		v := &View{bank: b, scope: s, at: from.at, view: seen}
		seenIDs, yielded := map[string]bool{}, 0
		for limit := filter.Limit; err == nil; limit *= 2 {
			var found []Hit
			if found, err = v.askRanker(ctx, q, limit); err != nil {
				break
			}
			fresh := unseen(found, seenIDs)
			for part := range slices.Chunk(fresh, pageSize) {
				var hits []Hit
				if hits, err = v.resolve(ctx, part, filter); err != nil {
					break
				}
				for _, h := range hits {
					if yielded++; !yield(h, nil) {
						return
					}
				}
			}
			if len(found) < limit || len(fresh) == 0 || yielded >= filter.Limit || limit >= maxRanked {
				break
			}
		}
		if err != nil {
			yield(Hit{}, err)
		}
	}
}

// unseen returns the hits whose ids were not seen before, and adds these.
func unseen(found []Hit, seenIDs map[string]bool) (fresh []Hit) {
	for _, h := range found {
		if id := h.Entry.ID; !seenIDs[id] && validID(id) {
			seenIDs[id] = true
			fresh = append(fresh, h)
		}
	}
	return fresh
}

// checkSearch refuses a question that no entry could answer, or that the bank cannot follow.
func (b *Bank) checkSearch(q *Search) error {
	switch {
	case !validText(q.Text):
		return fail(ErrValidation, "Search.Text is not UTF-8 or has U+0000")
	case slices.ContainsFunc(q.Tags, func(t string) bool { return !validTag(t) }):
		return fail(ErrValidation, "a tag of Search.Tags is longer than 256 characters, not UTF-8 or has U+0000")
	case q.Subject != "" && !validTag(q.Subject):
		return fail(ErrValidation, "Search.Subject is longer than 256 characters, not UTF-8 or has U+0000")
	case q.Rank != "" && q.Rank != "lexical" && q.Rank != "semantic":
		return fail(ErrValidation, `Search.Rank is neither "lexical" nor "semantic" nor empty`)
	case q.Rank != "" && b.cfg.Ranker == nil:
		return fail(ErrNotProvided, "Search.Rank needs Config.Ranker, such as recall.New, which this bank has not")
	case q.Rank == "semantic" && b.model == "":
		return fail(ErrNotProvided, "Search.Rank is \"semantic\", and Config.Ranker has no model: make it with an Embedder")
	}
	return b.checkBudget("Search.TokenBudget", q.TokenBudget)
}

// filter is the question as a store is asked it, without its text.
func (q *Search) filter(at time.Time) driver.Query {
	return driver.Query{At: at, Tags: q.Tags, Subject: q.Subject, Since: millisUp(q.Since), Until: millisUp(q.Until)}
}
