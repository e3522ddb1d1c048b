package inmem

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// record is an entry and what became of it. The entry never changes, so readers
// may look at it after they left the lock; erasing puts a stub in the record's
// place.
type record struct {
	entry memory.Entry
	wiped atomic.Bool // the entry was erased, and a stub is in this record's place
	stub  bool        // of an entry that was erased
	gone  bool        // purged
	state memory.State

	created int64 // milliseconds
	expires int64 // milliseconds; never for an entry that does not expire
	// The entry is live at the versions from born to before died; died is 0
	// while it is live.
	born, died uint64

	scope *scope
	heir  *record // in whose favour it was retired
	extra *extra
}

// extra is what few records have.
type extra struct {
	earlier spans     // when it was live before it was restored
	estate  []*record // those retired in favour of this one
}

const never = math.MaxInt64

func newRecord(sc *scope, e *memory.Entry, born uint64) *record {
	r := &record{entry: *e, created: e.CreatedAt.UnixMilli(), expires: never, born: born, scope: sc}
	r.entry.CreatedAt = time.UnixMilli(r.created).UTC()
	if !e.ExpiresAt.IsZero() {
		r.expires = e.ExpiresAt.UnixMilli()
		r.entry.ExpiresAt = time.UnixMilli(r.expires).UTC()
	}
	return r
}

// liveAt reports whether r can be read now, at the instant at.
func (r *record) liveAt(at int64) bool {
	return r.died == 0 && at < r.expires && !r.stub
}

// visible reports whether r was not retired at version v and has not expired at
// the instant at.
func (r *record) visible(v uint64, at int64) bool {
	if at >= r.expires {
		return false
	}
	if r.born <= v {
		return r.died == 0 || v < r.died
	}
	return r.extra != nil && r.extra.earlier.contain(v)
}

// firstBorn is the first version that shows r.
func (r *record) firstBorn() uint64 {
	if r.extra != nil && len(r.extra.earlier) > 0 {
		return r.extra.earlier[0].from
	}
	return r.born
}

// before reports whether r is older than the position (created, id): the reverse
// of the order of a list.
func (r *record) before(created int64, id string) bool {
	if r.created != created {
		return r.created < created
	}
	return r.entry.ID < id
}

func (r *record) more() *extra {
	if r.extra == nil {
		r.extra = new(extra)
	}
	return r.extra
}

// record returns r as its readers see it.
func (r *record) record() memory.Record {
	rec := memory.Record{
		Scope: memory.Scope{Tenant: r.scope.tenant.name, Ref: r.scope.ref},
		State: r.state,
	}
	if r.heir != nil {
		rec.For = r.heir.entry.ID
	}
	rec.Entry, rec.Erased = r.entry, r.stub
	return rec
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *memory.Entry, v uint64) {
	r := newRecord(sc, e, v)
	sc.ids.add(r)
	sc.live.insert(r)
	for _, label := range e.Subjects {
		set := sc.tenant.subjects[label]
		if set == nil {
			set = map[*record]struct{}{}
			sc.tenant.subjects[strings.Clone(label)] = set
		}
		set[r] = struct{}{}
	}
}

// retire ends the life of r in favour of heir, which may be nil.
func (sc *scope) retire(r *record, state memory.State, heir *record, v uint64) {
	sc.live.remove(r)
	r.died, r.state, r.heir = v, state, heir
	if heir != nil {
		heir.more().estate = append(heir.more().estate, r)
	}
	sc.past.insert(r)
}

// restore begins a new life of r.
func (sc *scope) restore(r *record, v uint64) {
	sc.past.remove(r)
	if r.heir != nil {
		estate := &r.heir.extra.estate
		i := slices.Index(*estate, r)
		*estate = slices.Delete(*estate, i, i+1)
	}
	if r.born < r.died {
		r.more().earlier = append(r.more().earlier, span{r.born, r.died})
	}
	r.born, r.died, r.state, r.heir = v, 0, memory.Live, nil
	sc.live.insert(r)
}

// erase puts a stub in the place of r.
func (sc *scope) erase(r *record, v uint64) {
	r.wiped.Store(true)
	sc.unlabel(r)
	end := v
	if r.died == 0 {
		sc.live.remove(r)
	} else {
		sc.past.remove(r)
		end = r.died
	}
	t := sc.tenant
	t.erased = t.erased.with(span{r.born, end})

	// The id that came in may be part of a larger string.
	id := strings.Clone(r.entry.ID)
	stub := &record{
		entry: memory.Entry{ID: id}, created: r.created, expires: r.expires,
		born: r.born, died: r.died, scope: sc, heir: r.heir, state: r.state, stub: true,
	}
	if r.extra != nil {
		for _, s := range r.extra.earlier {
			t.erased = t.erased.with(s)
		}
		for _, x := range r.extra.estate {
			x.heir = stub
		}
		stub.extra = &extra{estate: r.extra.estate}
	}
	if r.heir != nil {
		estate := r.heir.extra.estate
		estate[slices.Index(estate, r)] = stub
	}
	sc.ids.replace(stub)
	sc.stubs = append(sc.stubs, stub)
}

// unlabel takes r out of the index of subjects.
func (sc *scope) unlabel(r *record) {
	for _, label := range r.entry.Subjects {
		set := sc.tenant.subjects[label]
		delete(set, r)
		if len(set) == 0 {
			delete(sc.tenant.subjects, label)
		}
	}
}
