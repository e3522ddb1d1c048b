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

// injector stands between a bank and a store, counts the calls, and makes one of them
// fail: before the store has heard of it, or after the store has answered, whose
// acknowledgement is lost then. The process of the bank may die there, too.
type injector struct {
	world *world

	mu    sync.Mutex
	calls []string
	at    int  // the call to fail, counted from 1; 0 for none
	after bool // fail it after the store has answered
	dies  bool // fail all calls that follow, too
}

// As offers what the store offers, and nothing else.
func (i *injector) As(target any) bool {
	switch p := target.(type) {
	case *driver.Transactor:
		*p = i
		return i.world.tx != nil
	case *driver.Versioned:
		*p = i
		return i.world.versions != nil
	case *driver.Scheduler:
		*p = i
		return i.world.scheduler != nil
	case *driver.Describer:
		d, ok := driver.As[driver.Describer](i.world.store)
		*p = d
		return ok
	}
	return false
}

func (i *injector) call(name string, f func() error) error {
	i.mu.Lock()
	i.calls = append(i.calls, name)
	now, over := i.at == len(i.calls), len(i.calls) > endless
	dead := i.dies && i.at > 0 && len(i.calls) > i.at
	i.mu.Unlock()
	if over {
		return errEndless
	}
	if dead || now && !i.after {
		return errInjected
	}
	if err := f(); err != nil || !now {
		return err
	}
	return errInjected
}

// called makes one call. A panic of the store is an error of the call: an engine makes
// some of its calls in goroutines of its own, in which nobody else would catch it.
func called[T any](i *injector, name string, f func() (T, error)) (got T, err error) {
	err = i.call(name, func() (err error) {
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

// walked makes one call of a walk over what a store yields.
func walked[T any](i *injector, name string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := i.call(name, func() error {
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

func (i *injector) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return called(i, "List", func() ([]driver.Entry, error) { return i.world.store.List(ctx, s, q) })
}

func (i *injector) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return called(i, "Get", func() (driver.Entry, error) { return i.world.store.Get(ctx, s, id, at) })
}

func (i *injector) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return i.call("Put", func() error { return i.world.store.Put(ctx, s, e) })
}

func (i *injector) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	return called(i, "Delete", func() (bool, error) { return i.world.store.Delete(ctx, s, id, at) })
}

func (i *injector) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	return called(i, "Apply", func() (driver.Applied, error) {
		made, err := i.world.tx.Apply(ctx, tenant, m)
		if err == nil {
			i.world.noteSwaps(&m)
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

func (i *injector) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return called(i, "Lookup", func() ([]driver.Record, error) { return i.world.tx.Lookup(ctx, s, ids) })
}

func (i *injector) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return walked(i, "History", i.world.tx.History(ctx, tenant, q))
}

func (i *injector) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return walked(i, "Documents", i.world.tx.Documents(ctx, q))
}

func (i *injector) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return walked(i, "Undelivered", i.world.tx.Undelivered(ctx, tenant, runID))
}

func (i *injector) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return called(i, "Waiting", func() (int, error) { return i.world.tx.Waiting(ctx, tenant, limit) })
}

func (i *injector) Delivered(ctx context.Context, recs []events.Record) error {
	return i.call("Delivered", func() error { return i.world.tx.Delivered(ctx, recs) })
}

func (i *injector) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return called(i, "Version", func() (driver.Version, error) { return i.world.versions.Version(ctx, tenant) })
}

func (i *injector) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return called(i, "Intact", func() (bool, error) { return i.world.versions.Intact(ctx, s, v) })
}

func (i *injector) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	return called(i, "Purge", func() (int, error) { return i.world.versions.Purge(ctx, tenant, v, at) })
}

func (i *injector) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return called(i, "Due", func() ([]driver.Document, error) { return i.world.scheduler.Due(ctx, kind, at, limit) })
}
