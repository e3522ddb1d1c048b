package memory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Scrub does for a secret that was registered too late what [Bank.Forget] does for
// a subject: it erases, in every ref of the tenant and in every version, each entry
// that r would redact today, together with whatever was derived from one. Where such
// an entry was live, or had been merged into something that is erased, a redacted
// copy takes its place under a new id; it is kept whole even if its markers make it
// longer than the bank's limits. Documents are removed if r would redact them, but host text
// is redacted, and so are the names in the ledger of erasures. An event that waits for the sink
// and names the secret, in a node's id say, is never delivered; one that is in a run's log stays
// there. Scrub reads all of the tenant's memory. The store must be a Transactor.
//
// Subject labels are not rewritten: an entry that has a secret in one is erased, and so
// is one that r refuses to rewrite. Forgotten.Lost names those. Refs and the names of tenants
// stay as they are. An event that another process is delivering at that moment is delivered;
// a second Scrub finds it if that process has failed.
func (b *Bank) Scrub(ctx context.Context, tenant string, r Redactor) (done Forgotten, err error) {
	ctx, span := b.Begin(ctx, telemetry.Scrub)
	defer span.Done(&err)
	defer done.count(&span)
	w, err := newWriter(b, tenant, "scrub", r)
	if err != nil {
		return Forgotten{}, err
	}
	w.background = true
	dropped, failed := w.scrubEvents(ctx) // entries are erased even if an event cannot be read
	done, err = b.eraseAll(ctx, tenant, func(ctx context.Context, x *erasure) error {
		x.rewrite, x.name = w.rewritten, w.cleanName
		err := b.doomAll(ctx, x, func(rec *Record) (bool, error) {
			clean, err := w.isClean(rec.Entry)
			return !clean, err
		})
		if err != nil {
			return err
		}
		return w.scrubDocuments(ctx, x)
	})
	done.Events = dropped
	if err == nil {
		err = failed
	}
	return done, err
}

// scrubEvents takes events out of the outbox in which the redactor finds a secret, and
// returns how many.
func (w writer) scrubEvents(ctx context.Context) (dropped int, err error) {
	if w.bank.tx == nil || w.bank.traits.ReadOnly {
		return 0, nil
	}
	for rec, err := range w.bank.tx.Undelivered(ctx, driver.OutboxQuery{Tenant: w.tenant}) {
		if err != nil {
			return dropped, shape(err)
		}
		text, err := json.Marshal(rec.Payload)
		if err != nil {
			return dropped, failWith(ErrInternal, "an event cannot be written down", err)
		}
		dirty, err := w.dirty(append(plainTexts(text), rec.ID, rec.RunID, rec.NodeID, string(text))...)
		if err == nil && dirty {
			err = shape(w.bank.tx.Delivered(ctx, []events.Record{rec}))
		}
		if err != nil {
			return dropped, err
		}
		if dirty {
			dropped++
			w.bank.backlog.add(w.tenant, -1)
		}
	}
	return dropped, nil
}

// scrubDocuments has documents removed or redacted.
func (w writer) scrubDocuments(ctx context.Context, x *erasure) error {
	for d, err := range w.bank.tx.Documents(ctx, DocumentQuery{Tenant: w.tenant, EveryRef: true}) {
		if err != nil {
			return shape(err)
		}
		dirty, err := w.dirty(documentTexts(&d)...)
		if err != nil {
			return err
		}
		if !dirty {
			continue
		}
		clean := d
		ok := false
		switch {
		case d.Kind == ledgerKind: // what was erased must stay known
			clean.Value, ok = w.cleanLedger(d.Value)
		case d.Class == HostText:
			var text string
			text, ok = w.remove(string(d.Value))
			clean.Value = []byte(text)
		}
		act := Remove
		if ok && len(clean.Value) <= driver.MaxDocumentBytes {
			if still, err := w.dirty(documentTexts(&clean)...); err == nil && !still {
				act, d = Set, clean
			}
		}
		x.documents = append(x.documents, DocumentSwap{Document: d, Act: act})
	}
	return nil
}

// documentTexts are the texts of a document, those in a value that is JSON without its
// escapes too.
func documentTexts(d *Document) []string {
	return slices.Concat(d.Subjects, []string{d.Kind, d.Key, d.Group, string(d.Value)}, plainTexts(d.Value))
}

// dirty reports whether the redactor would change any of the texts, or refuses one for
// the secret in it.
func (w writer) dirty(texts ...string) (bool, error) {
	return inTime(w, func() (bool, error) { return w.marked(texts) })
}

func (w writer) marked(texts []string) (bool, error) {
	for _, text := range texts {
		out, err := redacted(w.redactor.Redact, text)
		found := interface{ SecretFound() bool }(nil)
		if errors.As(err, &found) && found.SecretFound() {
			return true, nil
		}
		if err != nil {
			return false, failWith(ErrSecretLeakage, "the redactor refused", err)
		}
		if out != text {
			return true, nil
		}
	}
	return false, nil
}

// isClean reports whether the redactor would leave an entry as it is.
func (w writer) isClean(e Entry) (bool, error) {
	dirty, err := w.dirty(slices.Concat([]string{e.Content, e.RunID}, e.Tags, e.Subjects)...)
	return !dirty, err
}

// remove takes the secrets out of a text, also with a redactor that otherwise refuses
// text with a secret and offers Remove.
func (w writer) remove(text string) (string, bool) {
	redact := w.redactor.RedactDerived
	if r, ok := w.redactor.(interface {
		Remove(text string) (string, error)
	}); ok {
		redact = r.Remove
	}
	out, err := inTime(w, func() (string, error) { return redacted(redact, text) })
	return out, err == nil && validText(out)
}

// cleanName returns what the redactor leaves of a name.
func (w writer) cleanName(name string) (string, error) {
	dirty, err := w.dirty(name)
	if err != nil || !dirty {
		return name, err
	}
	if out, ok := w.remove(name); ok {
		if still, err := w.dirty(out); err == nil && !still {
			return out, nil
		}
	}
	return "[REDACTED]", nil
}

// rewritten is the redacted form of an entry under a new id. There is none for a clean
// entry, which is erased only because it was derived from something that is, and none
// where no redaction makes it clean: that one is lost.
func (w writer) rewritten(e Entry) (out Entry, ok, lost bool) {
	if clean, err := w.isClean(e); clean || err != nil {
		return Entry{}, false, false
	}
	out = Entry{
		ID: w.bank.ids.next(entryPrefix, w.bank.Now()), RunID: e.RunID, Subjects: e.Subjects,
		CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt,
	}
	if out.Content, ok = w.remove(e.Content); !ok {
		return Entry{}, false, true
	}
	for _, t := range e.Tags {
		if isProvenance(t) {
			continue // it is no output of a pass any more
		}
		t, ok := w.remove(t)
		if !ok {
			return Entry{}, false, true
		}
		out.Tags = append(out.Tags, t)
	}
	if clean, err := w.isClean(out); !clean || err != nil {
		return Entry{}, false, true
	}
	return out, true, false
}
