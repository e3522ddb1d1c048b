package crashload

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// docName is the name of a document.
type docName struct {
	memory.Scope
	kind, key string
}

func nameOf(d *driver.Document) docName { return docName{d.Scope, d.Kind, d.Key} }

// change is what an operation was to make of a document.
type change struct {
	*operation
	swap driver.DocumentSwap // with the sum of the value in its place
	rev  int64               // that the store gave it; 0 if it removed it or did not answer
}

// reach is the newest revision that an acknowledged change has seen.
func (c *change) reach() int64 { return max(c.rev, c.swap.Rev) }

// explains reports whether the document may be what the change made of it.
func (v *verifier) explains(c *change, d *driver.Document) bool {
	x := &c.swap
	possible := c.outcome == done && c.rev == d.Rev || c.unknown() && (v.made[c.operation] || len(c.Puts)+len(c.Events) == 0)
	return possible && x.Act != driver.Remove &&
		(x.Act == driver.Retain || string(x.Value) == sum(string(d.Value))) &&
		x.Class == d.Class && x.Group == d.Group && x.Due.Equal(d.Due) && sameLabels(x.Of, d.Of) && sameLabels(x.Subjects, d.Subjects)
}

func sameLabels(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// readDocuments reads what is kept, and what was to be made of it.
func (v *verifier) readDocuments(ctx context.Context) error {
	v.documents, v.changes = map[docName]driver.Document{}, map[docName][]change{}
	for _, tenant := range tenants {
		for d, err := range v.store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
			if err != nil {
				return err
			}
			v.documents[nameOf(&d)] = d
		}
	}
	v.report.Documents = len(v.documents)
	for _, op := range v.mutations {
		if op.outcome == done && len(op.out.Revs) != len(op.Swaps) {
			v.wrong(op, "it has %d revisions for %d documents", len(op.out.Revs), len(op.Swaps))
			continue
		}
		for i, x := range op.Swaps {
			if x.Act == driver.Check {
				continue
			}
			c := change{op, x, 0}
			if op.outcome == done {
				c.rev = op.out.Revs[i]
			}
			v.changes[nameOf(&x.Document)] = append(v.changes[nameOf(&x.Document)], c)
		}
	}
	return nil
}

// checkDocuments compares every document with what was to be made of it.
func (v *verifier) checkDocuments() {
	for name, list := range v.changes {
		last := v.checkRevisions(list)
		d, there := v.documents[name]
		op := list[len(list)-1].operation
		if last != nil {
			op = last.operation
		}
		switch {
		case !there && last != nil && last.swap.Act != driver.Remove && !v.mayBeRemoved(last, list):
			v.wrong(op, "its acknowledged document is not there")
		case !there:
		case last != nil && (d.Rev < last.reach() || d.Rev == last.reach() && last.swap.Act == driver.Remove):
			v.wrong(op, "its acknowledged swap of a document is lost")
		case !slices.ContainsFunc(list, func(c change) bool { return v.explains(&c, &d) }):
			v.wrong(op, "its document is not what was swapped in")
		}
		for _, id := range d.Of {
			if rec, held := v.records[driver.Located{Scope: name.Scope, ID: id}]; !held || rec.Erased {
				v.wrong(op, "its document is there, and the entry is not that it was made of")
			}
		}
		for _, subject := range append(d.Subjects, subjectOf(string(d.Value))) {
			if v.forgotten[place{name.Tenant, subject}] {
				v.wrong(op, "its document is there, and its subject was forgotten")
			}
		}
	}
	for name := range v.documents {
		if v.changes[name] == nil {
			v.astray("a document is there that no operation wrote")
		}
	}
}

// checkRevisions looks for two changes that won the same revision, and for revisions that
// do not ascend. It returns the newest acknowledged change, or nil.
func (v *verifier) checkRevisions(list []change) (last *change) {
	winners, given := map[int64]*operation{}, map[int64]bool{}
	removed := int64(0) // the newest revision that was
	for i := range list {
		c := &list[i]
		if c.outcome != done {
			continue
		}
		if first := winners[c.swap.Rev]; first != nil && c.swap.Rev != 0 {
			v.wrong(c.operation, "it won the revision that operation %d had won: claimed twice", first.N)
		}
		winners[c.swap.Rev] = c.operation
		if c.swap.Act == driver.Remove {
			removed = max(removed, c.swap.Rev)
		} else if c.rev <= c.swap.Rev || c.rev <= removed || given[c.rev] {
			v.wrong(c.operation, "the revision of its document went back")
		}
		given[c.rev] = true
		if last == nil || c.reach() >= last.reach() {
			last = c
		}
	}
	return last
}

// mayBeRemoved reports whether a document may have gone after a change: with an entry, or by
// another change.
func (v *verifier) mayBeRemoved(last *change, list []change) bool {
	for _, id := range last.swap.Of {
		if rec := v.records[driver.Located{Scope: last.swap.Scope, ID: id}]; rec.Erased {
			return true
		}
	}
	return slices.ContainsFunc(list, func(c change) bool {
		return c.swap.Act == driver.Remove && c.outcome != refused && c.swap.Rev >= last.reach()
	})
}

// unmade reports whether a swap of a mutation that took place, and is not known to have,
// has left no trace.
func (v *verifier) unmade(m *operation, x driver.DocumentSwap) bool {
	name := nameOf(&x.Document)
	d, there := v.documents[name]
	switch {
	case x.Act == driver.Check:
		return false
	case x.Act == driver.Remove || there:
		return there && d.Rev <= x.Rev
	}
	return !v.mayBeRemoved(&change{m, x, 0}, v.changes[name])
}

// checkDue looks whether what is due at some time will be found when that comes.
func (v *verifier) checkDue(ctx context.Context) error {
	const farAhead = 1000 * 24 * time.Hour
	due := map[string]map[docName]driver.Document{} // by kind
	for name, d := range v.documents {
		list := v.changes[name]
		if d.Due.IsZero() || len(list) == 0 {
			continue
		}
		if due[d.Kind] == nil {
			due[d.Kind] = map[docName]driver.Document{}
			found, err := v.due.Due(ctx, d.Kind, v.bank.Now().Add(farAhead), math.MaxInt32)
			if err != nil {
				return err
			}
			for _, d := range found {
				due[d.Kind][nameOf(&d)] = d
			}
		}
		if found, ok := due[d.Kind][name]; !ok || !found.Due.Equal(d.Due) || found.Rev != d.Rev {
			v.wrong(list[len(list)-1].operation, "its document is kept and never falls due")
		}
	}
	return nil
}
