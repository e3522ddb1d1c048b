package adaptertest

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// watch sees every call that a case makes. A store must not change what it was given, nor what
// it has handed out: both are looked at again some calls later. The calls under way are those
// that a store which hangs is in.
type watch struct {
	mu       sync.Mutex
	calls    int
	underWay map[*Call]bool
	seen     []sight
	changed  *failure // the first thing that a store has changed
}

// sight is something that was given to the store, or came from it, and what it was then.
type sight struct {
	what       string
	value, was any
}

func sightOf(what string, value any) sight {
	return sight{what, value, copied(reflect.ValueOf(value)).Interface()}
}

// Of so many reads and of so many writes one is looked at.
const (
	watchedReads  = 16
	watchedWrites = 8
)

// keptSights is how many sights there are before one is looked at again.
const keptSights = 16

// watched is a store whose calls go through the watch of a script.
type watched struct {
	faulty
	of driver.Adapter
}

func (s *watched) Close() error { return closeStore(s.of) }

func (s *script) watched(store driver.Adapter) *watched {
	return &watched{of: store, faulty: newFaulty(store, func(ctx context.Context, c *Call, next func(context.Context) error) error {
		s.alarm.Reset(stepTimeout)
		w := &s.watch
		sampled, calls := w.begin(c)
		if calls > caseCalls {
			s.stop()
		}
		if !sampled && !s.thorough {
			defer w.end(c)
			return next(ctx)
		}
		given := sightOf("what "+c.Method+" was given", c.given)
		c.saw = func(answer any) { w.look(sightOf("what "+c.Method+" has returned", answer)) }
		defer func() {
			w.end(c)
			w.look(given)
		}()
		return next(ctx)
	})}
}

// begin counts a call, and tells whether its values are to be looked at.
func (w *watch) begin(c *Call) (sampled bool, calls int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underWay == nil {
		w.underWay = map[*Call]bool{}
	}
	w.underWay[c] = true
	w.calls++
	one := watchedReads
	if c.Method == "Put" || c.Method == "Apply" {
		one = watchedWrites
	}
	return w.calls%one == 0, w.calls
}

func (w *watch) end(c *Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.underWay, c)
}

// look keeps a sight, and compares the one that was kept longest.
func (w *watch) look(s sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen = append(w.seen, s); len(w.seen) > keptSights {
		w.compare(w.seen[0])
		w.seen = w.seen[1:]
	}
}

func (w *watch) compare(s sight) {
	if w.changed == nil && !reflect.DeepEqual(s.value, s.was) {
		change := differencesOf("", reflect.ValueOf(s.value), reflect.ValueOf(s.was))
		w.changed = &failure{"that the store leaves " + s.what + " as it is", "that it is changed: " + change}
	}
}

// forget lets a case change what it has given.
func (w *watch) forget() { w.seen = nil }

// finish compares what is still to be looked at again, and tells what was changed.
func (w *watch) finish() *failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		w.compare(s)
	}
	changed := w.changed
	w.seen, w.changed = nil, nil
	return changed
}

// hanging are the calls that have not come back.
func (w *watch) hanging() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var calls []string
	for c := range w.underWay {
		calls = append(calls, c.Method+"("+describe(c.given)+")")
	}
	return strings.Join(calls, ", ")
}

// copied is a value that shares no memory with another one that holds the same.
func copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	unshare(c)
	return c
}

// unshare gives a value that can be set memory of its own.
func unshare(v reflect.Value) {
	switch {
	case !shares(v.Type()) || v.IsZero():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			unshare(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := 0; i < v.Len() && shares(v.Type().Elem()); i++ {
			unshare(c.Index(i))
		}
		v.Set(c)
	case v.Kind() == reflect.Map:
		c := reflect.MakeMap(v.Type())
		for each := v.MapRange(); each.Next(); {
			c.SetMapIndex(each.Key(), copied(each.Value()))
		}
		v.Set(c)
	case v.Kind() == reflect.Interface:
		v.Set(copied(v.Elem()))
	}
}

// shares tells types whose values may share memory with their copies.
func shares(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}
