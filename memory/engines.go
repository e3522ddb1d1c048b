package memory

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"

	"github.com/openwop/agentmemory/telemetry"
)

// Engines is the side of a [Bank] for those who write an engine; a host needs none of it. An
// engine that works in passes of the host has a [Job] instead.
type Engines struct{ bank *Bank }

// Engines returns the bank's side for engines.
func (b *Bank) Engines() Engines { return Engines{b} }

// Begin tells the bank's Tracer and Logger that an operation begins, and returns the context in
// which it goes on. The caller defers telemetry.Span.Done, and names the counts of the operation
// by telemetry.Span.Add.
func (e Engines) Begin(ctx context.Context, op telemetry.Op) (context.Context, telemetry.Span) {
	return e.bank.begin(ctx, op)
}

// Documents yields the tenant's machinery that q asks for, in the byte order of ref, kind
// and key, and stops after an error. Content and host text, which a [Job] reads, are
// left out. The store must be a Transactor.
func (e Engines) Documents(ctx context.Context, tenant string, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return e.bank.machinery(ctx, tenant, q)
}

// Due returns machinery of a kind, of all tenants, that is due now: by Due ascending and
// at most limit of it. It fails with [ErrNotProvided] if the store is not a Scheduler.
func (e Engines) Due(ctx context.Context, kind string, limit int) ([]driver.Document, error) {
	return e.bank.due(ctx, kind, limit)
}

// Swap changes machinery of one tenant, all of it or nothing, and returns the revisions
// that it has then. It is for what an engine does between two passes, such as taking a
// lease: it has no redactor, and therefore must not bring any identifier into the store
// that a [Job.Rewrite] has not let through. Errors: [ErrConflict] if a revision is another
// one, and nothing happened; [ErrForbidden] for a ref that is not the tenant's;
// [ErrValidation] for anything but machinery.
func (e Engines) Swap(ctx context.Context, tenant string, swaps ...driver.DocumentSwap) ([]int64, error) {
	return e.bank.swap(ctx, tenant, swaps...)
}

// Scopes yields the refs that hold anything, of all tenants, in byte order and behind one; a ref may
// be empty. It stops after an error. The store must offer driver.Tenants.
func (e Engines) Scopes(ctx context.Context, after Scope) iter.Seq2[Scope, error] {
	return e.bank.scopes(ctx, after)
}

// Replaced returns the entries of a ref that were merged into one of the given ones or superseded by
// it, in one step of their lineage. Those that were forgotten are left out, and a ref that is not the
// tenant's has none. The store must be a Transactor.
func (e Engines) Replaced(ctx context.Context, tenant, ref string, by ...string) ([]Record, error) {
	return e.bank.replaced(ctx, tenant, ref, by)
}

// View returns a view of the tenant's live memory in a ref, for the passes of a ranker, and
// the name of its state, as [View.Newest] has it; the name is empty if the store cannot tell
// what changes. It fails with [ErrForbidden] for a ref that is not the tenant's.
func (e Engines) View(ctx context.Context, tenant, ref string) (v *View, name string, err error) {
	return e.bank.liveView(ctx, tenant, ref)
}
