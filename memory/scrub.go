package memory

import (
	"context"
	"slices"
)

// Scrub does for a secret that was registered too late what [Bank.Forget] does for
// a subject: it erases, in every ref of the tenant and in every version, each entry
// that r would redact today, together with whatever was derived from one. Where such
// an entry was live, or had been merged into something that is erased, a redacted
// copy takes its place under a new id; nothing else is lost. It reads all of the
// tenant's memory. The store must be a [Transactor].
//
// Subject labels are not rewritten: an entry that has a secret in one is erased.
func (b *Bank) Scrub(ctx context.Context, tenant string, r Redactor) (Forgotten, error) {
	w, err := newWriter(b, tenant, "scrub", r)
	if err != nil {
		return Forgotten{}, err
	}
	return b.eraseAll(ctx, tenant, func(ctx context.Context) (*erasure, error) {
		x := newErasure(b, tenant)
		x.rewrite = w.rewritten
		var all []Record
		derived := map[Located][]int{} // by source
		for rec, err := range b.tx.History(ctx, tenant, HistoryQuery{}) {
			if err != nil {
				return nil, shape(err)
			}
			if rec.Erased {
				continue
			}
			for _, source := range rec.Entry.Sources {
				at := Located{rec.Scope, source}
				derived[at] = append(derived[at], len(all))
			}
			all = append(all, rec)
		}
		var doom func(Record)
		doom = func(rec Record) {
			at := Located{rec.Scope, rec.Entry.ID}
			if _, known := x.records[at]; known {
				return
			}
			x.erase(rec)
			for _, i := range derived[at] {
				doom(all[i])
			}
		}
		for _, rec := range all {
			clean, err := w.isClean(rec.Entry)
			if err != nil {
				return nil, err
			}
			if !clean {
				doom(rec)
			}
		}
		return x, nil
	})
}

// isClean reports whether the redactor would leave an entry as it is.
func (w writer) isClean(e Entry) (bool, error) {
	texts := slices.Concat([]string{e.Content, e.RunID}, e.Tags, e.Subjects)
	for _, text := range texts {
		out, err := w.redactor.Redact(text)
		if err != nil {
			return false, failWith(ErrSecretLeakage, "the redactor refused", err)
		}
		if out != text {
			return false, nil
		}
	}
	return true, nil
}

// rewritten is the redacted form of an entry under a new id, unless redaction does
// not change it: then it is derived from something erased, and has no form of its
// own, or cannot have one.
func (w writer) rewritten(e Entry) (Entry, bool) {
	if clean, err := w.isClean(e); clean || err != nil {
		return Entry{}, false
	}
	d := Draft{Content: e.Content, Tags: e.Tags, ExpiresAt: e.ExpiresAt, Subjects: e.Subjects, CreatedAt: e.CreatedAt}
	out, err := w.entry(d, true)
	if err != nil {
		return Entry{}, false
	}
	out.RunID = e.RunID
	if clean, err := w.isClean(out); !clean || err != nil {
		return Entry{}, false
	}
	return out, true
}
