package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Replay makes a [Run] repeat a recorded one (RFC 0041, RFC 0057 §D). A Put writes
// nothing: it returns the entry under the recorded id and instant, and its recorded event
// goes into the log of the replay in a new envelope. A Delete deletes nothing.
//
// Reads come from memory as it was: a host records a token where the run began and one
// where the replay ends, and needs no record of what was read. What the run wrote appears
// when it is put again. A read is refused with [ErrSnapshotUnavailable] if something that
// it shows has been forgotten or purged, or expired between the recorded write before it
// and the one after it, so that the bank cannot tell whether the run still saw it. So a TTL that
// runs out while a run works makes later lists of its replay refuse, until the next recorded
// write. A host that must replay even then records what the run reads, see [Run.RecordReads].
type Replay struct {
	// Events are all events of the recorded run, such as [Bank.Log] returns them page by page.
	// The bank must have had Config.WriteEvents. Events other than memory.written are passed
	// over: a host re-emits them with [events.Reemit] as it comes to them.
	Events []events.RunEvent
	// From is a token of the recorded run where the replay begins, and To one where it
	// ends, which bounds the instants of the last reads.
	From, To Token
	// Reads answers the reads instead, if From and To are empty: what [Run.RecordReads] gave to
	// its keep, in that order. Equal reads are answered in the order of the record, and one
	// that it does not have is [ErrDiverged]. An empty record is not nil.
	Reads []RecordedRead
}

// replayer hands out the recorded writes of each ref in their order, and what the run
// read between them.
type replayer struct {
	writer
	reads *replayingReader // of Replay.Reads

	mu   sync.Mutex
	left map[string][]events.RunEvent // by ref
	past *asOf                        // nil if reads answers
	end  *snapshot                    // where it ends: no read was later
}

func (b *Bank) replay(ctx context.Context, w writer, r *Replay) (*replayer, error) {
	p := &replayer{writer: w, reads: replayReads(r.Reads), left: map[string][]events.RunEvent{}}
	switch {
	case r.From == "" && r.To == "" && r.Reads != nil:
	case r.From == "" || r.To == "" || r.Reads != nil:
		return nil, fail(ErrValidation, "Replay needs either From and To or Reads, and not both")
	case b.versions == nil:
		return nil, fail(ErrNotProvided, "a replay from tokens needs a store that is driver.Versioned")
	default:
		if err := p.open(ctx, r.From, r.To); err != nil {
			return nil, err
		}
	}
	for _, ev := range r.Events {
		written, ok := ev.Payload.(events.MemoryWritten)
		if ok && !p.holds(written.MemoryRef, written.MemoryID) {
			p.left[written.MemoryRef] = append(p.left[written.MemoryRef], ev)
		}
	}
	return p, nil
}

// open reads the two tokens of a replay.
func (p *replayer) open(ctx context.Context, from, to Token) error {
	begin, err := from.snapshot(p.tenant)
	if err != nil {
		return err
	}
	end, err := to.snapshot(p.tenant)
	if err != nil {
		return err
	}
	if begin.run != end.run || begin.base != end.base || end.at.Before(begin.at) {
		return fail(ErrValidation, "Replay.From and Replay.To are not tokens of one run, in their order")
	}
	v, err := p.bank.reopen(ctx, begin, func(*ownMark) bool { return true })
	if err != nil {
		return err
	}
	p.past, p.end = &asOf{bank: p.bank, snap: begin, view: v}, end
	return p.bank.loadOwn(ctx, end)
}

// holds reports whether the run had written an entry where the replay begins.
func (p *replayer) holds(ref, id string) bool {
	return p.past != nil && slices.ContainsFunc(p.past.snap.own[ref], func(m ownMark) bool { return m.ID == id })
}

// next is the latest instant at which a read before the next recorded write can have
// happened.
func (p *replayer) next() time.Time {
	next := p.end.at
	for _, left := range p.left {
		if len(left) > 0 && left[0].Time.Before(next) {
			next = left[0].Time
		}
	}
	return next
}

// refuseExpiredBetween refuses entries that expired between the recorded writes around a read.
func (p *replayer) refuseExpiredBetween(entries ...Entry) error {
	next := p.next()
	for i := range entries {
		if !entries[i].LiveAt(next) {
			return fail(ErrSnapshotUnavailable, "something that it shows expired about then")
		}
	}
	return nil
}

func (p *replayer) List(ctx context.Context, ref string, o ListOptions) ([]Entry, error) {
	if p.past == nil {
		return p.reads.List(ctx, ref, o)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := p.past.List(ctx, ref, o)
	switch {
	case err == nil && o.Rank == rankRelevance:
		err = p.refuseExpiredInRef(ctx, ref)
	case err == nil && o.TokenBudget > 0:
		err = p.refuseExpiredEnd(ctx, ref, o, entries)
	}
	if err == nil {
		err = p.refuseExpiredBetween(entries...)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// refuseExpiredEnd refuses a list within a budget if the entry that ended it expired: the first behind
// it that alone fits. Without that entry the list would go on.
func (p *replayer) refuseExpiredEnd(ctx context.Context, ref string, o ListOptions, entries []Entry) error {
	n := len(entries)
	if limit, _ := boundLimit(o.Limit); n == 0 || n == limit {
		return nil // not the budget ended it
	}
	o.After, o.Limit = entries[n-1].Cursor(), 1
	end, err := p.past.List(ctx, ref, o)
	if err != nil {
		return err
	}
	return p.refuseExpiredBetween(end...)
}

func (p *replayer) Get(ctx context.Context, ref, id string) (Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get(ctx, ref, id)
}

func (p *replayer) get(ctx context.Context, ref, id string) (Entry, error) {
	if p.past == nil {
		return p.reads.Get(ctx, ref, id)
	}
	e, err := p.past.Get(ctx, ref, id)
	if err == nil {
		err = p.refuseExpiredBetween(e)
	}
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}

// put makes the entry of a draft as of the recorded write, with the identity that it had
// then, and re-emits its event.
func (p *replayer) put(ctx context.Context, s Scope, d Draft) (Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, found, err := p.keyed(ctx, s, d, false); found || err != nil {
		if err == nil {
			p.past.view.add(s.Ref, ownEntry{id: e.ID, createdAt: e.CreatedAt})
		}
		return e, err
	}
	return p.write(ctx, s, d, nil)
}

// replace is put of an entry that takes the place of another one.
func (p *replayer) replace(ctx context.Context, s Scope, id string, d Draft) (Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, found, err := p.keyed(ctx, s, d, true); found || err != nil {
		if err == nil {
			err = p.bank.replacedBy(ctx, s, id, e.ID)
		}
		if err != nil {
			return e, err
		}
		p.past.view.add(s.Ref, ownEntry{id: e.ID, createdAt: e.CreatedAt})
		p.past.view.hide(s.Ref, id)
		return e, nil
	}
	old, err := p.get(ctx, s.Ref, id)
	if err == nil {
		err = p.ended(ctx, s, id, Superseded, p.nextID(s.Ref, 0))
	}
	if err != nil {
		return Entry{}, err
	}
	e, err := p.write(ctx, s, d, &old)
	if err == nil && p.past != nil {
		p.past.view.hide(s.Ref, id)
	}
	return e, err
}

// ended fails if the run was refused to end an entry in this way, since another caller had ended it
// in another.
func (p *replayer) ended(ctx context.Context, s Scope, id string, state driver.State, by string) error {
	if p.past == nil {
		return nil // no record tells
	}
	recs, err := lookup(ctx, p.bank.tx, s, []string{id})
	if err != nil || len(recs) == 0 || recs[0].State == state && recs[0].For == by {
		return err
	}
	if recs[0].State == Live {
		replaced := slices.ContainsFunc(p.end.own[s.Ref], func(m ownMark) bool { return m.Hidden && m.ID == id })
		restored, err := p.restored(ctx, s, id)
		if err != nil || replaced || !restored {
			return err
		}
	}
	return fail(ErrConflict, "the entry has been replaced, merged or deleted since the run started")
}

// restored reports whether an entry that had been merged or superseded since the run started has been
// restored since, as far as the store can tell.
func (p *replayer) restored(ctx context.Context, s Scope, id string) (bool, error) {
	now, err := p.bank.newest(ctx, s.Tenant)
	if err != nil || p.bank.changes == nil {
		return false, err
	}
	since, err := p.bank.changes.Changes(ctx, s, p.past.view.base, now.base)
	return slices.Contains(since.Restored, id), shape(err)
}

// nextID is the id of the recorded write after n others; empty if there is none.
func (p *replayer) nextID(ref string, n int) string {
	if left := p.left[ref]; len(left) > n {
		return left[n].Payload.(events.MemoryWritten).MemoryID
	}
	return ""
}

// write is put, of an entry that takes the place of old if that is not nil.
func (p *replayer) write(ctx context.Context, s Scope, d Draft, old *Entry) (Entry, error) {
	e, err := p.recorded(ctx, s, d, old, 0)
	if err == nil {
		err = p.repeat(ctx, s, &e)
	}
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}

// recorded is the entry of a draft as the recorded write after n others has it.
func (p *replayer) recorded(ctx context.Context, s Scope, d Draft, old *Entry, n int) (e Entry, err error) {
	left := p.left[s.Ref]
	at := p.bank.Now()
	switch {
	case len(left) > n:
		at = left[n].Time
	case p.past != nil:
		at = p.past.snap.at
	}
	if old == nil {
		e, err = p.entry(ctx, d, false, at)
	} else {
		e, err = p.successor(ctx, d, old, at)
	}
	if err == nil && len(left) <= n {
		err = fail(ErrDiverged, "no such write was recorded")
	}
	if err != nil {
		return Entry{}, err
	}
	e.ID, e.RunID = p.nextID(s.Ref, n), left[n].RunID
	e.CreatedAt = left[n].Time
	if p.past != nil {
		err = p.stored(ctx, s, &e)
	}
	return e, err
}

// repeat makes the next recorded write, which is that of e.
func (p *replayer) repeat(ctx context.Context, s Scope, e *Entry) error {
	left := p.left[s.Ref]
	if p.bank.takesEvents() {
		if err := p.bank.appendToLog(ctx, p.tenant, events.Reemit(left[:1], p.runID)); err != nil {
			return err
		}
	}
	p.left[s.Ref] = left[1:]
	if p.past != nil {
		p.past.view.add(s.Ref, ownEntry{id: e.ID, createdAt: e.CreatedAt})
		p.past.advance(e.CreatedAt)
	}
	return nil
}

// keyed answers a write under a key that the run found taken: its entry is of no recorded
// write that is left. replaces says that it has the tags and subjects of another entry unless it names some.
func (p *replayer) keyed(ctx context.Context, s Scope, d Draft, replaces bool) (e Entry, found bool, err error) {
	if d.Key == "" || p.past == nil {
		return Entry{}, false, nil
	}
	rec, found, err := p.bank.keyed(ctx, s, d.Key)
	if !found || err != nil {
		return Entry{}, false, err
	}
	for _, ev := range p.left[s.Ref] {
		if ev.Payload.(events.MemoryWritten).MemoryID == rec.Entry.ID {
			return Entry{}, false, nil
		}
	}
	e, err = p.entry(ctx, d, false, rec.Entry.CreatedAt)
	switch {
	case err != nil:
	case replaces:
		e, err = answerRepeatedReplace(rec, &e, &d)
	default:
		e, err = answerRepeatedPut(rec, &e)
	}
	if errors.Is(err, ErrDeleted) && p.found(s.Ref, e.ID) {
		err = nil
	}
	return e, true, err
}

// found reports whether the run found an entry under a key before that was deleted: then it has
// it as its own, unless it has deleted it itself.
func (p *replayer) found(ref, id string) bool {
	return !p.past.view.hidden[ref][id] && slices.ContainsFunc(p.end.own[ref], func(m ownMark) bool { return m.ID == id })
}

// stored fails unless the store holds the entry that is put again.
func (p *replayer) stored(ctx context.Context, s Scope, e *Entry) error {
	recs, err := lookup(ctx, p.bank.tx, s, []string{e.ID})
	switch {
	case err != nil:
		return err
	case len(recs) == 0 || recs[0].Erased:
		return fail(ErrSnapshotUnavailable, "a recorded write was forgotten: only a replay from Replay.Reads can repeat it")
	case !recs[0].Entry.Equal(e):
		return fail(ErrDiverged, "another entry was recorded")
	}
	return nil
}

// delete reports whether the run could see an entry, and lets an own write go.
func (p *replayer) delete(ctx context.Context, s Scope, id string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.get(ctx, s.Ref, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = p.ended(ctx, s, id, Deleted, "")
	}
	if err != nil {
		return false, err
	}
	if p.past != nil {
		p.past.view.drop(s.Ref, id)
	}
	return true, nil
}

// join makes visible what a child wrote, by its last token.
func (p *replayer) join(ctx context.Context, child Token) error {
	if p.past == nil {
		return nil // what the run read of it is in the record
	}
	snap, err := child.snapshot(p.tenant)
	if err != nil {
		return err
	}
	loaded, err := p.bank.reopen(ctx, snap, func(m *ownMark) bool { return !m.Inherited })
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past.view.join(loaded)
	p.past.advance(snap.at)
	return nil
}
