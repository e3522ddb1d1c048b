package memory

import (
	"bytes"
	"cmp"
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
// that r would redact today, together with all that was derived from one. Where such
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
	ctx, span := b.begin(ctx, telemetry.Scrub)
	defer span.Done(&err)
	defer done.count(&span)
	w, err := newWriter(b, tenant, "scrub", r, true)
	if err != nil {
		return Forgotten{}, err
	}
	dropped, failed := w.scrubEvents(ctx) // entries are erased even if an event cannot be read
	done, err = b.eraseAll(ctx, tenant, func(ctx context.Context, x *erasure) error {
		x.name = w.nameCleaner(ctx)
		x.rewrite = func(e Entry) (out Entry, ok, lost bool) {
			out, ok, lost, err := w.redactedCopy(ctx, e)
			x.failed = cmp.Or(x.failed, err)
			return out, ok, lost
		}
		err := b.markChosen(ctx, x, func(rec *Record) (bool, error) {
			clean, err := w.isClean(ctx, rec.Entry)
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

// scrubEvents removes events that wait in which the redactor finds a secret, and returns how
// many.
func (w writer) scrubEvents(ctx context.Context) (dropped int, err error) {
	if w.bank.tx == nil || w.bank.traits.ReadOnly {
		return 0, nil
	}
	for rec, err := range w.bank.tx.Undelivered(ctx, "", "") {
		if err != nil {
			return dropped, shape(err)
		}
		if rec.Tenant != w.tenant {
			continue
		}
		text, err := json.Marshal(rec.Payload)
		if err != nil {
			return dropped, failWith(ErrInternal, "an event cannot be written down", err)
		}
		dirty, err := w.dirty(ctx, append(plainTexts(text), rec.ID, rec.RunID, rec.NodeID, string(text))...)
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
	for d, err := range w.bank.tx.Documents(ctx, driver.DocumentQuery{Tenant: w.tenant, EveryRef: true}) {
		if err != nil {
			return shape(err)
		}
		if d.Kind == ledgerKind { // what was erased must stay known
			value, ok, err := w.cleanLedger(ctx, d.Value)
			if err != nil {
				return err
			}
			if ok && !bytes.Equal(value, d.Value) {
				d.Value = value
				x.documents = append(x.documents, driver.DocumentSwap{Document: d})
			}
			if ok {
				continue // its ids and instants are no secrets, also if a redactor takes them for some
			}
		}
		dirty, err := w.dirty(ctx, documentTexts(&d)...)
		if err != nil {
			return err
		}
		if !dirty {
			continue
		}
		clean := d
		ok := false
		if d.Class == driver.HostText {
			var text string
			text, ok, err = w.remove(ctx, string(d.Value))
			clean.Value = []byte(text)
		}
		if err := unlessRefused(err); err != nil {
			return err
		}
		act := driver.Remove
		if ok && len(clean.Value) <= driver.MaxDocumentBytes {
			still, err := w.dirty(ctx, documentTexts(&clean)...)
			if err := unlessRefused(err); err != nil {
				return err
			}
			if err == nil && !still {
				act, d = driver.Set, clean
			}
		}
		x.documents = append(x.documents, driver.DocumentSwap{Document: d, Act: act})
	}
	return nil
}

// documentTexts returns every text in a document; strings of a JSON value also unescaped.
func documentTexts(d *driver.Document) []string {
	return slices.Concat(d.Subjects, []string{d.Kind, d.Key, d.Group, string(d.Value)}, plainTexts(d.Value))
}

// dirty reports whether the redactor would change any of the texts, or refuses one for
// the secret in it.
func (w writer) dirty(ctx context.Context, texts ...string) (bool, error) {
	for _, text := range texts {
		out, err := w.redacted(ctx, Redactor.Redact, text)
		found := interface{ SecretFound() bool }(nil)
		if errors.As(err, &found) && found.SecretFound() {
			return true, nil
		}
		if err != nil {
			return false, w.refused(ctx, err)
		}
		if out != text {
			return true, nil
		}
	}
	return false, nil
}

// isClean reports whether the redactor would leave an entry as it is.
func (w writer) isClean(ctx context.Context, e Entry) (bool, error) {
	dirty, err := w.dirty(ctx, slices.Concat([]string{e.Content, e.RunID}, e.Tags, e.Subjects)...)
	return !dirty, err
}

// remove takes the secrets out of a text, also with a redactor that otherwise refuses
// text with a secret and offers Remove. It reports false if the redactor gives none.
func (w writer) remove(ctx context.Context, text string) (out string, ok bool, err error) {
	redact := Redactor.RedactDerived
	if _, ok := w.redactor.(remover); ok {
		redact = func(r Redactor, text string) (string, error) { return r.(remover).Remove(text) }
	}
	out, err = w.redacted(ctx, redact, text)
	if err != nil {
		return "", false, unlessRefused(w.refused(ctx, err))
	}
	return out, validText(out), nil
}

// unlessRefused drops a refusal of the redactor: a text that it refuses is lost. Any other error
// ends the scrubbing.
func unlessRefused(err error) error {
	if errors.Is(err, ErrSecretLeakage) {
		return nil
	}
	return err
}

type remover interface {
	Remove(text string) (string, error)
}

// nameCleaner returns cleanName with its context bound.
func (w writer) nameCleaner(ctx context.Context) func(string) (string, error) {
	return func(name string) (string, error) { return w.cleanName(ctx, name) }
}

func (w writer) cleanName(ctx context.Context, name string) (string, error) {
	dirty, err := w.dirty(ctx, name)
	if err != nil || !dirty {
		return name, err
	}
	out, ok, err := w.remove(ctx, name)
	if err != nil {
		return "", err
	}
	if ok {
		still, err := w.dirty(ctx, out)
		if err := unlessRefused(err); err != nil {
			return "", err
		}
		if err == nil && !still {
			return out, nil
		}
	}
	return "[REDACTED]", nil
}

// redactedCopy is the redacted form of an entry under a new id. There is none for a clean
// entry, which is erased only because it was derived from something that is, and none
// where no redaction makes it clean: that one is lost.
func (w writer) redactedCopy(ctx context.Context, e Entry) (out Entry, ok, lost bool, err error) {
	if clean, err := w.isClean(ctx, e); clean || err != nil {
		return Entry{}, false, false, err
	}
	out = Entry{
		ID: w.bank.ids.next(entryPrefix, w.bank.Now()), RunID: e.RunID, Subjects: e.Subjects,
		CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt,
	}
	if out.Content, ok, err = w.remove(ctx, e.Content); !ok {
		return Entry{}, false, true, err
	}
	for _, t := range e.Tags {
		if isProvenance(t) {
			continue // it is no output of a pass any more
		}
		t, ok, err := w.remove(ctx, t)
		if !ok {
			return Entry{}, false, true, err
		}
		out.Tags = append(out.Tags, t)
	}
	if clean, err := w.isClean(ctx, out); !clean || err != nil {
		return Entry{}, false, true, unlessRefused(err)
	}
	return out, true, false, nil
}
