package adaptertest

import (
	"context"
	"fmt"
	"hash/maphash"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// watch sees every call that a case makes. A store must not change what it was given, nor what
// it has handed out: what it was given is compared behind the call, and both are looked at
// again some calls later. The calls under way are those that a store which hangs is in.
type watch struct {
	mu       sync.Mutex
	calls    int
	underWay map[*Call]bool
	seen     []sight
	changed  *failure // the first thing that a store has changed
}

// sight is something that was given to the store, or came from it, and its mark then.
type sight struct {
	what  string
	value any
	mark  uint64
}

// Of so many reads and of so many writes one is looked at.
const (
	watchedReads  = 16
	watchedWrites = 2
)

// laterBy is how many sights there are before one is looked at again.
const laterBy = 16

// watched is a store whose calls go through the watch of a script.
type watched struct {
	faulty
	of driver.Adapter
}

func (s *script) watched(store driver.Adapter) watched {
	return watched{of: store, faulty: faulty{store, func(ctx context.Context, c *Call, next func(context.Context) error) error {
		s.alarm.Reset(stepTimeout)
		w := &s.watch
		sampled, calls := w.begin(c)
		if calls > caseCalls {
			s.stop()
		}
		if !sampled {
			defer w.end(c)
			return next(ctx)
		}
		given := markOf(c.given)
		c.saw = func(answer any) { w.look(sight{"what " + c.Method + " has returned", answer, markOf(answer)}) }
		defer func() {
			w.end(c)
			w.compare(sight{"what " + c.Method + " was given", c.given, given})
			w.look(sight{"what " + c.Method + " was given", c.given, given})
		}()
		return next(ctx)
	}}}
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
	w.seen = append(w.seen, s)
	if len(w.seen) <= laterBy {
		w.mu.Unlock()
		return
	}
	oldest := w.seen[0]
	w.seen = w.seen[1:]
	w.mu.Unlock()
	w.compare(oldest)
}

func (w *watch) compare(s sight) {
	if markOf(s.value) == s.mark {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = &failure{"that the store leaves " + s.what + " as it is", "it is changed"}
	}
}

// forget lets a case change what it has given.
func (w *watch) forget() { w.seen = nil }

// finish compares what is still to be looked at again, and tells what was changed.
func (w *watch) finish() *failure {
	for _, s := range w.seen {
		w.compare(s)
	}
	w.seen = nil
	changed := w.changed
	w.changed = nil
	return changed
}

// hanging are the calls that have not come back.
func (w *watch) hanging() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var calls []string
	for c := range w.underWay {
		calls = append(calls, c.Method+describeGiven(c.given))
	}
	return strings.Join(calls, ", ")
}

func describeGiven(given []any) string {
	var parts []string
	for _, x := range given {
		switch x := x.(type) {
		case driver.Scope:
			parts = append(parts, describeScope(x))
		case string:
			parts = append(parts, short(x))
		case driver.Mutation:
			parts = append(parts, describeMutation(&x))
		case driver.Query:
			parts = append(parts, strings.TrimSpace(describeQuery(x)))
		case driver.DocumentQuery:
			parts = append(parts, describeDocumentQuery(&x))
		case driver.Entry:
			parts = append(parts, describeEntry(&x))
		case time.Time:
			parts = append(parts, describeTime(x))
		default:
			parts = append(parts, short(fmt.Sprint(x)))
		}
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

var markSeed = maphash.MakeSeed()

// markOf is the same for values that hold the same.
func markOf(x any) uint64 {
	var h maphash.Hash
	h.SetSeed(markSeed)
	mark(&h, reflect.ValueOf(x))
	return h.Sum64()
}

func mark(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			h.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			mark(h, v.Index(i))
		}
	case reflect.Map:
		var sum uint64
		for each := v.MapRange(); each.Next(); {
			sum += markOf([]any{each.Key().Interface(), each.Value().Interface()})
		}
		maphash.WriteComparable(h, sum)
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			maphash.WriteComparable(h, t)
			return
		}
		for i := range v.NumField() {
			mark(h, v.Field(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			mark(h, v.Elem())
		}
	case reflect.String:
		h.WriteString(v.String())
		h.WriteByte(0)
	case reflect.Invalid, reflect.Func:
	default:
		maphash.WriteComparable(h, v.Interface())
	}
}
