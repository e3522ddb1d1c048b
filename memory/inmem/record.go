package inmem

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// record is an entry and what became of it.
type record struct {
	entry  driver.Entry // only the id, if it was erased
	state  driver.State
	erased bool
	gone   bool // purged

	created int64 // milliseconds
	expires int64 // milliseconds; never for an entry that does not expire
	// The entry is live at the versions from born to before died; died is 0 while it
	// is live.
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

func newRecord(sc *scope, e *driver.Entry, born uint64) *record {
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
	return r.died == 0 && at < r.expires && !r.erased
}

// visible reports whether r was not retired at version v and has not expired at
// the instant at. Of an erased one it means nothing.
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
func (r *record) record() driver.Record {
	rec := driver.Record{
		Scope: driver.Scope{Tenant: r.scope.tenant.name, Ref: r.scope.ref},
		Entry: r.entry, State: r.state, Erased: r.erased,
	}
	if r.heir != nil {
		rec.For = r.heir.entry.ID
	}
	return rec
}

// wipe drops the text of r and what came in with it.
func (r *record) wipe() {
	for _, label := range r.entry.Subjects {
		set := r.scope.tenant.subjects[label]
		delete(set, r)
		if len(set) == 0 {
			delete(r.scope.tenant.subjects, label)
		}
	}
	// The id that came in may be part of a larger string, and is a key.
	id := strings.Clone(r.entry.ID)
	delete(r.scope.recs, id)
	r.scope.recs[id] = r
	r.entry = driver.Entry{ID: id}
}

// scope has every record of a ref by id, and those that can be read in order.
type scope struct {
	tenant  *tenant
	ref     string
	recs    map[string]*record
	live    log      // neither retired nor erased
	past    log      // retired, not erased
	erased  spans    // versions at which something was live that is erased now
	journal []change // since the horizon
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *driver.Entry, v uint64) {
	r := newRecord(sc, e, v)
	sc.recs[e.ID] = r
	sc.live.insert(r)
	for _, label := range e.Subjects {
		set := sc.tenant.subjects[label]
		if set == nil {
			set = map[*record]struct{}{}
			sc.tenant.subjects[strings.Clone(label)] = set
		}
		set[r] = struct{}{}
	}
	sc.note(v, put, r)
}

// retire ends the life of r in favour of heir, which may be nil.
func (sc *scope) retire(r *record, state driver.State, heir *record, v uint64) {
	sc.live.remove(r)
	r.died, r.state, r.heir = v, state, heir
	if heir != nil {
		heir.more().estate = append(heir.more().estate, r)
	}
	sc.past.insert(r)
	sc.note(v, retired, r)
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
	r.born, r.died, r.state, r.heir = v, 0, driver.Live, nil
	sc.live.insert(r)
	sc.note(v, restored, r)
}

// erase leaves a stub of r.
func (sc *scope) erase(r *record, v uint64) {
	end := r.died
	if end == 0 {
		sc.live.remove(r)
		end = v
	} else {
		sc.past.remove(r)
	}
	sc.erased = sc.erased.with(span{r.born, end})
	if r.extra != nil {
		for _, s := range r.extra.earlier {
			sc.erased = sc.erased.with(s)
		}
		r.extra.earlier = nil
	}
	r.erased = true
	r.wipe()
	sc.note(v, erased, r)
}
