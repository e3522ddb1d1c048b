package adaptertest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// errEndless is what calls fail with after far more of them than any case needs: banks
// and engines repeat what conflicts, and erase until they find nothing left.
var errEndless = errors.New("the store was called 100,000 times and there was no end")

const endless = 100_000

// errInjected is what a call fails with that the kit makes fail.
var errInjected = errors.New("injected by adaptertest")

// tap stands between a bank and a store, counts the calls, and makes one of them
// fail: before the store has heard of it, or after the store has answered, whose
// acknowledgement is lost then.
type tap struct {
	world *world

	mu    sync.Mutex
	calls []string
	at    int  // the call to fail, counted from 1; 0 for none
	after bool // fail it after the store has answered
}

// As offers what the store offers, and nothing else.
func (t *tap) As(target any) bool {
	switch p := target.(type) {
	case *memory.Transactor:
		*p = t
		return t.world.tx != nil
	case *memory.Versioned:
		*p = t
		return t.world.versions != nil
	case *memory.Describer:
		d, ok := memory.As[memory.Describer](t.world.store)
		*p = d
		return ok
	}
	return false
}

func (t *tap) call(name string, f func() error) error {
	t.mu.Lock()
	t.calls = append(t.calls, name)
	now, over := t.at == len(t.calls), len(t.calls) > endless
	t.mu.Unlock()
	if over {
		return errEndless
	}
	if now && !t.after {
		return errInjected
	}
	if err := f(); err != nil || !now {
		return err
	}
	return errInjected
}

func (t *tap) List(ctx context.Context, s memory.Scope, q memory.Query) (out []memory.Entry, err error) {
	err = t.call("List", func() error { out, err = t.world.store.List(ctx, s, q); return err })
	return out, err
}

func (t *tap) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (e memory.Entry, err error) {
	err = t.call("Get", func() error { e, err = t.world.store.Get(ctx, s, id, at); return err })
	return e, err
}

func (t *tap) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
	return t.call("Put", func() error { return t.world.store.Put(ctx, s, e) })
}

func (t *tap) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (ok bool, err error) {
	err = t.call("Delete", func() error { ok, err = t.world.store.Delete(ctx, s, id, at); return err })
	return ok, err
}

func (t *tap) Apply(ctx context.Context, tenant string, m memory.Mutation) (v memory.Version, err error) {
	err = t.call("Apply", func() error { v, err = t.world.tx.Apply(ctx, tenant, m); return err })
	return v, err
}

func (t *tap) Lookup(ctx context.Context, s memory.Scope, id string) (r memory.Record, err error) {
	err = t.call("Lookup", func() error { r, err = t.world.tx.Lookup(ctx, s, id); return err })
	return r, err
}

func (t *tap) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		stopped := false
		err := t.call("History", func() error {
			for rec, err := range t.world.tx.History(ctx, tenant, q) {
				if err != nil {
					return err
				}
				if !yield(rec, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(memory.Record{}, err)
		}
	}
}

func (t *tap) Cell(ctx context.Context, s memory.Scope, name string) (b []byte, err error) {
	err = t.call("Cell", func() error { b, err = t.world.tx.Cell(ctx, s, name); return err })
	return b, err
}

func (t *tap) Undelivered(ctx context.Context, q memory.OutboxQuery) (recs []events.Record, err error) {
	err = t.call("Undelivered", func() error { recs, err = t.world.tx.Undelivered(ctx, q); return err })
	return recs, err
}

func (t *tap) Delivered(ctx context.Context, recs []events.Record) error {
	return t.call("Delivered", func() error { return t.world.tx.Delivered(ctx, recs) })
}

func (t *tap) Version(ctx context.Context, tenant string) (v memory.Version, err error) {
	err = t.call("Version", func() error { v, err = t.world.versions.Version(ctx, tenant); return err })
	return v, err
}

func (t *tap) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) (out []memory.Entry, err error) {
	err = t.call("ListAt", func() error { out, err = t.world.versions.ListAt(ctx, s, v, q); return err })
	return out, err
}

func (t *tap) GetAt(ctx context.Context, s memory.Scope, v memory.Version, id string, at time.Time) (e memory.Entry, err error) {
	err = t.call("GetAt", func() error { e, err = t.world.versions.GetAt(ctx, s, v, id, at); return err })
	return e, err
}

func (t *tap) Intact(ctx context.Context, tenant string, v memory.Version) (ok bool, err error) {
	err = t.call("Intact", func() error { ok, err = t.world.versions.Intact(ctx, tenant, v); return err })
	return ok, err
}

func (t *tap) Purge(ctx context.Context, tenant string, v memory.Version, at time.Time) (n int, err error) {
	err = t.call("Purge", func() error { n, err = t.world.versions.Purge(ctx, tenant, v, at); return err })
	return n, err
}
