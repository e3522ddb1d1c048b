package inmem

import (
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// scope has every record of a ref by id, and the lists in which readers find them.
type scope struct {
	tenant   *tenant
	ref      string
	recs     index
	live     ordered[*record] // neither retired nor erased
	past     ordered[*record] // retired, not erased
	lastDied uint64           // no record was retired later
	heirs    ordered[*record] // those that have a successor
	erased   spans            // versions at which something was live that is erased now
	journal  []change         // since the horizon, the oldest first
}

func newScope(t *tenant, ref string) *scope {
	return &scope{
		tenant: t, ref: strings.Clone(ref),
		recs:  newIndex(),
		live:  ordered[*record]{compare: byAge},
		past:  ordered[*record]{compare: byAge},
		heirs: ordered[*record]{compare: byHeir},
	}
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *driver.Entry, v uint64) {
	r := newRecord(sc, *e, v)
	sc.recs.add(e.ID, r)
	sc.begin(r)
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.insert(labelled{label, r})
	}
	sc.note(v, put, r)
}

// begin has r among the live ones.
func (sc *scope) begin(r *record) {
	sc.live.insert(r)
	sc.tenant.used.Add(r.entry, 1)
}

// end takes r out of the live ones.
func (sc *scope) end(r *record) {
	sc.live.remove(r)
	sc.tenant.used.Add(r.entry, -1)
}

// retire ends the life of r in favour of heir, which may be nil.
func (sc *scope) retire(r *record, state driver.State, heir *record, v uint64) {
	sc.end(r)
	r.died, r.state, r.heir = v, state, heir
	sc.past.insert(r)
	sc.lastDied = v
	if heir != nil {
		sc.heirs.insert(r)
	}
	sc.note(v, retired, r)
}

// retiredFor are the records that were retired in favour of an entry.
func (sc *scope) retiredFor(id string) (recs []*record) {
	first := &record{heir: &record{entry: &driver.Entry{ID: id}}, entry: &driver.Entry{}}
	for r := range sc.heirs.from(first) {
		if r.heir.entry.ID != id {
			break
		}
		recs = append(recs, r)
	}
	return recs
}

// restore begins a new life of r.
func (sc *scope) restore(r *record, v uint64) {
	sc.past.remove(r)
	sc.heirs.remove(r)
	if r.born < r.died {
		r.earlier = append(r.earlier, span{r.born, r.died})
	}
	r.born, r.died, r.state, r.heir = v, forever, driver.Live, nil
	sc.begin(r)
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
		sc.end(r)
	} else {
		sc.past.remove(r)
	}
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.remove(labelled{label, r})
	}
	sc.tenant.shelf.withdraw(sc.ref, r.entry.ID)
	// The id that came in may be part of a larger string, and is a key.
	id := strings.Clone(r.entry.ID)
	sc.recs.remove(id)
	sc.recs.add(id, r)
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
	sc.recs.remove(r.entry.ID)
	r.purged = true
}
