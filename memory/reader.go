package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Reader is what a node sees as ctx.memory: the protocol's read-only
// MemoryAdapter (RFC 0004 §A). A ref that is foreign, malformed or unresolvable
// reads as one that holds nothing.
type Reader interface {
	// List returns live entries, newest first: at most o.Limit, or
	// [DefaultListLimit] if that is 0, and never more than [MaxListLimit]. A longer
	// list is read page by page, see ListOptions.After. Without an error the result is
	// not nil. A negative limit, a malformed tag or a malformed cursor is [ErrValidation].
	List(ctx context.Context, ref string, o ListOptions) ([]Entry, error)
	// Get returns a live entry, or [ErrNotFound].
	Get(ctx context.Context, ref, id string) (Entry, error)
}

// ListOptions is the protocol's MemoryListOptions.
type ListOptions struct {
	Limit int    `json:"limit,omitempty"`
	Tag   string `json:"tag,omitempty"`
	// After continues behind the last entry of the page before, by its Entry.Cursor. The
	// entry need not be there any more. As JSON it is an opaque string. It is not the
	// protocol's.
	After driver.Cursor `json:"after,omitzero"`
	// TokenBudget bounds what the entries say together, in the units of the bank's
	// Config.TokenCounter (RFC 0113). An entry that alone exceeds it is passed over, and never
	// cut; the first other one that does not fit ends the list. Limit holds too. 0 is no
	// budget, one below zero is [ErrValidation], and any other without a counter is
	// [ErrNotProvided].
	TokenBudget int `json:"tokenBudget,omitempty"`
}

// Reader returns a reader of the tenant's live memory.
func (b *Bank) Reader(tenant string) Reader { return liveReader{b, tenant} }

type liveReader struct {
	bank   *Bank
	tenant string
}

func (r liveReader) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	return readList(ctx, r.bank, r.tenant, ref, o, r.bank.Now(), r.bank.store.List)
}

func (r liveReader) Get(ctx context.Context, ref, id string) (Entry, error) {
	return readGet(ctx, r.bank, r.tenant, ref, id, r.bank.Now(), r.bank.store.Get)
}

type (
	listFunc func(context.Context, Scope, driver.Query) ([]Entry, error)
	getFunc  func(ctx context.Context, s Scope, id string, at time.Time) (Entry, error)
)

// readList is the one way by which a list reaches a host, whatever it is read
// from.
func readList(ctx context.Context, b *Bank, tenant, ref string, o ListOptions, at time.Time, list listFunc) ([]Entry, error) {
	limit, err := boundLimit(o.Limit)
	if err != nil {
		return nil, err
	}
	if o.Tag != "" && !validTag(o.Tag) {
		return nil, fail(ErrValidation, "malformed tag")
	}
	switch {
	case o.TokenBudget < 0:
		return nil, fail(ErrValidation, "the token budget is below zero")
	case o.TokenBudget > 0 && b.cfg.TokenCounter == nil:
		return nil, fail(ErrNotProvided, "the bank has no token counter")
	}
	if !o.After.IsZero() && (!validID(o.After.ID) || !o.After.CreatedAt.Equal(millis(o.After.CreatedAt))) {
		return nil, fail(ErrValidation, "malformed cursor")
	}
	s, held, err := b.visible(ctx, tenant, ref)
	if !held || err != nil {
		return []Entry{}, err
	}
	q := driver.Query{After: o.After, Limit: limit, Tag: o.Tag, At: at}
	var entries []Entry
	if o.TokenBudget == 0 {
		entries, err = list(ctx, s, q)
	} else {
		entries, err = b.fitting(ctx, s, q, o.TokenBudget, list)
	}
	if err != nil {
		return nil, shape(err)
	}
	return handOut(entries), nil
}

// fitting is the beginning of a list whose entries fit into a budget.
func (b *Bank) fitting(ctx context.Context, s Scope, q driver.Query, budget int, list listFunc) ([]Entry, error) {
	var fit []Entry
	left := budget
	for e, err := range pages(ctx, s, q, list) {
		if err != nil {
			return nil, err
		}
		size := 0
		err = guard("the token counter", func() error {
			size = b.cfg.TokenCounter.Count(e.Content)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if size > budget {
			continue
		}
		if size > left || len(fit) == q.Limit {
			break
		}
		left -= size
		fit = append(fit, e)
	}
	return fit, nil
}

// readGet is the one way by which an entry reaches a host.
func readGet(ctx context.Context, b *Bank, tenant, ref, id string, at time.Time, get getFunc) (Entry, error) {
	s, held, err := b.visible(ctx, tenant, ref)
	if err != nil {
		return Entry{}, err
	}
	if !held || !validID(id) {
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
		return 0, fail(ErrValidation, "the limit is below zero")
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
