package memory

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
)

// Reader is what a node sees as ctx.memory: the protocol's read-only
// MemoryAdapter (RFC 0004 §A). A ref that is foreign, malformed or unresolvable
// reads as one that holds nothing.
type Reader interface {
	// List returns live entries, newest first or by relevance: at most o.Limit, or
	// [DefaultListLimit] if that is 0, and never more than [MaxListLimit]. A longer
	// list is read page by page, see ListOptions.After. Without an error the result is
	// not nil. A negative limit, a malformed tag or a malformed cursor is [ErrValidation].
	List(ctx context.Context, ref string, o ListOptions) ([]Entry, error)
	// Get returns a live entry, or [ErrNotFound].
	Get(ctx context.Context, ref, id string) (Entry, error)
}

// ListOptions is the protocol's MemoryListOptions.
type ListOptions struct {
	// Limit bounds the number of entries: 0 means [DefaultListLimit], and [MaxListLimit] is
	// the most. One below zero is [ErrValidation].
	Limit int `json:"limit,omitempty"`
	// Tag keeps the entries that carry exactly this tag. Empty keeps all.
	Tag string `json:"tag,omitempty"`
	// After continues behind the last entry of the page before, by its Entry.Cursor. The
	// entry need not be there any more. As JSON it is an opaque string. The
	// protocol has no such option.
	After driver.Cursor `json:"after,omitzero"`
	// TokenBudget bounds what the entries say together, in the units of the bank's
	// Config.TokenCounter (RFC 0113). An entry that alone exceeds it is passed over, and never
	// cut; the first other one that does not fit ends the list. Limit holds too. 0 is no
	// budget, one below zero is [ErrValidation], and any other without a counter is
	// [ErrNotProvided].
	TokenBudget int `json:"tokenBudget,omitempty"`
	// Rank is "recency", which is also what an empty one means, or "relevance" (RFC 0113): by
	// how well the entries answer Query, which then must be set, as the bank's ranker judges.
	// Where no ranker ranks by meaning, relevance is [ErrNotProvided]. Such a list has no
	// pages, and none goes beyond the first [MaxListLimit] by words and as many by meaning.
	Rank string `json:"rank,omitempty"`
	// Query is what a list by relevance is to answer; for others it means nothing. A run takes
	// its secrets out of it first.
	Query string `json:"query,omitempty"`
}

// Reader returns a reader of the tenant's live memory. If the tenant is empty, or cannot be a
// tenant's name, every read of it fails with [ErrValidation].
func (b *Bank) Reader(tenant string) Reader { return b.traced(liveReader{b, tenant}) }

type liveReader struct {
	bank   *Bank
	tenant string
}

func (r liveReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	return readList(ctx, r.bank, r.tenant, ref, o, r.bank.live())
}

func (r liveReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	return readGet(ctx, r.bank, r.tenant, ref, id, r.bank.Now(), r.bank.store.Get)
}

type (
	listFunc func(context.Context, Scope, driver.Query) ([]Entry, error)
	getFunc  func(ctx context.Context, s Scope, id string, at time.Time) (Entry, error)
)

// source is what a list is read from: live memory, what a run sees, or what it saw.
type source struct {
	at   time.Time
	list listFunc
	// view is the same for a ranker, which may keep it; nil if the store has no views.
	view func(ctx context.Context, tenant string) (*view, error)
}

// The values of ListOptions.Rank.
const (
	rankRecency   = "recency"
	rankRelevance = "relevance"
)

// check refuses options that contradict themselves, or that the bank cannot follow.
func (b *Bank) check(o ListOptions) error {
	relevance := o.Rank == rankRelevance
	switch {
	case o.Tag != "" && !validTag(o.Tag):
		return fail(ErrValidation, "ListOptions.Tag is longer than 256 characters, not UTF-8 or has U+0000")
	case !o.After.IsZero() && (!validID(o.After.ID) || !o.After.CreatedAt.Equal(millis(o.After.CreatedAt))):
		return fail(ErrValidation, "ListOptions.After is no cursor: take that of the last entry of the page before, by Entry.Cursor")
	case o.Rank != "" && o.Rank != rankRecency && !relevance:
		return fail(ErrValidation, `ListOptions.Rank is neither "recency" nor "relevance"`)
	case relevance && (strings.TrimSpace(o.Query) == "" || !validText(o.Query)):
		return fail(ErrValidation, "ListOptions.Query is empty, not UTF-8 or has U+0000, and a list by relevance answers it")
	case relevance && !o.After.IsZero():
		return fail(ErrValidation, "ListOptions.After is set, and a list by relevance has no pages")
	case relevance && b.model == "":
		return fail(ErrNotProvided, "a list by relevance needs Config.Ranker with a model, such as recall.New with an Embedder, which this bank has not")
	}
	return b.checkBudget("ListOptions.TokenBudget", o.TokenBudget)
}

func (b *Bank) checkBudget(field string, budget int) error {
	switch {
	case budget < 0:
		return fail(ErrValidation, field+" is below zero: 0 is no budget")
	case budget > 0 && b.cfg.TokenCounter == nil:
		return fail(ErrNotProvided, field+" needs Config.TokenCounter, which this bank has not")
	}
	return nil
}

// readList is the one way by which a list reaches a host, from every source.
func readList(ctx context.Context, b *Bank, tenant, ref string, o ListOptions, from source) ([]Entry, error) {
	limit, err := boundLimit(o.Limit)
	if err == nil {
		err = b.check(o)
	}
	if err != nil {
		return nil, err
	}
	s, ok, err := b.visible(ctx, tenant, ref)
	if !ok || err != nil {
		return []Entry{}, err
	}
	q := driver.Query{After: o.After, Limit: limit, At: from.at}
	if o.Tag != "" {
		q.Tags = []string{o.Tag}
	}
	if o.Rank != rankRelevance && o.TokenBudget == 0 {
		entries, err := from.list(ctx, s, q)
		if err != nil {
			return nil, shape(err)
		}
		return handOut(entries), nil
	}
	candidates := filtered(ctx, s, "", q, from)
	if o.Rank == rankRelevance {
		candidates = b.rank(ctx, s, Search{Text: o.Query, Tags: q.Tags, Limit: limit, TokenBudget: o.TokenBudget}, from)
	}
	hits, err := b.withinBudget(ctx, candidates, o.TokenBudget, limit)
	entries := make([]Entry, len(hits))
	for i := range hits {
		entries[i] = hits[i].Entry
	}
	return entries, err
}

// withinBudget returns the leading hits that fit in budget tokens; 0 means no budget.
func (b *Bank) withinBudget(ctx context.Context, hits iter.Seq2[Hit, error], budget, limit int) ([]Hit, error) {
	fit := []Hit{}
	left, size := budget, countedAtOnce
	if budget == 0 {
		size = limit
	}
	for part, err := range parts(hits, size) {
		if err != nil {
			return nil, err
		}
		sizes := make([]int, len(part))
		if budget > 0 {
			if sizes, err = b.count(ctx, part); err != nil {
				return nil, err
			}
		}
		for i, h := range part {
			if sizes[i] > budget {
				continue
			}
			if sizes[i] > left {
				return fit, nil
			}
			left -= sizes[i]
			if fit = append(fit, h); len(fit) == limit {
				return fit, nil
			}
		}
	}
	return fit, nil
}

// countedAtOnce is for how many entries a token counter is waited for at a time.
const countedAtOnce = 64

// parts yields hits so many at a time.
func parts(hits iter.Seq2[Hit, error], size int) iter.Seq2[[]Hit, error] {
	return func(yield func([]Hit, error) bool) {
		var part []Hit
		for h, err := range hits {
			if err != nil {
				yield(nil, err)
				return
			}
			if part = append(part, h); len(part) == size {
				if !yield(part, nil) {
					return
				}
				part = nil
			}
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}

// count asks the token counter how much entries say.
func (b *Bank) count(ctx context.Context, hits []Hit) ([]int, error) {
	const part = "the token counter"
	sizes, err := hostcall.Call(ctx, part, PluginTimeout, func(context.Context) ([]int, error) {
		sizes := make([]int, len(hits))
		for i := range hits {
			sizes[i] = b.cfg.TokenCounter.Count(hits[i].Entry.Content)
		}
		return sizes, nil
	})
	if err != nil {
		return nil, hostFailed(ctx, part, err)
	}
	if slices.ContainsFunc(sizes, func(n int) bool { return n < 0 }) {
		return nil, fail(ErrInternal, "the token counter counts below zero")
	}
	return sizes, nil
}

// readGet is the one way by which an entry reaches a host.
func readGet(ctx context.Context, b *Bank, tenant, ref, id string, at time.Time, get getFunc) (Entry, error) {
	s, ok, err := b.visible(ctx, tenant, ref)
	if err != nil {
		return Entry{}, err
	}
	if !ok || !validID(id) {
		return Entry{}, fail(ErrNotFound, "")
	}
	e, err := get(ctx, s, id, at)
	if errors.Is(err, ErrNotFound) {
		return Entry{}, fail(ErrNotFound, "")
	}
	if err != nil {
		return Entry{}, shape(err)
	}
	return ownCopy(e), nil
}

func boundLimit(limit int) (int, error) {
	switch {
	case limit < 0:
		return 0, fail(ErrValidation, "Limit is below zero: 0 means the default")
	case limit == 0:
		return DefaultListLimit, nil
	}
	return min(limit, MaxListLimit), nil
}

// handOut makes entries of a store the caller's own.
func handOut(entries []Entry) []Entry {
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = ownCopy(e)
	}
	return out
}

// ownCopy gives e slices of its own, since a store may share its.
func ownCopy(e Entry) Entry {
	if e.Tags = slices.Clone(e.Tags); e.Tags == nil {
		e.Tags = []string{}
	}
	e.Subjects = slices.Clone(e.Subjects)
	e.Sources = slices.Clone(e.Sources)
	return e
}
