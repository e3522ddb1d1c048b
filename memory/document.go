package memory

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// Documents yields the documents of a ref that q asks for, in the byte order of kind and
// key, and stops after an error; with an empty ref, the tenant's own, and with q.EveryRef
// those of all its refs too, ref by ref. A ref that is not the tenant's has none. The store
// must be a Transactor.
func (j *Job) Documents(ctx context.Context, ref string, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		at, ok := "", true // the ref that was looked at last; the tenant's own are its
		reach := func(ref string) (err error) {
			if ref != at {
				at = ref
				_, ok, err = j.beginRead(ctx, ref)
			}
			return err
		}
		if err := reach(ref); err != nil || !ok {
			if err != nil {
				yield(driver.Document{}, err)
			}
			return
		}
		q.Tenant, q.Ref, q.EveryRef = j.tenant, ref, q.EveryRef && ref == ""
		j.bank.eachDocument(ctx, q, func(d driver.Document, err error) bool {
			if err == nil {
				err = reach(d.Ref)
			}
			if err != nil {
				yield(driver.Document{}, err)
				return false
			}
			return !ok || yield(d, nil)
		})
	}
}

// Document returns one document of a ref, or with an empty ref one of the tenant's own.
// One that is not there has the revision 0, and otherwise only its names: it can be
// filled in and set as it is.
func (j *Job) Document(ctx context.Context, ref, kind, key string) (driver.Document, error) {
	for d, err := range j.Documents(ctx, ref, driver.DocumentQuery{Kind: kind, Key: key}) {
		return d, err
	}
	return driver.Document{Scope: Scope{Tenant: j.tenant, Ref: ref}, Kind: kind, Key: key}, nil
}

func (b *Bank) machinery(ctx context.Context, tenant string, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	q.Tenant = tenant
	return func(yield func(driver.Document, error) bool) {
		b.eachDocument(ctx, q, func(d driver.Document, err error) bool {
			return err == nil && d.Class != driver.Machinery || yield(d, err)
		})
	}
}

func (b *Bank) eachDocument(ctx context.Context, q driver.DocumentQuery, yield func(driver.Document, error) bool) {
	if b.tx == nil {
		yield(driver.Document{}, fail(ErrNotProvided, "documents need a store that is a driver.Transactor"))
		return
	}
	if err := checkTenant(q.Tenant); err != nil {
		yield(driver.Document{}, err)
		return
	}
	for d, err := range b.tx.Documents(ctx, q) {
		if !yield(d, shape(err)) || err != nil {
			return
		}
	}
}

func (b *Bank) due(ctx context.Context, kind string, limit int) ([]driver.Document, error) {
	if b.scheduler == nil {
		return nil, fail(ErrNotProvided, "what is due needs a store that is a driver.Scheduler")
	}
	if err := b.checkClock(); err != nil {
		return nil, err
	}
	due, err := b.scheduler.Due(ctx, kind, b.Now(), limit)
	return due, shape(err)
}

func (b *Bank) swap(ctx context.Context, tenant string, swaps ...driver.DocumentSwap) ([]int64, error) {
	if err := b.changeable("documents"); err != nil {
		return nil, err
	}
	if err := checkTenant(tenant); err != nil {
		return nil, err
	}
	if err := b.checkClock(); err != nil {
		return nil, err
	}
	m := driver.Mutation{At: b.Now(), Documents: make([]driver.DocumentSwap, len(swaps))}
	resolved := map[string]bool{"": true} // the tenant's own
	for i, x := range swaps {
		if !resolved[x.Ref] {
			if _, err := b.resolve(ctx, tenant, x.Ref); err != nil {
				return nil, err
			}
			resolved[x.Ref] = true
		}
		x.Tenant = tenant
		m.Documents[i] = x
	}
	if !m.Unversioned() {
		return nil, fail(ErrValidation, "Swap takes documents of the class Machinery only: write others by Job.Rewrite")
	}
	made, err := b.commit(ctx, tenant, m)
	return made.Revs, err
}

// documents prepares the documents of a rewrite of a scope: what they say is clean or
// made so.
func (j *Job) documents(ctx context.Context, s Scope, swaps []driver.DocumentSwap) ([]driver.DocumentSwap, error) {
	out := make([]driver.DocumentSwap, 0, len(swaps))
	for _, x := range swaps {
		if x.Ref != "" && x.Ref != s.Ref {
			return nil, fail(ErrValidation, "a document names another ref than the rewrite: leave driver.Document.Ref empty or give the rewrite's")
		}
		x.Tenant = s.Tenant
		if x.Act == driver.Set || x.Act == driver.Retain {
			if err := j.screen(ctx, &x); err != nil {
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// screen lets a document into the store as its class allows.
func (j *Job) screen(ctx context.Context, x *driver.DocumentSwap) error {
	if err := j.identifiers(ctx, append(names("a subject of a document", x.Subjects...), name{"driver.Document.Kind", x.Kind}, name{"driver.Document.Key", x.Key}, name{"driver.Document.Group", x.Group})...); err != nil {
		return err
	}
	if x.Act == driver.Retain {
		return nil
	}
	switch x.Class {
	case driver.Machinery:
		return j.identifiers(ctx, name{"the value of a document of the class driver.Machinery", string(x.Value)})
	case driver.Content:
		clean, err := j.clean(ctx, string(x.Value), true)
		if err == nil && clean != string(x.Value) {
			err = fail(ErrSecretLeakage, "the value of a document holds a secret: pass its texts through Job.Redact first")
		}
		return err
	default:
		clean, err := j.clean(ctx, string(x.Value), false)
		x.Value = []byte(clean)
		return err
	}
}
