package memory

import (
	"context"
	"errors"
)

// Forgotten tells what a [Bank.Forget] or a [Bank.Scrub] did. An engine that keeps
// things outside memory, such as archives, erases them by it.
type Forgotten struct {
	// Erased entries are gone from every version.
	Erased []Located
	// Restored entries belong to others: they had been merged into something that
	// was erased, and are live again.
	Restored []Located
	// Rewritten are the new entries that stand, redacted, in the place of ones that
	// Scrub erased.
	Rewritten []Located
}

// Forget erases what carries the subject label, in every ref of the tenant and in
// every version, together with whatever was derived from it, and brings back the
// nearest unexpired entries of others that had been merged into what was erased
// (M10; RFC 0080 §A retention). Open views lose the entries at once; tokens that
// could have seen them become unavailable. The store must be a [Transactor].
//
// It repeats until it finds nothing, so that a pass which was under way cannot keep
// a copy. After an error it may be called again: each step leaves memory whole. It
// does not reach what a host keeps itself, such as a record of a run's reads.
func (b *Bank) Forget(ctx context.Context, tenant, subject string) (Forgotten, error) {
	if !validTenant(tenant) {
		return Forgotten{}, fail(ErrValidation, "malformed tenant")
	}
	if !validLabel(subject) {
		return Forgotten{}, fail(ErrValidation, "malformed subject")
	}
	return b.eraseAll(ctx, tenant, func(ctx context.Context) (*erasure, error) {
		// What was derived from an entry carries its subjects, so that the label
		// finds all of it.
		x := newErasure(b, tenant)
		for rec, err := range b.tx.History(ctx, tenant, HistoryQuery{Subject: subject}) {
			if err != nil {
				return nil, shape(err)
			}
			x.erase(rec)
		}
		return x, nil
	})
}

// eraseAll plans and commits until a plan finds nothing left to erase.
func (b *Bank) eraseAll(ctx context.Context, tenant string, plan func(context.Context) (*erasure, error)) (Forgotten, error) {
	var done Forgotten
	if b.tx == nil || b.traits.ReadOnly {
		return done, fail(ErrNotProvided, "forgetting needs a Transactor")
	}
	for {
		if err := ctx.Err(); err != nil {
			return done, shape(err)
		}
		x, err := plan(ctx)
		if err != nil {
			return done, err
		}
		if len(x.records) == 0 {
			return done, nil
		}
		if err := x.restoreOthers(ctx); err != nil {
			return done, err
		}
		if err := x.commit(ctx); errors.Is(err, ErrConflict) {
			continue // memory moved under the plan: make another
		} else if err != nil {
			return done, err
		}
		done.Erased = append(done.Erased, x.mutation.Erase...)
		done.Restored = append(done.Restored, x.mutation.Restore...)
		for _, p := range x.mutation.Put {
			done.Rewritten = append(done.Rewritten, Located{p.Scope, p.Entry.ID})
		}
	}
}

// erasure is the plan of one step of forgetting.
type erasure struct {
	bank     *Bank
	tenant   string
	records  map[Located]Record // what is to be erased
	mutation Mutation
	// rewrite gives the entry that stands for an erased one, if there is one.
	rewrite func(Entry) (Entry, bool)
}

func newErasure(b *Bank, tenant string) *erasure {
	return &erasure{
		bank:     b,
		tenant:   tenant,
		records:  map[Located]Record{},
		mutation: Mutation{At: b.Now()},
		rewrite:  func(Entry) (Entry, bool) { return Entry{}, false },
	}
}

func (x *erasure) erase(rec Record) {
	at := Located{rec.Scope, rec.Entry.ID}
	if _, known := x.records[at]; known || rec.Erased {
		return
	}
	x.records[at] = rec
	x.mutation.Erase = append(x.mutation.Erase, at)
}

// restoreOthers walks down from every live entry that is to be erased. What had
// been deleted, superseded or had expired gives nothing back.
func (x *erasure) restoreOthers(ctx context.Context) error {
	for _, at := range x.mutation.Erase {
		rec := x.records[at]
		if rec.State != Live || !rec.Entry.LiveAt(x.mutation.At) {
			continue
		}
		x.mutation.Live = append(x.mutation.Live, at)
		if err := x.giveBack(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// giveBack takes care of the facts that rec, which is to be erased, stood for: its
// own, in a rewritten form, and those that were merged into it.
func (x *erasure) giveBack(ctx context.Context, rec Record) error {
	if e, ok := x.rewrite(rec.Entry); ok && !rec.Erased && rec.Entry.LiveAt(x.mutation.At) {
		x.mutation.Put = append(x.mutation.Put, Placed{rec.Scope, e})
	}
	for merged, err := range x.bank.tx.History(ctx, x.tenant, HistoryQuery{Ref: rec.Ref, For: rec.Entry.ID}) {
		if err != nil {
			return shape(err)
		}
		if merged.State != Merged {
			continue
		}
		at := Located{merged.Scope, merged.Entry.ID}
		_, doomed := x.records[at]
		if doomed || merged.Erased || !merged.Entry.LiveAt(x.mutation.At) {
			if err := x.giveBack(ctx, merged); err != nil {
				return err
			}
			continue
		}
		x.mutation.Restore = append(x.mutation.Restore, at)
	}
	return nil
}

func (x *erasure) commit(ctx context.Context) error {
	_, err := x.bank.apply(ctx, x.tenant, x.mutation)
	return err
}
