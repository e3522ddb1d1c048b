package inmem

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// documents adds swaps to a mutation, or makes it one of machinery only. It returns
// which of them have a revision that is not the document's.
func (w *world) documents(tenant string, t *modelTenant, m *driver.Mutation) map[int]bool {
	stale := map[int]bool{}
	if w.chance(60) {
		return stale
	}
	if w.chance(30) {
		*m = driver.Mutation{At: m.At}
	}
	seen := map[modelName]bool{}
	for range 1 + w.rand.IntN(3) {
		x := w.swap(tenant, t, m)
		at := modelName{x.Ref, x.Kind, x.Key}
		if seen[at] {
			continue
		}
		seen[at] = true
		if _, held := t.docs[at]; held {
			x.Rev = w.rev(tenant, at)
		}
		if w.chance(8) {
			x.Rev = w.last + int64(w.rand.IntN(2))
			stale[len(m.Documents)] = x.Rev != w.rev(tenant, at)
		}
		if x.Act == driver.Retain && x.Rev == 0 {
			x.Act = driver.Set
		}
		m.Documents = append(m.Documents, x)
	}
	return stale
}

// swap makes a swap of any document, in its class but for a few.
func (w *world) swap(tenant string, t *modelTenant, m *driver.Mutation) driver.DocumentSwap {
	x := driver.DocumentSwap{Act: pick(w, []driver.Act{driver.Set, driver.Set, driver.Set, driver.Retain, driver.Check, driver.Remove})}
	x.Scope = driver.Scope{Tenant: tenant, Ref: pick(w, []string{"", "r", "R"})}
	x.Kind, x.Key = pick(w, []string{"k", "kk", "l"}), pick(w, []string{"a", "a.", "b", "B"})
	// The class follows from the name, or two of them would rarely meet.
	x.Class = driver.Class((len(x.Kind) + len(x.Key) + int(x.Key[0])) % 3)
	if x.Class == driver.Content && x.Ref == "" || w.chance(5) {
		x.Class = driver.Machinery
	}
	if len(m.Live)+len(m.Put)+len(m.Retire)+len(m.Restore)+len(m.Erase)+len(m.Events) == 0 && w.chance(70) {
		x.Class = driver.Machinery
	}
	x.Value = pick(w, [][]byte{nil, {1}, {2, 3}})
	x.Group = pick(w, []string{"", "g", "h"})
	switch x.Class {
	case driver.Machinery:
		if w.chance(50) {
			x.Due = w.instant()
		}
	case driver.Content:
		for range 1 + w.rand.IntN(2) {
			k := w.held(t, func(k modelKey, r modelRecord) bool { return k.ref == x.Ref && !r.erased })
			x.Of = append(x.Of, k.id)
		}
	case driver.HostText:
		x.Subjects = pick(w, [][]string{nil, {"ann"}, {"ann", "bob", "ann"}})
	}
	return x
}

// name finds a tenant's document again.
type worldName struct {
	tenant string
	modelName
}

func (w *world) rev(tenant string, at modelName) int64 {
	return w.revs[worldName{tenant, at}]
}

// revisions takes note of the revisions that a mutation made. Each new one is above all
// others of the store.
func (w *world) revisions(t *modelTenant, m driver.Mutation, done driver.Applied, err error) error {
	if err != nil {
		return same2("what a failed Apply made", done, driver.Applied{})
	}
	if len(done.Revs) != len(m.Documents) {
		return errors.New("Apply did not return a revision for each document")
	}
	for i, x := range m.Documents {
		at := modelName{x.Ref, x.Kind, x.Key}
		_, held := t.docs[at]
		rev := done.Revs[i]
		switch {
		case held != (rev != 0):
			return errors.New("Apply returned a revision of what is not there, or none of what is")
		case x.Act == driver.Check && held && rev != x.Rev:
			return errors.New("a check changed a revision")
		case (x.Act == driver.Set || x.Act == driver.Retain) && held && rev <= w.last:
			return errors.New("a revision was used again")
		}
		w.last = max(w.last, rev)
		w.revs[worldName{x.Tenant, at}] = rev
	}
	return nil
}

// compareDocuments reads documents in the ways that chance chooses.
func (w *world) compareDocuments(tenant string, t *modelTenant) error {
	q := driver.DocumentQuery{Tenant: tenant, EveryRef: w.chance(40), Ref: pick(w, []string{"", "r", "R", "none"}), Bare: w.chance(20)}
	if w.chance(50) {
		q.Kind = pick(w, []string{"k", "kk", "l"})
	}
	if w.chance(30) {
		q.Key = pick(w, []string{"a", "a.", "b", "B"})
	}
	if w.chance(30) {
		q.Group = pick(w, []string{"g", "h", "none"})
	}
	if w.chance(30) {
		q.Subject = pick(w, []string{"ann", "bob"})
	}
	got, err := collect(w.store.Documents(bg, q))
	if err != nil {
		return err
	}
	for i := range got {
		if got[i].Rev != w.rev(tenant, modelName{got[i].Ref, got[i].Kind, got[i].Key}) {
			return errors.New("a document has another revision than Apply returned")
		}
		got[i].Rev = 0
	}
	return cmp.Or(same2("Documents", got, t.documents(q)), w.compareDue())
}

func (w *world) compareDue() error {
	at, kind, limit := w.instant(), pick(w, []string{"k", "kk", "l"}), w.rand.IntN(6)
	got, err := w.store.Due(bg, kind, at, limit)
	if err != nil {
		return err
	}
	var all []time.Time
	held := map[worldName]driver.Document{}
	for tenant, t := range w.model.tenants {
		for name, d := range t.docs {
			if d.Kind == kind && !d.Due.IsZero() && !d.Due.After(at) {
				all = append(all, d.Due)
				held[worldName{tenant, name}] = d
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	var dues []time.Time
	for _, d := range got {
		dues = append(dues, d.Due)
		name := worldName{d.Tenant, modelName{d.Ref, d.Kind, d.Key}}
		if d.Rev != w.revs[name] {
			return errors.New("what is due has another revision than Apply returned")
		}
		d.Rev = 0
		if err := same2("Due", d, held[name]); err != nil {
			return err
		}
		delete(held, name)
	}
	return same2("the instants of Due", dues, all[:min(limit, len(all))])
}
