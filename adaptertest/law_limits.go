package adaptertest

import (
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory/driver"
)

func limitsLaw() law {
	return law{name: "LIMIT", number: "M9", says: "no mutation makes a tenant more than its limits allow", cases: append(generate(
		generation{name: "counted", says: "what lives or has expired counts by its bytes, until it ends or is erased, and counts again once it is restored", needs: transactor,
			topics: []topic{basic, entries, outgoing}, plans: alone, sequences: [3]int{40, 300, 3000}, steps: 12, shared: true},
	), raceCases("LIMIT")...)}
}

// usesWhatTheReferenceSays expects the tenant of a scope to use exactly what the reference says: there is room
// for one entry more where the limits leave it, and for nothing beyond. It also expects each
// entry to be the heir of exactly those that were retired in its favour.
func (w *world) usesWhatTheReferenceSays(s driver.Scope) {
	used := w.ref.used(s.Tenant, &driver.Mutation{Limits: driver.Limits{Entries: 1}})
	probe := fmt.Sprintf("probe%04d", w.probes)
	w.probes++
	size := int64(len(w.entry(probe).Content))
	for _, try := range []struct {
		limits driver.Limits
		fits   bool
		ids    []string
	}{
		{driver.Limits{Entries: used.Entries + 1}, false, []string{probe, probe + "x"}},
		{driver.Limits{Bytes: used.Bytes + size - 1}, false, []string{probe}},
		{driver.Limits{Entries: used.Entries + 1, Bytes: used.Bytes + size}, true, []string{probe}},
	} {
		_, err := w.tryApply(s.Tenant, driver.Mutation{Put: w.placed(s, try.ids...), Limits: try.limits})
		w.check(errors.Is(err, driver.ErrStorageLimit) != try.fits, "what the tenant uses", "%s", describeError(err))
	}
	m := driver.Mutation{Erase: located(s, probe), MergedInto: map[driver.Located][]string{}}
	for _, rec := range w.ref.tenant(s.Tenant).refs[s.Ref] {
		m.MergedInto[driver.Located{Scope: s, ID: rec.id}] = nil
	}
	for _, rec := range w.ref.tenant(s.Tenant).refs[s.Ref] {
		if rec.For != "" {
			heir := driver.Located{Scope: s, ID: rec.For}
			m.MergedInto[heir] = append(m.MergedInto[heir], rec.id)
		}
	}
	w.apply(m)
}
