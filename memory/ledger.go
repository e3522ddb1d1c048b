package memory

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Erasure is one step of forgetting as the ledger of a tenant has it: where and when, and
// nothing of what was said.
type Erasure struct {
	At time.Time `json:"at"`
	// Entries were erased, by ref.
	Entries map[string][]string `json:"entries,omitempty"`
	// Texts are host texts that were removed.
	Texts []ErasedText `json:"texts,omitempty"`
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

// ledger returns the document that notes what a mutation erases.
func (b *Bank) ledger(tenant string, m *driver.Mutation) (DocumentSwap, error) {
	x := Erasure{At: b.Now(), Entries: map[string][]string{}}
	for _, l := range m.Erase {
		x.Entries[l.Ref] = append(x.Entries[l.Ref], l.ID)
	}
	for _, d := range m.Documents {
		if d.Class == HostText && d.Act == Remove {
			x.Texts = append(x.Texts, ErasedText{d.Ref, d.Kind, d.Key, d.Rev})
		}
	}
	value, err := json.Marshal(x)
	if err != nil {
		return DocumentSwap{}, failWith(ErrInternal, "", err)
	}
	return DocumentSwap{Document: Document{
		Scope: Scope{Tenant: tenant}, Kind: ledgerKind, Key: b.ids.next("era_", x.At),
		Value: value, Due: x.At.Add(b.cfg.LedgerRetention),
	}}, nil
}

// Erasures yields the tenant's ledger: every step of [Bank.Forget], [Bank.Scrub] and of
// passes that erased, oldest first, within Config.LedgerRetention. A host keeps a copy
// apart from its backups, and applies it with [Bank.EraseAgain] after it has restored one.
// It stops after an error. The store must be a Transactor.
func (b *Bank) Erasures(ctx context.Context, tenant string) iter.Seq2[Erasure, error] {
	return func(yield func(Erasure, error) bool) {
		for d, err := range b.Documents(ctx, tenant, DocumentQuery{Kind: ledgerKind}) {
			var x Erasure
			if err == nil && json.Unmarshal(d.Value, &x) != nil {
				err = fail(ErrInternal, "the ledger of erasures is damaged")
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// EraseAgain erases what a ledger names and the tenant's memory holds, with whatever was
// derived from it, by the rules of [Bank.Forget]: so that what was forgotten stays so after
// a backup was restored. It may be called again, and with a ledger that was applied.
func (b *Bank) EraseAgain(ctx context.Context, tenant string, ledger []Erasure) (done Forgotten, err error) {
	ctx, span := b.Begin(ctx, telemetry.EraseAgain)
	defer span.Done(&err)
	defer done.count(&span)
	if !validTenant(tenant) {
		return Forgotten{}, fail(ErrValidation, "malformed tenant")
	}
	erased := map[driver.Located]bool{}
	for _, x := range ledger {
		for ref, ids := range x.Entries {
			for _, id := range ids {
				erased[driver.Located{Scope: Scope{Tenant: tenant, Ref: ref}, ID: id}] = true
			}
		}
	}
	return b.eraseAll(ctx, tenant, func(ctx context.Context, x *erasure) error {
		err := b.doomAll(ctx, x, func(rec *Record) (bool, error) {
			return erased[driver.Located{Scope: rec.Scope, ID: rec.Entry.ID}], nil
		})
		if err != nil {
			return err
		}
		return b.doomTexts(ctx, x, ledger)
	})
}

// doomTexts has the host texts of a ledger removed, unless they are newer.
func (b *Bank) doomTexts(ctx context.Context, x *erasure, ledger []Erasure) error {
	newest := map[ErasedText]int64{} // by name, the last revision that was removed
	for _, e := range ledger {
		for _, t := range e.Texts {
			name := ErasedText{Ref: t.Ref, Kind: t.Kind, Key: t.Key}
			newest[name] = max(newest[name], t.Rev)
		}
	}
	for t, rev := range newest {
		q := DocumentQuery{Tenant: x.tenant, Ref: t.Ref, Kind: t.Kind, Key: t.Key, Bare: true}
		for d, err := range b.tx.Documents(ctx, q) {
			if err != nil {
				return shape(err)
			}
			if d.Class == HostText && d.Rev <= rev {
				x.documents = append(x.documents, DocumentSwap{Document: d, Act: Remove})
			}
		}
	}
	return nil
}
