package inmem

import (
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// scope has every record of a ref by id, and the lists in which readers find them.
type scope struct {
	tenant     *tenant
	ref        string
	recs       index
	live       ordered[*record] // neither retired nor erased
	past       ordered[*record] // retired, not erased
	lastDied   uint64           // no record was retired later
	successors ordered[*record] // those that have a successor
	erased     spans            // versions at which something was live that is erased now
	journal    []change         // since the horizon, the oldest first
}

func newScope(t *tenant, ref string) *scope {
	return &scope{
		tenant: t, ref: strings.Clone(ref),
		recs:       newIndex(),
		live:       ordered[*record]{compare: byAge},
		past:       ordered[*record]{compare: byAge},
		successors: ordered[*record]{compare: bySuccessor},
	}
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *driver.Entry, v uint64) {
	r := newRecord(sc, *e, v)
	sc.recs.add(e.ID, r)
	sc.addLive(r)
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.insert(labelled{label, r})
	}
	sc.logChange(v, put, r)
}

// addLive adds r to the live ones.
func (sc *scope) addLive(r *record) {
	sc.live.insert(r)
	sc.tenant.used.Add(r.entry, 1)
}

// removeLive removes r from the live ones.
func (sc *scope) removeLive(r *record) {
	sc.live.remove(r)
	sc.tenant.used.Add(r.entry, -1)
}

// retire ends the life of r. The entry that replaces r is successor, which may be nil.
func (sc *scope) retire(r *record, state driver.State, successor *record, v uint64) {
	sc.removeLive(r)
	r.died, r.state, r.successor = v, state, successor
	sc.past.insert(r)
	sc.lastDied = v
	if successor != nil {
		sc.successors.insert(r)
	}
	sc.logChange(v, retired, r)
}

// retiredFor returns the records that were merged into an entry or superseded by it.
func (sc *scope) retiredFor(id string) (recs []*record) {
	first := &record{successor: &record{entry: &driver.Entry{ID: id}}, entry: &driver.Entry{}}
	for r := range sc.successors.from(first) {
		if r.successor.entry.ID != id {
			break
		}
		recs = append(recs, r)
	}
	return recs
}

// restore begins a new life of r.
func (sc *scope) restore(r *record, v uint64) {
	sc.past.remove(r)
	sc.successors.remove(r)
	if r.born < r.died {
		r.earlier = append(r.earlier, span{r.born, r.died})
	}
	r.born, r.died, r.state, r.successor = v, forever, driver.Live, nil
	sc.addLive(r)
	sc.logChange(v, restored, r)
}

// erase removes the text of r, and keeps its id and its lineage.
func (sc *scope) erase(r *record, v uint64) {
	for _, s := range append(r.earlier, span{r.born, min(r.died, v)}) {
		sc.erased = sc.erased.with(s)
	}
	sc.dropText(r)
	r.erased = true
	sc.logChange(v, erased, r)
}

// dropText drops the text of r, which is not erased.
func (sc *scope) dropText(r *record) {
	if r.died == forever {
		sc.removeLive(r)
	} else {
		sc.past.remove(r)
	}
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.remove(labelled{label, r})
	}
	sc.tenant.shelf.removeMadeOf(sc.ref, r.entry.ID)
	// The id that came in may be part of a larger string, and is a key.
	id := strings.Clone(r.entry.ID)
	sc.recs.remove(id)
	sc.recs.add(id, r)
	r.entry, r.earlier = &driver.Entry{ID: id}, nil
}

// purge removes r.
func (sc *scope) purge(r *record) {
	if !r.erased {
		sc.dropText(r)
	}
	if r.successor != nil {
		sc.successors.remove(r)
	}
	sc.recs.remove(r.entry.ID)
	r.purged = true
}
