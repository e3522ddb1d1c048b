package memory

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Exported is one thing that memory holds about a subject: an entry with what became of
// it, or a document. One of the two is set, and the other is nil.
type Exported struct {
	Record   *Record
	Document *driver.Document
}

// Export yields everything about a subject, in every ref of the tenant: the entries that
// carry its label, in any state and also expired, with what was derived from them; the
// documents made of those, such as archives; and host text that carries the label. It is what
// [Bank.Forget] would erase, but for what is erased already; Forgotten.Erased counts entries
// only. It stops after an error. The store must be
// a Transactor.
func (b *Bank) Export(ctx context.Context, tenant, subject string) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		if err := b.export(ctx, tenant, subject, yield); err != nil {
			yield(Exported{}, err)
		}
	}
}

func (b *Bank) export(ctx context.Context, tenant, subject string, yield func(Exported, error) bool) error {
	if err := checkTenant(tenant); err != nil {
		return err
	}
	if err := checkSubject(subject); err != nil {
		return err
	}
	if b.tx == nil {
		return fail(ErrNotProvided, "an export needs a store that is a driver.Transactor")
	}
	about := map[string]map[string]bool{} // by ref, the ids
	for rec, err := range b.tx.History(ctx, tenant, driver.HistoryQuery{Subject: subject}) {
		if err != nil {
			return shape(err)
		}
		if about[rec.Ref] == nil {
			about[rec.Ref] = map[string]bool{}
		}
		about[rec.Ref][rec.Entry.ID] = true
		rec.Entry = ownCopy(rec.Entry)
		if !yield(Exported{Record: &rec}, nil) {
			return nil
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(about)) {
		for d, err := range b.tx.Documents(ctx, driver.DocumentQuery{Tenant: tenant, Ref: ref}) {
			if err != nil {
				return shape(err)
			}
			made := slices.ContainsFunc(d.Of, func(id string) bool { return about[ref][id] })
			if made && d.Kind != keyKind && d.Kind != nameKind && !yield(Exported{Document: &d}, nil) {
				return nil
			}
		}
	}
	for d, err := range b.tx.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Subject: subject}) {
		if err != nil {
			return shape(err)
		}
		if !yield(Exported{Document: &d}, nil) {
			return nil
		}
	}
	return nil
}
