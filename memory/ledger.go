package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Erasure is one step of forgetting as the ledger of a tenant has it: where and when, and
// nothing of what was said. Refs and the names of host texts stand in it as the redactor of
// the step leaves them, and after a [Bank.Scrub] as that one does. [Bank.Forget] has none.
type Erasure struct {
	At time.Time `json:"at"`
	// Entries were erased, by ref.
	Entries map[string][]string `json:"entries,omitempty"`
	// Texts are host texts that were removed.
	Texts []ErasedText `json:"texts,omitempty"`
}

// clean returns the erasure with its names as name leaves them.
func (x Erasure) clean(name func(string) (string, error)) (out Erasure, err error) {
	var failed error
	cleaned := func(s string) string {
		s, err := name(s)
		failed = cmp.Or(failed, err)
		return s
	}
	out = Erasure{At: x.At, Entries: map[string][]string{}}
	for ref, ids := range x.Entries {
		ref = cleaned(ref)
		out.Entries[ref] = append(out.Entries[ref], ids...)
	}
	for _, t := range x.Texts {
		out.Texts = append(out.Texts, ErasedText{cleaned(t.Ref), cleaned(t.Kind), cleaned(t.Key), t.Rev})
	}
	return out, failed
}

// ErasedText names a host text that was removed, up to a revision.
type ErasedText struct {
	Ref  string `json:"ref,omitempty"`
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Rev  int64  `json:"rev"`
}

// ledgerKind is the kind of the tenant's documents that hold its erasures, one for each
// mutation that erased. They are kept for Config.LedgerRetention.
const ledgerKind = "memory/erasure"

// ledgerStep returns the document that notes what a mutation erases, by names as name leaves
// them.
func (b *Bank) ledgerStep(tenant string, m *driver.Mutation, name func(string) (string, error)) (driver.DocumentSwap, error) {
	x := Erasure{At: b.Now(), Entries: map[string][]string{}}
	for _, l := range m.Erase {
		x.Entries[l.Ref] = append(x.Entries[l.Ref], l.ID)
	}
	for _, d := range m.Documents {
		if d.Class == driver.HostText && d.Act == driver.Remove {
			x.Texts = append(x.Texts, ErasedText{d.Ref, d.Kind, d.Key, d.Rev})
		}
	}
	x, err := x.clean(name)
	if err != nil {
		return driver.DocumentSwap{}, err
	}
	value, err := json.Marshal(x)
	if err != nil {
		return driver.DocumentSwap{}, failWith(ErrInternal, "a note of the ledger of erasures is no JSON", err)
	}
	return driver.DocumentSwap{Document: driver.Document{
		Scope: Scope{Tenant: tenant}, Kind: ledgerKind, Key: b.ids.next("era_", x.At),
		Value: value, Due: x.At.Add(b.cfg.LedgerRetention),
	}}, nil
}

// cleanLedger returns the value of a document of the ledger as the redactor leaves its
// names; ok is false for a damaged one.
func (w writer) cleanLedger(ctx context.Context, value []byte) (clean []byte, ok bool, err error) {
	var x Erasure
	if json.Unmarshal(value, &x) != nil {
		return nil, false, nil
	}
	if x, err = x.clean(w.nameCleaner(ctx)); err != nil {
		return nil, false, err
	}
	clean, err = json.Marshal(x)
	return clean, err == nil, err
}

// Erasures yields the tenant's ledger: every step of [Bank.Forget], [Bank.Scrub] and of
// passes that erased, oldest first, within Config.LedgerRetention. A host keeps a copy
// apart from its backups, and applies it with [Bank.EraseAgain] after it has restored one.
// It stops after an error. The store must be a Transactor.
func (b *Bank) Erasures(ctx context.Context, tenant string) iter.Seq2[Erasure, error] {
	return func(yield func(Erasure, error) bool) {
		for d, err := range b.machinery(ctx, tenant, driver.DocumentQuery{Kind: ledgerKind}) {
			var x Erasure
			if err == nil && json.Unmarshal(d.Value, &x) != nil {
				err = fail(ErrInternal, "a note of the ledger of erasures is damaged")
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// EraseAgain erases the entries and texts that a ledger names, with all that was derived from
// them, by the rules of [Bank.Forget]. So forgotten memory stays forgotten after a backup was
// restored. It may be called again, and with a ledger that was applied.
//
// If the ledger has redacted names, r must hold the same secrets under the same ids: what was
// erased is found by the name that r leaves of its own. Without such names r may be nil. Texts
// that a [Bank.Scrub] redacted are in no ledger: after a restore a host scrubs them again.
func (b *Bank) EraseAgain(ctx context.Context, tenant string, ledger []Erasure, r Redactor) (done Forgotten, err error) {
	ctx, span := b.begin(ctx, telemetry.EraseAgain)
	defer span.Done(&err)
	defer done.count(&span)
	if err := checkTenant(tenant); err != nil {
		return Forgotten{}, err
	}
	name := sameName
	if r != nil {
		w, err := newWriter(b, tenant, "erase-again", r, true)
		if err != nil {
			return Forgotten{}, err
		}
		name = w.nameCleaner(ctx)
	}
	name = cached(name)
	erased, texts := map[driver.Located]bool{}, map[ErasedText]int64{} // texts by name, the last revision that was removed
	for _, x := range ledger {
		if x, err = x.clean(name); err != nil {
			return Forgotten{}, err
		}
		for ref, ids := range x.Entries {
			for _, id := range ids {
				erased[driver.Located{Scope: Scope{Tenant: tenant, Ref: ref}, ID: id}] = true
			}
		}
		for _, t := range x.Texts {
			rev := t.Rev
			t.Rev = 0
			texts[t] = max(texts[t], rev)
		}
	}
	return b.eraseAll(ctx, tenant, func(ctx context.Context, x *erasure) error {
		x.name = name
		err := b.markChosen(ctx, x, func(rec *Record) (bool, error) {
			ref, err := name(rec.Ref)
			return erased[driver.Located{Scope: Scope{Tenant: tenant, Ref: ref}, ID: rec.Entry.ID}], err
		})
		if err != nil || len(texts) == 0 {
			return err
		}
		return b.markTexts(ctx, x, texts)
	})
}

// sameName leaves a name as it is.
func sameName(name string) (string, error) { return name, nil }

// cached returns name with a memory: it is called once for each name.
func cached(name func(string) (string, error)) func(string) (string, error) {
	known := map[string]string{}
	return func(s string) (string, error) {
		if out, ok := known[s]; ok {
			return out, nil
		}
		out, err := name(s)
		if err == nil {
			known[s] = out
		}
		return out, err
	}
}

// markTexts has the host texts of a ledger removed, unless they are newer.
func (b *Bank) markTexts(ctx context.Context, x *erasure, texts map[ErasedText]int64) error {
	for d, err := range b.tx.Documents(ctx, driver.DocumentQuery{Tenant: x.tenant, EveryRef: true, Bare: true}) {
		if err != nil {
			return shape(err)
		}
		if d.Class != driver.HostText {
			continue
		}
		cleaned, err := Erasure{Texts: []ErasedText{{Ref: d.Ref, Kind: d.Kind, Key: d.Key}}}.clean(x.name)
		if err != nil {
			return err
		}
		if rev, ok := texts[cleaned.Texts[0]]; ok && d.Rev <= rev {
			x.documents = append(x.documents, driver.DocumentSwap{Document: d, Act: driver.Remove})
		}
	}
	return nil
}
