package inmem

import (
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// scope has every record of a ref by id, and the lists in which readers find them.
type scope struct {
	tenant   *tenant
	ref      string
	recs     map[string]*record
	newest   *record          // no id is above its id
	live     ordered[*record] // neither retired nor erased
	past     ordered[*record] // retired, not erased
	lastDied uint64           // no record was retired later
	heirs    ordered[*record] // those that have a successor
	erased   spans            // versions at which something was live that is erased now
	journal  ordered[change]  // since the horizon
}

func newScope(t *tenant, ref string) *scope {
	return &scope{
		tenant: t, ref: strings.Clone(ref), recs: map[string]*record{},
		live:    ordered[*record]{compare: byAge, widen: widen},
		past:    ordered[*record]{compare: byAge, widen: widen},
		heirs:   ordered[*record]{compare: byHeir},
		journal: ordered[change]{compare: byVersion},
	}
}

// find returns nil if the scope has no record of that id. Ids that a bank issues ascend,
// so that a new one is known without a look into a large map.
func (sc *scope) find(id string) *record {
	if sc.newest == nil || id > sc.newest.entry.ID {
		return nil
	}
	return sc.recs[id]
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *driver.Entry, v uint64) {
	r := newRecord(sc, *e, v)
	sc.recs[e.ID] = r
	if sc.newest == nil || e.ID > sc.newest.entry.ID {
		sc.newest = r
	}
	sc.live.insert(r)
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.insert(labelled{label, r})
	}
	sc.note(v, put, r)
}

// retire ends the life of r in favour of heir, which may be nil.
func (sc *scope) retire(r *record, state driver.State, heir *record, v uint64) {
	sc.live.remove(r)
	r.died, r.state, r.heir = v, state, heir
	sc.past.insert(r)
	sc.lastDied = v
	if heir != nil {
		sc.heirs.insert(r)
	}
	sc.note(v, retired, r)
}

// restore begins a new life of r.
func (sc *scope) restore(r *record, v uint64) {
	sc.past.remove(r)
	sc.heirs.remove(r)
	if r.born < r.died {
		r.earlier = append(r.earlier, span{r.born, r.died})
	}
	r.born, r.died, r.state, r.heir = v, forever, driver.Live, nil
	sc.live.insert(r)
	sc.note(v, restored, r)
}

// erase leaves a stub of r.
func (sc *scope) erase(r *record, v uint64) {
	for _, s := range append(r.earlier, span{r.born, min(r.died, v)}) {
		sc.erased = sc.erased.with(s)
	}
	sc.forget(r)
	r.erased = true
	sc.note(v, erased, r)
}

// forget drops the text of r, which is not erased.
func (sc *scope) forget(r *record) {
	if r.died == forever {
		sc.live.remove(r)
	} else {
		sc.past.remove(r)
	}
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.remove(labelled{label, r})
	}
	sc.tenant.shelf.withdraw(sc.ref, r.entry.ID)
	// The id that came in may be part of a larger string, and is a key.
	id := strings.Clone(r.entry.ID)
	delete(sc.recs, id)
	sc.recs[id] = r
	r.entry, r.earlier = &driver.Entry{ID: id}, nil
}

// purge removes r.
func (sc *scope) purge(r *record) {
	if !r.erased {
		sc.forget(r)
	}
	if r.heir != nil {
		sc.heirs.remove(r)
	}
	delete(sc.recs, r.entry.ID)
	r.purged = true
}
