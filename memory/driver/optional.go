package driver

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
)

// Searcher is a store with a search of its own over the live entries of a scope:
// a full-text index, an embedding. Without it a bank filters lists itself.
type Searcher interface {
	// Search returns live entries that match q: newest first, or best first if
	// the store is semantic and q.Text is not empty.
	Search(ctx context.Context, s Scope, q Search) ([]Entry, error)
}

// Search is a filter over the entries of a scope. Empty fields do not filter.
type Search struct {
	// Text must occur in the content, compared without regard to case; a semantic
	// store ranks by it instead.
	Text string
	// Tags must all be carried.
	Tags []string
	// Since and Until bound CreatedAt: Since <= CreatedAt < Until.
	Since, Until time.Time
	// Limit bounds the number of entries; 0 means all. A bank always sets it.
	Limit int
	// At is the instant at which liveness is judged; a bank sets it.
	At time.Time
}

// Matches reports whether e passes the filter, apart from its Limit. It is what a
// [Searcher] without an index of its own uses.
func (q *Search) Matches(e *Entry) bool {
	if !e.LiveAt(q.At) || (!q.Since.IsZero() && e.CreatedAt.Before(q.Since)) ||
		(!q.Until.IsZero() && !e.CreatedAt.Before(q.Until)) {
		return false
	}
	for _, t := range q.Tags {
		if !slices.Contains(e.Tags, t) {
			return false
		}
	}
	return q.Text == "" || strings.Contains(strings.ToLower(e.Content), strings.ToLower(q.Text))
}

// Scanner is a store that can yield the live entries of a scope one by one, in
// the order of a list, without holding them all. A background pass reads through it.
type Scanner interface {
	// Scan yields the entries that List would have returned when the loop began. What is
	// put, retired or restored during the loop does not change what it yields. An entry
	// that is erased during the loop is left out, unless the store had read it ahead; it
	// reads at most 512 entries ahead. Scan stops after an error, which may be
	// [ErrSnapshotUnavailable] if a purge passes the state in which the loop began. The
	// loop may call the store again, to change it too.
	Scan(ctx context.Context, s Scope, q Query) iter.Seq2[Entry, error]
}

// Scheduler is a store that finds what is due over all tenants.
type Scheduler interface {
	// Due returns documents of the class [Machinery] and of that kind, of all tenants,
	// whose Due is set and not after the instant at: by Due ascending and at most
	// limit of them. Its cost grows with what it returns, not with what is kept.
	Due(ctx context.Context, kind string, at time.Time, limit int) ([]Document, error)
}

// Tenants is a store that tells whom it holds memory for, and lets go of them.
type Tenants interface {
	// Scopes yields the scopes that hold a record or a document, behind the scope after, in
	// the byte order of tenant and ref, and stops after an error. A scope with an empty Ref
	// stands for the tenant's own documents. The loop may call the store again, to change it
	// too.
	Scopes(ctx context.Context, after Scope) iter.Seq2[Scope, error]

	// DropTenant removes what is held of a tenant, about limit records, documents and
	// events, logged ones too, at a time, and reports whether anything is left. Every version that the
	// tenant had becomes unavailable with the first call, and none is given out again.
	DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error)
}

// Changes is a store that tells what has changed, so that a cache can follow it.
type Changes interface {
	// Changes returns the ids of a scope that were touched by the mutations after the
	// version from, up to and with the version to: none if from is not before to. Both must
	// be available. An id is told even if a purge has removed its record since.
	Changes(ctx context.Context, s Scope, from, to Version) (ChangeSet, error)
}

// ChangeSet is what was touched between two versions, each list without repetitions
// and in no particular order. An id can be in several of them.
type ChangeSet struct {
	Put, Retired, Restored, Erased []string
}

// Describer is a store that says what it is. One that does not is taken as
// volatile and writable.
type Describer interface {
	Traits() Traits
}

// Traits are facts about a store that no call could show.
type Traits struct {
	Durable  bool // outlives its process
	ReadOnly bool // refuses every change
	Semantic bool // its Search ranks by meaning
}

// As returns a as a T, if the store offers T. A wrapper that has a method
//
//	As(target any) bool
//
// decides alone what it offers: As never looks behind it otherwise, so that a
// wrapper which encrypts, say, cannot be bypassed.
func As[T any](a Adapter) (T, bool) {
	var none T
	if w, ok := a.(interface{ As(target any) bool }); ok {
		var t T
		if !w.As(&t) {
			return none, false
		}
		return t, true
	}
	t, ok := a.(T)
	return t, ok
}
