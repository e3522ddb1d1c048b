package inmem

import (
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

// scope has every record of a ref by id, and the lists in which readers find them.
type scope struct {
	tenant     *tenant
	ref        string
	recs       map[string]*record
	live       ordered.List[*record] // neither retired nor erased
	past       ordered.List[*record] // retired, not erased
	lastDied   uint64                // no record was retired later
	retiredFor sets[*record]         // by the id of their successor
	erased     spans                 // versions at which something was live that is erased now
}

// span is the versions from one to before another.
type span struct{ from, to uint64 }

type spans []span

func (ss spans) contain(v uint64) bool {
	return slices.ContainsFunc(ss, func(s span) bool { return s.from <= v && v < s.to })
}

func newScope(t *tenant, ref string) *scope {
	return &scope{
		tenant: t, ref: strings.Clone(ref), recs: map[string]*record{}, retiredFor: sets[*record]{},
		live: ordered.List[*record]{Compare: byAge}, past: ordered.List[*record]{Compare: byAge},
	}
}

// insert makes e an entry of the scope.
func (sc *scope) insert(e *driver.Entry, v uint64) {
	r := newRecord(sc, *e, v)
	sc.recs[e.ID] = r
	sc.addLive(r)
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.add(label, r)
	}
}

// addLive adds r to the live ones.
func (sc *scope) addLive(r *record) {
	sc.live.Insert(r)
	sc.tenant.used.Add(r.entry, 1)
}

// removeLive removes r from the live ones.
func (sc *scope) removeLive(r *record) {
	sc.live.Remove(r)
	sc.tenant.used.Add(r.entry, -1)
}

// retire ends the life of r. The entry that replaces r is successor, which may be nil.
func (sc *scope) retire(r *record, state driver.State, successor *record, v uint64) {
	sc.removeLive(r)
	r.died, r.state, r.successor = v, state, successor
	sc.past.Insert(r)
	sc.lastDied = v
	if successor != nil {
		sc.retiredFor.add(successor.entry.ID, r)
	}
}

// forgetSuccessor ends that r was retired in favour of another record, if it was.
func (sc *scope) forgetSuccessor(r *record) {
	if r.successor != nil {
		sc.retiredFor.remove(r.successor.entry.ID, r)
	}
}

// restore begins a new life of r.
func (sc *scope) restore(r *record, v uint64) {
	sc.past.Remove(r)
	sc.forgetSuccessor(r)
	r.earlier = append(r.earlier, span{r.born, r.died})
	r.born, r.died, r.state, r.successor = v, forever, driver.Live, nil
	sc.addLive(r)
}

// erase removes the text of r, and keeps its id and its lineage.
func (sc *scope) erase(r *record, v uint64) {
	sc.erased = append(append(sc.erased, r.earlier...), span{r.born, min(r.died, v)})
	sc.dropText(r)
	r.erased = true
}

// dropText drops the text of r, which is not erased.
func (sc *scope) dropText(r *record) {
	if r.died == forever {
		sc.removeLive(r)
	} else {
		sc.past.Remove(r)
	}
	for _, label := range distinct(r.entry.Subjects) {
		sc.tenant.subjects.remove(label, r)
	}
	sc.tenant.shelf.removeMadeOf(sc.ref, r.entry.ID)
	// The id that came in may be part of a larger string, and is a key.
	id := strings.Clone(r.entry.ID)
	delete(sc.recs, id)
	sc.recs[id] = r
	r.entry, r.earlier = &driver.Entry{ID: id}, nil
}

// purge removes r.
func (sc *scope) purge(r *record) {
	if !r.erased {
		sc.dropText(r)
	}
	sc.forgetSuccessor(r)
	delete(sc.recs, r.entry.ID)
}
