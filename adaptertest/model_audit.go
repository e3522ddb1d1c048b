package adaptertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// audit compares everything. Its reads are noted only if one of them differs.
func (m *storeModel) audit() {
	w := m.w
	for _, tenant := range modelTenants {
		for _, ref := range modelRefs {
			s := at(tenant, ref)
			m.unnoted(func() { m.sameEntries(w.list(s, driver.Query{At: w.now}), m.ref.list(s, -1, driver.Query{At: w.now})) })
		}
		if w.tx == nil {
			continue
		}
		m.unnoted(func() { m.sameHistory(tenant) })
		m.unnoted(func() { m.sameDocuments(tenant) })
		waiting := 0
		for _, run := range []string{"run-0", "run-1"} {
			var want []string
			for _, e := range m.ref.outbox {
				if e.Tenant == tenant && e.RunID == run {
					want = append(want, e.ID)
				}
			}
			waiting += len(want)
			m.unnoted(func() { w.waiting(tenant, run, want...) })
		}
		m.unnoted(func() { w.counts(tenant, 1000, waiting) })
	}
	if w.scheduler != nil {
		m.unnoted(m.sameDue)
	}
	for i, h := range m.held {
		for _, ref := range modelRefs {
			s, q := at(h.tenant, ref), driver.Query{At: w.now}
			m.unnoted(func() { m.sameEntries(w.listAt(s, h.store, q), m.ref.list(s, h.ref, q)) })
			m.unnoted(func() { w.intact(s, h.store, m.ref.intact(s, h.ref)) })
			for _, later := range m.held[i:] {
				if w.changes != nil && later.tenant == h.tenant {
					m.unnoted(func() { w.changed(s, h.store, later.store, m.ref.changes(s, h.ref, later.ref)) })
				}
			}
		}
	}
}

// unnoted makes reads whose steps are dropped if they find no difference.
func (m *storeModel) unnoted(reads func()) {
	n := m.w.stepCount()
	reads()
	m.w.unnote(n)
}

func (m *storeModel) sameHistory(tenant string) {
	var want []driver.Record
	for _, r := range m.ref.tenant(tenant).records {
		want = append(want, r.Record)
	}
	got := m.w.history(tenant, driver.HistoryQuery{})
	slices.SortFunc(want, func(a, b driver.Record) int {
		return slices.Compare([]string{a.Ref, a.Entry.ID}, []string{b.Ref, b.Entry.ID})
	})
	m.sameRecords(got, want)
}

// sameDocuments compares all documents of a tenant, and those of a group.
func (m *storeModel) sameDocuments(tenant string) {
	all := slices.SortedFunc(maps.Values(m.ref.tenant(tenant).documents), func(a, b driver.Document) int {
		return slices.Compare([]string{a.Ref, a.Kind, a.Key}, []string{b.Ref, b.Kind, b.Key})
	})
	q := driver.DocumentQuery{Tenant: tenant, EveryRef: true}
	m.same(m.w.documents(q), all)
	q.Group = "g"
	m.same(m.w.documents(q), slices.DeleteFunc(slices.Clone(all), func(d driver.Document) bool { return d.Group != "g" }))
	q = driver.DocumentQuery{Tenant: tenant, EveryRef: true, Subject: "s1"}
	m.same(m.w.documents(q), slices.DeleteFunc(slices.Clone(all), func(d driver.Document) bool { return !slices.Contains(d.Subjects, "s1") }))
}

func (m *storeModel) same(got, want []driver.Document) {
	if len(got) != len(want) {
		m.w.fail(describeDocuments(want), describeDocuments(got))
	}
	for i := range got {
		m.w.sameDocument(&got[i], &want[i])
	}
}

// sameDue compares what is due now; what is due at one instant has no order.
func (m *storeModel) sameDue() {
	for _, kind := range []string{"timer", "note"} {
		var want, got []string
		for _, tenant := range modelTenants {
			for _, d := range m.ref.tenant(tenant).documents {
				if d.Kind == kind && !d.Due.IsZero() && !d.Due.After(m.w.now) {
					want = append(want, fmt.Sprint(describeTime(d.Due), " ", tenant, " ", strings.ReplaceAll(refName(&d), "\x00", "/")))
				}
			}
		}
		for _, d := range m.w.due(kind, m.w.now, 100) {
			got = append(got, fmt.Sprint(describeTime(d.Due), " ", d.Tenant, " ", strings.ReplaceAll(refName(&d), "\x00", "/")))
		}
		slices.Sort(want)
		m.w.check(slices.Equal(slices.Sorted(slices.Values(got)), want), describeTexts(want), "%s", describeTexts(got))
	}
}
