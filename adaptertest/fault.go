package adaptertest

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Call is one call of a store, as a [Fault] sees it. A loop is one call, from its first element
// to its last.
type Call struct {
	// Method is the name of the method that is called, such as "Put" or "Apply".
	Method string

	given []any
	saw   func(answer any) // is told of each answer, those of a loop one by one; may be nil
}

// Fault decides what becomes of a call. It makes the call by next, with the context that the
// store is to have, or does not; what it returns is what the caller gets. An error that comes
// after the store has answered takes the place of the answer. A Fault is called from all
// goroutines that use the store.
type Fault func(ctx context.Context, c *Call, next func(context.Context) error) error

// Fail makes a call fail before the store hears of it.
func Fail(err error) Fault {
	return func(context.Context, *Call, func(context.Context) error) error { return err }
}

// LoseAnswer lets the store do what a call asks for, and makes the call fail behind it: its
// caller cannot know the outcome. A call that fails in the store fails with the store's error.
func LoseAnswer(err error) Fault {
	return func(ctx context.Context, _ *Call, next func(context.Context) error) error {
		if failed := next(ctx); failed != nil {
			return failed
		}
		return err
	}
}

// Cancel gives the store a context that is done.
func Cancel() Fault {
	return func(ctx context.Context, _ *Call, next func(context.Context) error) error {
		return next(cancelled(ctx))
	}
}

// Delay lets a call wait until wait returns, and then reach the store. A test that owns its
// clock waits for that one.
func Delay(wait func(ctx context.Context)) Fault {
	return func(ctx context.Context, _ *Call, next func(context.Context) error) error {
		wait(ctx)
		return next(ctx)
	}
}

// Panic makes a call panic before the store hears of it.
func Panic(value any) Fault {
	return func(context.Context, *Call, func(context.Context) error) error { panic(value) }
}

// At makes a fault of the n-th call, counted from 1, of the methods that are named, or of all
// methods if none is. Other calls reach the store as they are.
func At(n int, f Fault, methods ...string) Fault {
	return onCalls(func(call int64) bool { return call == int64(n) }, f, methods)
}

// From makes a fault of the n-th call and of all that follow it, as if the process had died
// there.
func From(n int, f Fault, methods ...string) Fault {
	return onCalls(func(call int64) bool { return call >= int64(n) }, f, methods)
}

func onCalls(meant func(call int64) bool, f Fault, methods []string) Fault {
	var calls atomic.Int64
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if len(methods) > 0 && !slices.Contains(methods, c.Method) || !meant(calls.Add(1)) {
			return next(ctx)
		}
		return f(ctx, c, next)
	}
}

// Inject returns a store whose calls go through faults, the first being the outermost. It
// offers what the store offers. A caller that survives each fault at each of its calls has
// nothing to fear of a store that fails.
func Inject(store driver.Adapter, faults ...Fault) driver.Adapter {
	for _, f := range slices.Backward(faults) {
		store = newFaulty(store, f)
	}
	return store
}

// faulty is a store whose calls go through a fault.
type faulty struct {
	store driver.Adapter
	fault Fault
	offered
}

func newFaulty(store driver.Adapter, fault Fault) faulty {
	return faulty{store, fault, offeredBy(store)}
}

// As offers what the store offers.
func (f faulty) As(target any) bool {
	if d, is := target.(*driver.Describer); is {
		*d, is = driver.As[driver.Describer](f.store)
		return is
	}
	wanted, offers := reflect.ValueOf(target).Elem(), reflect.ValueOf(f.offered)
	for i := range offers.NumField() {
		if offer := offers.Field(i); offer.Type() == wanted.Type() && !offer.IsNil() {
			wanted.Set(reflect.ValueOf(f))
			return true
		}
	}
	return false
}

// called makes one call.
func called[T any](ctx context.Context, f faulty, method string, given []any, call func(context.Context) (T, error)) (got T, err error) {
	c := &Call{Method: method, given: given}
	err = f.fault(ctx, c, func(ctx context.Context) (err error) {
		if got, err = call(ctx); err == nil && c.saw != nil {
			c.saw(got)
		}
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return got, nil
}

// walked makes one call of each walk over what a store yields.
func walked[T any](ctx context.Context, f faulty, method string, given []any, walk func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	all := walk(ctx)
	return func(yield func(T, error) bool) {
		stopped := false
		c := &Call{Method: method, given: given}
		err := f.fault(ctx, c, func(changed context.Context) error {
			seq := all
			if changed != ctx {
				seq = walk(changed)
			}
			for x, err := range seq {
				if err != nil {
					return err
				}
				if c.saw != nil {
					c.saw(x)
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

// done makes one call that has no answer but its error.
func done(ctx context.Context, f faulty, method string, given []any, call func(context.Context) error) error {
	_, err := called(ctx, f, method, given, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

func (f faulty) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return called(ctx, f, "List", []any{s, q}, func(ctx context.Context) ([]driver.Entry, error) { return f.store.List(ctx, s, q) })
}

func (f faulty) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return called(ctx, f, "Get", []any{s, id, at}, func(ctx context.Context) (driver.Entry, error) { return f.store.Get(ctx, s, id, at) })
}

func (f faulty) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	return done(ctx, f, "Put", []any{s, e}, func(ctx context.Context) error { return f.store.Put(ctx, s, e) })
}

func (f faulty) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	return called(ctx, f, "Delete", []any{s, id, at}, func(ctx context.Context) (bool, error) { return f.store.Delete(ctx, s, id, at) })
}

func (f faulty) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	return called(ctx, f, "Apply", []any{tenant, m}, func(ctx context.Context) (driver.Applied, error) { return f.tx.Apply(ctx, tenant, m) })
}

func (f faulty) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return called(ctx, f, "Lookup", []any{s, ids}, func(ctx context.Context) ([]driver.Record, error) { return f.tx.Lookup(ctx, s, ids) })
}

func (f faulty) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return walked(ctx, f, "History", []any{tenant, q}, func(ctx context.Context) iter.Seq2[driver.Record, error] { return f.tx.History(ctx, tenant, q) })
}

func (f faulty) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return walked(ctx, f, "Documents", []any{q}, func(ctx context.Context) iter.Seq2[driver.Document, error] { return f.tx.Documents(ctx, q) })
}

func (f faulty) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return walked(ctx, f, "Undelivered", []any{tenant, runID}, func(ctx context.Context) iter.Seq2[events.Record, error] { return f.tx.Undelivered(ctx, tenant, runID) })
}

func (f faulty) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return called(ctx, f, "Waiting", []any{tenant, limit}, func(ctx context.Context) (int, error) { return f.tx.Waiting(ctx, tenant, limit) })
}

func (f faulty) Delivered(ctx context.Context, recs []events.Record) error {
	return done(ctx, f, "Delivered", []any{recs}, func(ctx context.Context) error { return f.tx.Delivered(ctx, recs) })
}

func (f faulty) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return called(ctx, f, "Version", []any{tenant}, func(ctx context.Context) (driver.Version, error) { return f.versions.Version(ctx, tenant) })
}

func (f faulty) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return called(ctx, f, "Intact", []any{s, v}, func(ctx context.Context) (bool, error) { return f.versions.Intact(ctx, s, v) })
}

func (f faulty) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	return called(ctx, f, "Purge", []any{tenant, v, at}, func(ctx context.Context) (int, error) { return f.versions.Purge(ctx, tenant, v, at) })
}

func (f faulty) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	return called(ctx, f, "Read", []any{tenant, runID, from, limit}, func(ctx context.Context) ([]events.RunEvent, error) {
		return f.kept.Read(ctx, tenant, runID, from, limit)
	})
}

func (f faulty) PurgeEvents(ctx context.Context, before time.Time, limit int) (bool, error) {
	return called(ctx, f, "PurgeEvents", []any{before, limit}, func(ctx context.Context) (bool, error) { return f.kept.PurgeEvents(ctx, before, limit) })
}

func (f faulty) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return called(ctx, f, "Due", []any{kind, at, limit}, func(ctx context.Context) ([]driver.Document, error) { return f.scheduler.Due(ctx, kind, at, limit) })
}

func (f faulty) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	return called(ctx, f, "Changes", []any{s, from, to}, func(ctx context.Context) (driver.ChangeSet, error) { return f.changes.Changes(ctx, s, from, to) })
}

func (f faulty) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return walked(ctx, f, "Scopes", []any{after}, func(ctx context.Context) iter.Seq2[driver.Scope, error] { return f.tenants.Scopes(ctx, after) })
}

func (f faulty) DropTenant(ctx context.Context, tenant string, limit int) (bool, error) {
	return called(ctx, f, "DropTenant", []any{tenant, limit}, func(ctx context.Context) (bool, error) { return f.tenants.DropTenant(ctx, tenant, limit) })
}
