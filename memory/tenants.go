package memory

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/telemetry"
)

// Tenants yields the tenants that the store holds anything of, in byte order, and stops
// after an error. The store must offer driver.Tenants.
func (b *Bank) Tenants(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last := ""
		for s, err := range b.scopes(ctx, Scope{}) {
			if err == nil && s.Tenant == last {
				continue
			}
			last = s.Tenant
			if !yield(s.Tenant, err) || err != nil {
				return
			}
		}
	}
}

// Refs yields the refs of a tenant that hold anything, in byte order, and stops after an
// error. The store must offer driver.Tenants.
func (b *Bank) Refs(ctx context.Context, tenant string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := checkTenant(tenant); err != nil {
			yield("", err)
			return
		}
		for s, err := range b.scopes(ctx, Scope{Tenant: tenant}) {
			if err != nil {
				yield("", err)
				return
			}
			if s.Tenant != tenant || !yield(s.Ref, nil) {
				return
			}
		}
	}
}

func (b *Bank) scopes(ctx context.Context, after Scope) iter.Seq2[Scope, error] {
	return func(yield func(Scope, error) bool) {
		if b.tenants == nil {
			yield(Scope{}, fail(ErrNotProvided, "listing tenants or refs needs a store that is driver.Tenants"))
			return
		}
		for s, err := range b.tenants.Scopes(ctx, after) {
			if !yield(s, shape(err)) || err != nil {
				return
			}
		}
	}
}

// dropBatch is about how many things one call of DropTenant removes.
const dropBatch = 1000

// DropTenant removes everything that the store holds of a tenant: entries, documents,
// undelivered events. Its runs and tokens become [ErrSnapshotUnavailable], also for
// a later tenant of the same name. It works in batches; after an error it is called
// again. The host sees to it that no process writes for the tenant meanwhile. The store must
// offer driver.Tenants.
func (b *Bank) DropTenant(ctx context.Context, tenant string) (err error) {
	ctx, span := b.begin(ctx, telemetry.DropTenant)
	defer span.Done(&err)
	if err := checkTenant(tenant); err != nil {
		return err
	}
	if b.tenants == nil {
		return fail(ErrNotProvided, "dropping a tenant needs a store that is driver.Tenants")
	}
	if err := b.changeable("dropping a tenant"); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = b.tenants.DropTenant(ctx, tenant, dropBatch); err != nil {
			return shape(err)
		}
	}
	span.Add(telemetry.Tenants.Of(1))
	return nil
}
