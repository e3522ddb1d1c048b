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
	if !o.After.IsZero() && !validID(o.After.ID) {
		return nil, fail(ErrValidation, "malformed cursor")
	}
	s, held, err := b.visible(ctx, tenant, ref)
	if !held || err != nil {
		return []Entry{}, err
	}
	entries, err := list(ctx, s, driver.Query{After: o.After, Limit: limit, Tag: o.Tag, At: at})
	if err != nil {
		return nil, shape(err)
	}
	return handOut(entries), nil
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
