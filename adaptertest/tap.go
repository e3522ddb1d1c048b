package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// errEndless is what calls fail with after far more of them than any case needs: banks
// and engines repeat what conflicts, and erase until they find nothing left.
var errEndless = errors.New("the store was called 100,000 times and there was no end")

const endless = 100_000

// errInjected is what a call fails with that the kit makes fail.
var errInjected = errors.New("injected by adaptertest")

// tap stands between a bank and a store, counts the calls, and makes one of them
// fail: before the store has heard of it, or after the store has answered, whose
// acknowledgement is lost then. The process of the bank may die there, too.
type tap struct {
	world *world

	mu    sync.Mutex
	calls []string
	at    int  // the call to fail, counted from 1; 0 for none
	after bool // fail it after the store has answered
	dies  bool // fail all calls that follow, too
}

// As offers what the store offers, and nothing else.
func (t *tap) As(target any) bool {
	switch p := target.(type) {
	case *driver.Transactor:
		*p = t
		return t.world.tx != nil
	case *driver.Versioned:
		*p = t
		return t.world.versions != nil
	case *driver.Scheduler:
		*p = t
		return t.world.scheduler != nil
	case *driver.Describer:
		d, ok := driver.As[driver.Describer](t.world.store)
		*p = d
		return ok
	}
	return false
}

func (t *tap) call(name string, f func() error) error {
	t.mu.Lock()
	t.calls = append(t.calls, name)
	now, over := t.at == len(t.calls), len(t.calls) > endless
	dead := t.dies && t.at > 0 && len(t.calls) > t.at
	t.mu.Unlock()
	if over {
		return errEndless
	}
	if dead || now && !t.after {
		return errInjected
	}
	if err := f(); err != nil || !now {
		return err
	}
	return errInjected
}

// called makes one call. A panic of the store is an error of the call: an engine makes
// some of its calls in goroutines of its own, in which nobody else would catch it.
func called[T any](t *tap, name string, f func() (T, error)) (got T, err error) {
	err = t.call(name, func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("a panic: %v", r)
			}
		}()
		got, err = f()
		return err
	})
	return got, err
}

// tapped makes one call of a walk over what a store yields.
func tapped[T any](t *tap, name string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := t.call(name, func() error {
			for x, err := range all {
				if err != nil {
					return err
				}
				if !yield(x, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

func (t *tap) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return called(t, "List", func() ([]driver.Entry, error) { return t.world.store.List(ctx, s, q) })
}

func (t *tap) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return called(t, "Get", func() (driver.Entry, error) { return t.world.store.Get(ctx, s, id, at) })
}

func (t *tap) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return t.call("Put", func() error { return t.world.store.Put(ctx, s, e) })
}

func (t *tap) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	return called(t, "Delete", func() (bool, error) { return t.world.store.Delete(ctx, s, id, at) })
}

func (t *tap) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	return called(t, "Apply", func() (driver.Applied, error) {
		made, err := t.world.tx.Apply(ctx, tenant, m)
		if err == nil {
			t.world.noteSwaps(&m)
		}
		return made, err
	})
}

// noteSwaps counts how often a revision was swapped.
func (w *world) noteSwaps(m *driver.Mutation) {
	w.swaps.Lock()
	defer w.swaps.Unlock()
	if w.swapped == nil {
		w.swapped = map[string]int{}
	}
	for _, x := range m.Documents {
		if x.Rev > 0 && x.Act != driver.Check {
			w.swapped[fmt.Sprintf("%s, revision %d", describeName(&x.Document), x.Rev)]++
		}
	}
}

// swappedOnce expects that no revision of a document was swapped twice: of those who saw
// it, one has the claim.
func (w *world) swappedOnce() {
	for name, n := range sorted(w.swapped) {
		w.check(n == 1, "one who swaps each revision", "%d swaps of %s", n, name)
	}
}

func (t *tap) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return called(t, "Lookup", func() ([]driver.Record, error) { return t.world.tx.Lookup(ctx, s, ids) })
}

func (t *tap) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return tapped(t, "History", t.world.tx.History(ctx, tenant, q))
}

func (t *tap) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return tapped(t, "Documents", t.world.tx.Documents(ctx, q))
}

func (t *tap) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return tapped(t, "Undelivered", t.world.tx.Undelivered(ctx, q))
}

func (t *tap) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return called(t, "Waiting", func() (int, error) { return t.world.tx.Waiting(ctx, tenant, limit) })
}

func (t *tap) Delivered(ctx context.Context, recs []events.Record) error {
	return t.call("Delivered", func() error { return t.world.tx.Delivered(ctx, recs) })
}

func (t *tap) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return called(t, "Version", func() (driver.Version, error) { return t.world.versions.Version(ctx, tenant) })
}

func (t *tap) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	return called(t, "ListAt", func() ([]driver.Entry, error) { return t.world.versions.ListAt(ctx, s, v, q) })
}

func (t *tap) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	return called(t, "GetAt", func() ([]driver.Entry, error) { return t.world.versions.GetAt(ctx, s, v, ids, at) })
}

func (t *tap) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return called(t, "Intact", func() (bool, error) { return t.world.versions.Intact(ctx, s, v) })
}

func (t *tap) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	return called(t, "Purge", func() (int, error) { return t.world.versions.Purge(ctx, tenant, v, at) })
}

func (t *tap) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return called(t, "Due", func() ([]driver.Document, error) { return t.world.scheduler.Due(ctx, kind, at, limit) })
}
