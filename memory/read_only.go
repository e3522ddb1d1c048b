package memory

import (
	"context"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// ReadOnly shows a store without its writes: memory that a host lends out, or looks at
// beside the process that fills it. All that the store offers for reading is there, runs and
// their views too; a call that would change it is [ErrNotProvided] and never reaches it. It
// says of itself that it is read-only (driver.Traits), so a bank over it offers no writes,
// passes or forgetting, and the capability model degrades what needs them. The events that
// wait in the store are left to the process that fills it.
func ReadOnly(a driver.Adapter) driver.Adapter { return readOnly{a} }

// readOnly has the methods of every step; As tells which of them the store has.
type readOnly struct{ store driver.Adapter }

var errReadOnly = fail(ErrNotProvided, storeReadOnly)

// As offers what the store offers and reading needs.
func (r readOnly) As(target any) (ok bool) {
	switch t := target.(type) {
	case *driver.Adapter:
		*t, ok = r, true
	case *driver.Transactor:
		var tx driver.Transactor
		tx, ok = driver.As[driver.Transactor](r.store)
		*t = readOnlyTx{r, tx}
	case *driver.Versioned:
		var v driver.Versioned
		v, ok = driver.As[driver.Versioned](r.store)
		*t = readOnlyVersioned{readOnlyTx{r, v}, v}
	case *driver.Tenants:
		var tenants driver.Tenants
		tenants, ok = driver.As[driver.Tenants](r.store)
		*t = readOnlyTenants{tenants}
	case *driver.EventKeeper:
		var kept driver.EventKeeper
		kept, ok = driver.As[driver.EventKeeper](r.store)
		*t = readOnlyEvents{readOnlyTx{r, kept}, kept}
	case *driver.Describer:
		*t, ok = r, true
	case *driver.Scheduler:
		*t, ok = driver.As[driver.Scheduler](r.store)
	case *driver.Changes:
		*t, ok = driver.As[driver.Changes](r.store)
	}
	return ok
}

func (r readOnly) Traits() (traits driver.Traits) {
	if d, ok := driver.As[driver.Describer](r.store); ok {
		traits = d.Traits()
	}
	traits.ReadOnly = true
	return traits
}

func (r readOnly) List(ctx context.Context, s Scope, q driver.Query) ([]Entry, error) {
	return r.store.List(ctx, s, q)
}

func (r readOnly) Get(ctx context.Context, s Scope, id string, at time.Time) (Entry, error) {
	return r.store.Get(ctx, s, id, at)
}

func (readOnly) Put(context.Context, Scope, Entry) error { return errReadOnly }

func (readOnly) Delete(context.Context, Scope, string, time.Time) (bool, error) {
	return false, errReadOnly
}

type readOnlyTx struct {
	readOnly
	tx driver.Transactor
}

func (r readOnlyTx) Lookup(ctx context.Context, s Scope, ids []string) ([]Record, error) {
	return r.tx.Lookup(ctx, s, ids)
}

func (r readOnlyTx) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[Record, error] {
	return r.tx.History(ctx, tenant, q)
}

func (r readOnlyTx) Documents(ctx context.Context, q DocumentQuery) iter.Seq2[Document, error] {
	return r.tx.Documents(ctx, q)
}

func (r readOnlyTx) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return r.tx.Waiting(ctx, tenant, limit)
}

// Undelivered would claim what it yields.
func (readOnlyTx) Undelivered(context.Context, string, string) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) { yield(events.Record{}, errReadOnly) }
}

func (readOnlyTx) Delivered(context.Context, []events.Record) error { return errReadOnly }

func (readOnlyTx) Apply(context.Context, string, driver.Mutation) (driver.Applied, error) {
	return driver.Applied{}, errReadOnly
}

type readOnlyVersioned struct {
	readOnlyTx
	versions driver.Versioned
}

func (r readOnlyVersioned) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return r.versions.Version(ctx, tenant)
}

func (r readOnlyVersioned) Intact(ctx context.Context, s Scope, v driver.Version) (bool, error) {
	return r.versions.Intact(ctx, s, v)
}

func (readOnlyVersioned) Purge(context.Context, string, driver.Version, time.Time) (int, error) {
	return 0, errReadOnly
}

type readOnlyTenants struct{ tenants driver.Tenants }

func (r readOnlyTenants) Scopes(ctx context.Context, after Scope) iter.Seq2[Scope, error] {
	return r.tenants.Scopes(ctx, after)
}

func (readOnlyTenants) DropTenant(context.Context, string, int) (bool, error) {
	return false, errReadOnly
}

type readOnlyEvents struct {
	readOnlyTx
	events.Reader
}

func (readOnlyEvents) PurgeEvents(context.Context, time.Time, int) (bool, error) {
	return false, errReadOnly
}
