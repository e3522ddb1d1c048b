package memory

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Forgotten tells what a [Bank.Forget], a [Bank.Scrub] or a [Bank.EraseAgain] did: what this
// call committed, after an error too. What an earlier call has erased is not in it.
type Forgotten struct {
	// Erased entries are gone from every version, with the documents made of them. They are
	// all that had a text, each once: live, expired, deleted, merged and superseded ones.
	Erased []driver.Located `json:"erased"`
	// Restored entries belong to others: they had been merged into something that
	// was erased, and are live again.
	Restored []driver.Located `json:"restored"`
	// Rewritten are the new entries that stand, redacted, in the place of ones that
	// Scrub erased.
	Rewritten []driver.Located `json:"rewritten"`
	// Lost entries were erased by Scrub without a redacted copy, since the redactor
	// gives no text of theirs without the secret.
	Lost []driver.Located `json:"lost"`
	// Documents counts those that were removed by themselves, or were redacted: a host text,
	// or a step of the ledger whose names Scrub redacted. Those made of erased entries, and
	// the new steps of the ledger, are not counted. A version of a workspace file is one.
	Documents int `json:"documents"`
	// Events held the secret of a Scrub while they waited for the sink, and were removed.
	Events int `json:"events"`
}

// Forget erases every entry of the tenant that carries the subject label, in all refs and
// all versions (M10; RFC 0080 §A retention). With an entry go the entries that were derived
// from it and the documents that were made of it; host text that carries the label is
// removed too. Entries about another subject that had been merged into an erased one become
// live again unless they have expired. They do so too if the erased one had expired, but not
// if it had been deleted or superseded.
//
// Open views lose the entries at once, and so do suspended runs, which still resume. What would
// show them again fails with [ErrSnapshotUnavailable] in their refs: [Bank.AsOf] and a replay by a
// token of a run that could have seen one.
//
// Forget repeats its search until it finds nothing, so that a pass which was under way
// cannot keep a copy. Every step leaves memory whole: after an error, that of a context
// too, call it again. Forget does not reach what a host keeps elsewhere, such as a record
// of a run's reads. It fails with [ErrNotProvided] unless the store is a Transactor.
func (b *Bank) Forget(ctx context.Context, tenant, subject string) (done Forgotten, err error) {
	ctx, span := b.begin(ctx, telemetry.Forget)
	defer span.Done(&err)
	defer done.count(&span)
	if err := checkTenant(tenant); err != nil {
		return Forgotten{}, err
	}
	if err := checkSubject(subject); err != nil {
		return Forgotten{}, err
	}
	return b.eraseAll(ctx, tenant, func(ctx context.Context, x *erasure) error {
		// What was derived from an entry carries its subjects, so that the label
		// finds all of it.
		for rec, err := range b.tx.History(ctx, tenant, driver.HistoryQuery{Subject: subject}) {
			if err != nil {
				return shape(err)
			}
			x.markErased(rec)
		}
		q := driver.DocumentQuery{Tenant: tenant, EveryRef: true, Subject: subject, Bare: true}
		for d, err := range b.tx.Documents(ctx, q) {
			if err != nil {
				return shape(err)
			}
			x.documents = append(x.documents, driver.DocumentSwap{Document: d, Act: driver.Remove})
		}
		return nil
	})
}

// eraseAll plans and commits until a plan finds nothing left to erase.
func (b *Bank) eraseAll(ctx context.Context, tenant string, plan func(context.Context, *erasure) error) (Forgotten, error) {
	var done Forgotten
	if err := b.changeable("forgetting"); err != nil {
		return done, err
	}
	for committed := false; ; {
		if err := b.checkClock(); err != nil {
			return done, err
		}
		x := newErasure(b, tenant)
		if err := plan(ctx, x); err != nil {
			return done, err
		}
		if len(x.order) == 0 && len(x.documents) == 0 {
			if committed {
				return done, nil
			}
			return done, b.settle(ctx, tenant)
		}
		err := x.run(ctx, &done)
		committed = committed || err == nil
		if err != nil && !errors.Is(err, ErrConflict) { // memory may move under a plan: make another
			return done, err
		}
	}
}

// settle commits a no-op so that everything read before is durable: a primary may show a commit that
// its standby lacks. After the write the store also empties its log, in which a killed process may
// have left erased text. The no-op checks a document that never exists.
func (b *Bank) settle(ctx context.Context, tenant string) error {
	none := driver.Document{Scope: Scope{Tenant: tenant}, Kind: ledgerKind, Key: "none"}
	_, err := b.tx.Apply(ctx, tenant, driver.Mutation{At: b.Now(), Documents: []driver.DocumentSwap{{Document: none, Act: driver.Check}}})
	return shape(err)
}

// erasure is a plan of forgetting.
type erasure struct {
	bank      *Bank
	tenant    string
	at        time.Time
	marked    map[driver.Located]Record
	order     []driver.Located // of the marked
	documents []driver.DocumentSwap
	merged    map[driver.Located][]Record // into the entries of the step at hand
	// rewrite returns the entry that replaces an erased one. lost reports that there should
	// be one and the redactor cannot make it.
	rewrite func(Entry) (e Entry, ok, lost bool)
	// name returns a name as the ledger may have it.
	name func(string) (string, error)

	mutation driver.Mutation  // the step at hand
	lost     []driver.Located // by it
	failed   error            // why a rewrite could not be made: then nothing is committed
}

func newErasure(b *Bank, tenant string) *erasure {
	return &erasure{
		bank: b, tenant: tenant, at: b.Now(), marked: map[driver.Located]Record{},
		rewrite: func(Entry) (Entry, bool, bool) { return Entry{}, false, false },
		name:    sameName,
	}
}

// markErased marks a record for erasure.
func (x *erasure) markErased(rec Record) {
	at := rec.Located()
	if _, known := x.marked[at]; known || rec.Erased {
		return
	}
	x.marked[at] = rec
	x.order = append(x.order, at)
}

// markChosen marks every entry of the tenant that is chosen, and what was derived from those.
// It reads all of the tenant's memory, and keeps what it marks and the ids of what is derived.
func (b *Bank) markChosen(ctx context.Context, x *erasure, chosen func(*Record) (bool, error)) error {
	derived := map[driver.Located][]string{} // by source, ids of the same ref
	for rec, err := range b.tx.History(ctx, x.tenant, driver.HistoryQuery{}) {
		if err != nil {
			return shape(err)
		}
		if rec.Erased {
			continue
		}
		for _, source := range rec.Entry.Sources {
			at := driver.Located{Scope: rec.Scope, ID: source}
			derived[at] = append(derived[at], rec.Entry.ID)
		}
		mark, err := chosen(&rec)
		if err != nil {
			return err
		}
		if mark {
			x.markErased(rec)
		}
	}
	for i := 0; i < len(x.order); i++ { // markErased appends to it
		found, err := lookup(ctx, b.tx, x.order[i].Scope, derived[x.order[i]])
		if err != nil {
			return err
		}
		for _, rec := range found {
			x.markErased(rec)
		}
	}
	return nil
}

// stepSize is from how many entries on a step of an erasure is committed, so that a
// large one holds no store up for long and can be interrupted.
const stepSize = 256

// run commits the plan in steps, each of which leaves memory whole: the mutation that erases
// an entry restores what had been merged into it. Entries that were not retired go first,
// while what was merged into them has its text.
func (x *erasure) run(ctx context.Context, done *Forgotten) error {
	x.mutation = driver.Mutation{At: x.at}
	for step := range documentSteps(x.documents) {
		x.mutation.Documents = step
		if err := x.commit(ctx, done); err != nil {
			return err
		}
	}
	for i, order := 0, x.liveFirst(); i < len(order); i++ {
		if i%stepSize == 0 {
			if err := x.readMerged(ctx, order[i:min(i+stepSize, len(order))]); err != nil {
				return err
			}
		}
		at := order[i]
		rec := x.marked[at]
		x.mutation.Erase = append(x.mutation.Erase, at)
		if rec.State == Live {
			if rec.Entry.LiveAt(x.at) {
				x.mutation.Live = append(x.mutation.Live, at)
			}
			if err := x.restoreMerged(ctx, at, rec); err != nil {
				return err
			}
		}
		if len(x.mutation.Erase) >= stepSize {
			if err := x.commit(ctx, done); err != nil {
				return err
			}
		}
	}
	return x.commit(ctx, done)
}

// liveFirst returns the marked entries, those that were not retired before the others.
// Expired ones count as not retired.
func (x *erasure) liveFirst() []driver.Located {
	var live, retired []driver.Located
	for _, at := range x.order {
		if x.marked[at].State == Live {
			live = append(live, at)
		} else {
			retired = append(retired, at)
		}
	}
	return append(live, retired...)
}

// documentSteps yields documents in parts that one mutation can take.
func documentSteps(docs []driver.DocumentSwap) iter.Seq[[]driver.DocumentSwap] {
	return func(yield func([]driver.DocumentSwap) bool) {
		for len(docs) > 0 {
			n, size := 1, len(docs[0].Value)
			for n < min(len(docs), stepSize) && size+len(docs[n].Value) <= driver.MaxDocumentBytes {
				size += len(docs[n].Value)
				n++
			}
			if !yield(docs[:n]) {
				return
			}
			docs = docs[n:]
		}
	}
}

// readMerged reads what was merged into the entries of a step, those of a ref at once.
func (x *erasure) readMerged(ctx context.Context, step []driver.Located) error {
	heads := map[string][]string{}
	for _, at := range step {
		if x.marked[at].State == Live {
			heads[at.Ref] = append(heads[at.Ref], at.ID)
		}
	}
	x.merged = map[driver.Located][]Record{}
	for ref, ids := range heads {
		for rec, err := range x.bank.tx.History(ctx, x.tenant, driver.HistoryQuery{Ref: ref, For: ids}) {
			if err != nil {
				return shape(err)
			}
			into := driver.Located{Scope: rec.Scope, ID: rec.For}
			x.merged[into] = append(x.merged[into], rec)
		}
	}
	return nil
}

// restoreMerged plans what replaces an erased head, live or expired: its own rewritten form,
// and the nearest unexpired entries that were merged into it, which are restored. Entries that
// had been deleted or superseded restore nothing. The step is a conflict if another entry is
// merged into the head meanwhile. None can be merged into those behind it: they are not live.
func (x *erasure) restoreMerged(ctx context.Context, at driver.Located, head Record) error {
	var retired []string // in favour of the head
	x.putRewritten(head)
	for found := x.merged[at]; len(found) > 0; {
		var behind []string // whose own merged entries come into question
		for _, rec := range found {
			if rec.For == at.ID {
				retired = append(retired, rec.Entry.ID)
			}
			if rec.State != Merged {
				continue
			}
			_, marked := x.marked[rec.Located()]
			if marked || rec.Erased || !rec.Entry.LiveAt(x.at) {
				x.putRewritten(rec)
				behind = append(behind, rec.Entry.ID)
			} else {
				x.mutation.Restore = append(x.mutation.Restore, rec.Located())
			}
		}
		found = nil
		if len(behind) > 0 {
			for rec, err := range x.bank.tx.History(ctx, x.tenant, driver.HistoryQuery{Ref: head.Ref, For: behind}) {
				if err != nil {
					return shape(err)
				}
				found = append(found, rec)
			}
		}
	}
	if x.mutation.MergedInto == nil {
		x.mutation.MergedInto = map[driver.Located][]string{}
	}
	x.mutation.MergedInto[at] = retired
	return nil
}

// putRewritten puts the rewritten form of an entry in its place.
func (x *erasure) putRewritten(rec Record) {
	at := rec.Located()
	if _, marked := x.marked[at]; !marked || rec.Erased || !rec.Entry.LiveAt(x.at) {
		return
	}
	e, ok, lost := x.rewrite(rec.Entry)
	if ok {
		x.mutation.Put = append(x.mutation.Put, driver.Placed{Scope: rec.Scope, Entry: e})
	}
	if lost {
		x.lost = append(x.lost, at)
	}
}

// commit commits the step at hand and begins the next.
func (x *erasure) commit(ctx context.Context, done *Forgotten) error {
	m := x.mutation
	if len(m.Erase) == 0 && len(m.Documents) == 0 {
		return nil
	}
	if x.failed != nil {
		return x.failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	note, err := x.bank.ledgerStep(x.tenant, &m, x.name)
	if err != nil {
		return err
	}
	written := m
	written.Documents = append(slices.Clip(m.Documents), note)
	if _, err := x.bank.commit(ctx, x.tenant, written); err != nil {
		return err
	}
	done.Erased = append(done.Erased, m.Erase...)
	done.Restored = append(done.Restored, m.Restore...)
	for _, p := range m.Put {
		done.Rewritten = append(done.Rewritten, p.Located())
	}
	done.Lost = append(done.Lost, x.lost...)
	done.Documents += len(m.Documents)
	x.mutation, x.lost = driver.Mutation{At: x.at}, nil
	return nil
}
