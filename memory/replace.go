package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Replace writes a draft in place of an entry that the run sees, in one mutation: the new entry
// is stored with its event, and the old one is [Superseded] by it. Runs that start later see
// the new entry only, and so does this run. The old entry stays in the history, and does not
// return if the new one is forgotten.
//
// What the draft does not name, the new entry has from the old one:
//   - its tags, if Draft.Tags is nil; an empty list names none. Tags that only the bank writes are
//     left out, and the others are redacted again.
//   - its Draft.Name.
//   - its subjects, if the draft has none: forgetting one of them has to reach the new entry too.
//   - its expiry. One that the draft names must not be earlier: an entry that never expires is
//     replaced by one that never does.
//
// Under a Draft.Key a second try returns the entry that is there. In a replay nothing is written:
// the recorded id and instant come back.
//
// Errors: [ErrNotFound] if the run does not see the entry; [ErrConflict] if another caller has
// replaced, merged or deleted it since the run started, or it has expired; otherwise those of
// [Run.Put]. After any of them nothing was written, but for [ErrInternal].
func (r *Run) Replace(ctx context.Context, ref, id string, d Draft) (e Entry, err error) {
	if d.conditional() {
		d.Replaces = append([]string{id}, d.Replaces...)
		return putOne(ctx, r.PutAll, ref, d)
	}
	ctx, span := r.bank.begin(ctx, telemetry.Rewrite)
	defer span.Done(&err)
	if err := r.enter(); err != nil {
		return Entry{}, err
	}
	defer r.life.RUnlock()
	s, err := r.writable(ctx, ref, &d)
	if err != nil {
		return Entry{}, err
	}
	if !validID(id) {
		return Entry{}, fail(ErrNotFound, "")
	}
	if r.replay != nil {
		return r.replay.replace(ctx, s, id, d)
	}
	if e, err = r.supersede(ctx, s, id, d); err != nil {
		return e, err
	}
	r.viewLock.Lock()
	r.view.replace(ref, []string{id}, ownEntry{id: e.ID, createdAt: e.CreatedAt})
	r.viewLock.Unlock()
	span.Add(telemetry.Records.Of(2), telemetry.Redactions.Of(redactions(&d, &e)))
	return e, nil
}

// supersede stores the entry of a draft in place of another one, once under its key.
func (r *Run) supersede(ctx context.Context, s Scope, id string, d Draft) (Entry, error) {
	for {
		if d.Key != "" {
			if e, found, err := r.supersededBefore(ctx, s, id, d); found || err != nil {
				return e, err
			}
		}
		old, err := r.lookUp(ctx, s, id)
		if err != nil {
			return Entry{}, err
		}
		e, err := r.successor(ctx, d, &old, r.bank.Now())
		if err != nil {
			return Entry{}, err
		}
		m := r.putting(s, e, d)
		m.Retire = []driver.Retirement{{Located: driver.Located{Scope: s, ID: id}, State: Superseded, For: e.ID}}
		kept, err := r.bank.keepNames(ctx, s, []string{id}, e.ID)
		if err != nil {
			return Entry{}, err
		}
		m.Documents = append(m.Documents, kept...)
		if _, err = r.bank.apply(ctx, s.Tenant, m); err == nil {
			return ownCopy(e), nil
		}
		if !errors.Is(err, ErrConflict) {
			return Entry{}, err
		}
		recs, looked := r.bank.tx.Lookup(ctx, s, []string{id})
		if looked != nil {
			return Entry{}, shape(looked)
		}
		if len(recs) == 0 || recs[0].Erased || recs[0].State != Live || !recs[0].Entry.LiveAt(r.bank.Now()) {
			return Entry{}, fail(ErrConflict, "the entry has been replaced, merged or deleted since the run started, or has expired")
		}
		// Another caller put under the key meanwhile.
	}
}

// successor is the entry of a draft that takes the place of old, as of the instant now.
func (w writer) successor(ctx context.Context, d Draft, old *Entry, now time.Time) (Entry, error) {
	e, err := w.entry(ctx, d, false, now)
	if err != nil {
		return Entry{}, err
	}
	if d.Tags == nil { // they are redacted by what is a secret now
		if e.Tags, err = w.tags(ctx, slices.DeleteFunc(slices.Clone(old.Tags), isProvenance), false); err != nil {
			return Entry{}, err
		}
	}
	if len(d.Subjects) == 0 {
		e.Subjects = slices.Clone(old.Subjects)
	}
	if d.ExpiresAt.IsZero() && d.TTL == 0 {
		e.ExpiresAt = old.ExpiresAt
	}
	if !e.ExpiresAt.IsZero() && (old.ExpiresAt.IsZero() || e.ExpiresAt.Before(old.ExpiresAt)) {
		return Entry{}, fail(ErrValidation, "Draft.ExpiresAt, or the end of Draft.TTL, is earlier than that of the entry that it replaces")
	}
	return e, nil
}

// supersededBefore answers a second try under a key.
func (r *Run) supersededBefore(ctx context.Context, s Scope, id string, d Draft) (_ Entry, found bool, err error) {
	rec, found, err := r.bank.keyed(ctx, s, d.Key)
	if !found || err != nil {
		return Entry{}, false, err
	}
	if err = r.bank.replacedBy(ctx, s, id, rec.Entry.ID); err != nil {
		return Entry{}, true, err
	}
	if err = r.bank.settle(ctx, s.Tenant); err != nil {
		return Entry{}, true, err
	}
	e, err := r.entry(ctx, d, false, r.bank.Now())
	if err == nil {
		e, err = answerRepeatedReplace(rec, &e, &d)
	}
	return e, true, err
}

// replacedBy fails unless it is by the entry under a key that another one was replaced.
func (b *Bank) replacedBy(ctx context.Context, s Scope, id, by string) error {
	recs, err := b.tx.Lookup(ctx, s, []string{id})
	if err != nil {
		return shape(err)
	}
	if len(recs) == 0 || recs[0].For != by {
		return fail(ErrConflict, "the entry under Draft.Key did not replace this one")
	}
	return nil
}

// answerRepeatedReplace is answerRepeatedPut for an entry that has the tags and subjects of the one
// that it replaced unless its draft named some.
func answerRepeatedReplace(rec Record, e *Entry, d *Draft) (Entry, error) {
	if d.Tags == nil {
		e.Tags = rec.Entry.Tags
	}
	if len(d.Subjects) == 0 {
		e.Subjects = rec.Entry.Subjects
	}
	return answerRepeatedPut(rec, e)
}
