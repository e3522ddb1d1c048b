package adaptertest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// heldVersion is a version that the store gave, with its number in the reference.
type heldVersion struct {
	tenant string
	store  driver.Version
	number int
}

// live is the version that is read if none is named.
var live = heldVersion{number: -1}

// mirrored takes a step on the reference that the store has taken, and expects the same
// answer.
func (w *world) mirrored(err error, step func(r *reference) error) {
	if w.ref == nil {
		return
	}
	if want := step(w.ref); want == nil {
		w.must(err)
	} else {
		w.mustBe(err, want)
	}
}

// unmirrored tells that what follows is not taken on the reference: goroutines use the
// store at once, a bank does, or a call may have happened or not. Nothing is audited.
func (w *world) unmirrored() { w.ref, w.held = nil, nil }

// hold keeps a version for audits.
func (w *world) hold(tenant string, v driver.Version) {
	if w.ref == nil || v == "" {
		return
	}
	h := heldVersion{tenant, v, w.ref.tenant(tenant).version}
	if !slices.Contains(w.held, h) {
		w.held = append(w.held, h)
	}
}

// Some of the many are looked at one by one.
const (
	auditedInstants = 3
	auditedNames    = 80
	auditedForeign  = 4 // ids that are elsewhere
	auditedVersions = 4
)

// audit compares all that can be read with the reference, as far up as the level of the
// case. Its reads are noted only if one of them differs.
func (w *world) audit() {
	if w.ref == nil {
		return
	}
	for _, tenant := range []string{home.Tenant, "never written"} {
		w.ref.tenant(tenant).refs["never written"] = nil
	}
	for tenant := range sorted(w.ref.tenants) {
		w.auditTenant(tenant, w.instants(tenant))
	}
	if w.level != LevelAdapter {
		w.auditShared()
	}
	if w.level == LevelVersioned {
		w.auditHorizons()
	}
}

// auditTenant compares what a tenant has, at the first of the instants and another one.
func (w *world) auditTenant(tenant string, instants []time.Time) {
	w.throwDice(tenant)
	instants = append(instants[:1:1], few(w, w.size(1, len(instants)), instants[1:])...)
	for ref := range sorted(w.ref.tenant(tenant).refs) {
		s := at(tenant, ref)
		own, foreign := w.known(s)
		w.auditScope(s, own, foreign, instants)
		if w.level == LevelVersioned {
			w.auditVersions(s, append(own, foreign...), instants)
		}
	}
	if w.level != LevelAdapter {
		w.auditHistory(tenant, driver.HistoryQuery{})
		w.auditDocuments(tenant)
		w.auditOutbox(tenant)
		w.unnoted(func() { w.auditLog(tenant) })
	}
}

// as reads at another instant.
func (w *world) as(now time.Time, read func()) {
	was := w.now
	w.now = now
	read()
	w.now = was
}

// unnoted makes a read that is noted only if it finds a difference, or else a reader could not
// find the steps among the reads.
func (w *world) unnoted(read func()) {
	defer func() {
		if found := recover(); found != nil {
			w.mu.Lock()
			w.quiet = 0
			w.mu.Unlock()
			read()
			panic(found) // it came once, and not again
		}
	}()
	w.silently(read)
}

// known are the ids of a scope, and a few that only other refs and tenants hold, or that were
// held before.
func (w *world) known(s driver.Scope) (own, foreign []string) {
	others := map[string]bool{}
	for _, t := range w.ref.tenants {
		for _, recs := range t.refs {
			for _, rec := range recs[:min(len(recs), auditedNames)] {
				others[rec.id] = true
			}
		}
	}
	for _, rec := range w.ref.tenant(s.Tenant).refs[s.Ref] {
		own = append(own, rec.id)
		delete(others, rec.id)
	}
	foreign = slices.Sorted(maps.Keys(others))
	w.dice.Shuffle(len(foreign), func(i, k int) { foreign[i], foreign[k] = foreign[k], foreign[i] })
	return own, append(foreign[:min(len(foreign), auditedForeign)], "never")
}

// instants are those at which a tenant is read: the present, the zero instant, and those
// around some expiries.
func (w *world) instants(tenant string) []time.Time {
	expiries := map[time.Time]bool{}
	for _, rec := range w.ref.tenant(tenant).records {
		if !rec.Entry.ExpiresAt.IsZero() {
			expiries[rec.Entry.ExpiresAt] = true
		}
	}
	all := []time.Time{w.now, {}}
	w.throwDice(tenant)
	for _, at := range few(w, auditedInstants, slices.SortedFunc(maps.Keys(expiries), time.Time.Compare)) {
		zone := zones[w.dice.IntN(len(zones))]
		all = append(all, at.Add(-time.Millisecond).In(zone), at.In(zone))
	}
	return all
}

// few are some of many.
func few[T any](w *world, n int, all []T) []T {
	w.dice.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all[:min(n, len(all))]
}

// auditScope reads a scope as a list and one by one, by pages, and what it holds in every state.
func (w *world) auditScope(s driver.Scope, own, foreign []string, instants []time.Time) {
	for _, now := range instants {
		w.as(now, func() {
			w.auditList(s, live, driver.Query{At: now})
			shown := map[string]driver.Entry{}
			for _, e := range w.ref.list(s, live.number, driver.Query{At: now}) {
				shown[e.ID] = e
			}
			for _, id := range append(few(w, w.most(), slices.Clone(own)), foreign...) {
				w.unnoted(func() {
					got, err := w.tryGet(s, id)
					if want, is := shown[id]; is {
						w.must(err)
						w.sameEntry(&got, &want)
					} else {
						w.notFound(err)
					}
				})
			}
		})
	}
	q := w.anyQuery(s)
	for range w.atRandom() {
		w.auditList(s, live, q)
		q = near(w, q, w.anyQuery(s))
	}
	w.auditPages(s, live)
	if w.level != LevelAdapter {
		asked := slices.Concat(own, foreign, own[:min(1, len(own))])
		w.dice.Shuffle(len(asked), func(i, k int) { asked[i], asked[k] = asked[k], asked[i] })
		w.unnoted(func() { w.auditLookup(s, asked...) })
		for range w.atRandom() {
			w.auditHistory(s.Tenant, w.anyHistory(s))
		}
	}
}

// most is how many entries of a scope are got one by one.
func (w *world) most() int {
	return w.size(auditedNames/8, auditedNames)
}

// auditList lists a page as of a version.
func (w *world) auditList(s driver.Scope, h heldVersion, q driver.Query) {
	q.Version = h.store
	want := w.ref.list(s, h.number, q)
	w.unnoted(func() { w.sameEntries(w.list(s, q), want) })
}

// auditPages reads a scope of many entries page by page.
func (w *world) auditPages(s driver.Scope, h heldVersion) {
	n := len(w.ref.tenant(s.Tenant).refs[s.Ref])
	if n < 2*auditedNames {
		return
	}
	q := driver.Query{At: w.now, Limit: []int{n/7 + 1, 100, 127, 128, 129, 256, 512, 513, n - 1, n}[w.dice.IntN(10)]}
	q.Tags = some(w, [][]string{{"tag"}})
	for more := true; more; {
		page := w.ref.list(s, h.number, q)
		w.auditList(s, h, q)
		if more = len(page) == q.Limit; more {
			q.After = page[len(page)-1].Cursor()
		}
	}
}

// sameList expects these things in this order. It tells in what the first differs that is another.
func sameList[T any](w *world, got, want []T, difference func(got, want *T) string) {
	for i := range min(len(got), len(want)) {
		if diff := difference(&got[i], &want[i]); diff != "" {
			w.fail(fmt.Sprintf("%d, as number %d %s", len(want), i+1, describe(want[i])), fmt.Sprintf("%d, as number %d %s, which has %s", len(got), i+1, describe(got[i]), diff))
		}
	}
	if len(got) != len(want) { // what passes is not described
		w.fail(describe(want), describe(got))
	}
}

func (w *world) sameEntries(got, want []driver.Entry) {
	w.sameIDs(got, ids(want))
	sameList(w, got, want, differences)
}

func (w *world) sameRecords(got, want []driver.Record) { sameList(w, got, want, recordDifferences) }
func (w *world) sameDocuments(got, want []driver.Document) {
	sameList(w, got, want, documentDifferences)
}

func (w *world) auditHistory(tenant string, q driver.HistoryQuery) {
	w.unnoted(func() { w.sameRecords(w.history(tenant, q), w.ref.history(tenant, q)) })
}

// auditLookup compares the records of ids.
func (w *world) auditLookup(s driver.Scope, ids ...string) {
	var want []driver.Record
	for _, id := range ids {
		if held := w.ref.tenant(s.Tenant).find(s.Ref, id); held != nil {
			want = append(want, held.Record)
		}
	}
	w.sameRecords(w.lookUp(s, ids...), want)
}

// auditDocuments reads the documents of a tenant, all and by queries that chance puts together.
func (w *world) auditDocuments(tenant string) {
	queries := []driver.DocumentQuery{{}, {Ref: "never"}, {EveryRef: true, Bare: true}, {EveryRef: true}}
	names := slices.SortedFunc(maps.Keys(w.ref.tenant(tenant).documents), compareNames)
	for range w.atRandom() * min(4, len(names)) {
		queries = append(queries, w.anyDocuments(tenant, names))
	}
	for _, q := range queries {
		q.Tenant = tenant
		w.auditFound(q)
	}
}

func (w *world) auditFound(q driver.DocumentQuery) {
	w.unnoted(func() { w.sameDocuments(w.documents(q), w.ref.find(q)) })
}

// auditOutbox reads the events of each run that wait, and counts them.
func (w *world) auditOutbox(tenant string) {
	waiting := 0
	runs := map[string]bool{"never": true}
	for name := range w.ref.waiting {
		if name.tenant == tenant {
			runs[name.run] = true
			waiting++
		}
	}
	for run := range sorted(runs) {
		w.unnoted(func() { w.sameOutbox(w.undelivered(tenant, run), w.ref.undelivered(tenant, run)) })
	}
	for _, limit := range []int{waiting + 1, 1 + w.dice.IntN(waiting+1)} {
		w.unnoted(func() { w.counts(tenant, limit, waiting) })
	}
}

// auditShared reads what is asked of all tenants at once.
func (w *world) auditShared() {
	w.throwDice("")
	w.unnoted(func() { w.counts("", len(w.ref.waiting)+1, len(w.ref.waiting)) })
	if !w.lent {
		w.unnoted(func() { w.sameOutbox(w.undelivered("", ""), w.ref.undelivered("", "")) })
	}
	if w.scheduler != nil {
		w.auditDue()
	}
	if w.tenants != nil {
		all := w.ref.scopes()
		w.unnoted(func() { w.listed(driver.Scope{}, all...) })
		for range min(w.atRandom(), len(all)) {
			one, other := all[w.dice.IntN(len(all))], all[w.dice.IntN(len(all))]
			after := at(one.Tenant+some(w, []string{"0", "\xff"}), some(w, []string{one.Ref, other.Ref, one.Ref + "0"}))
			behind := slices.DeleteFunc(slices.Clone(all), func(s driver.Scope) bool { return compareScopes(s, after) <= 0 })
			w.unnoted(func() { w.listed(after, behind...) })
		}
	}
}

// auditDue asks what is due of each kind, now and about an instant at which something is.
func (w *world) auditDue() {
	kinds, instants := map[string]bool{"note": true, "never": true}, []time.Time{}
	for _, t := range w.ref.tenants {
		for name, d := range t.documents {
			if kinds[name.kind] = true; !d.Due.IsZero() {
				instants = append(instants, d.Due.Add(-time.Millisecond), d.Due)
			}
		}
	}
	slices.SortFunc(instants, time.Time.Compare)
	for kind := range sorted(kinds) {
		for _, now := range append(few(w, 4, slices.Clone(instants)), w.now) {
			want := w.ref.due(kind, now)
			for _, limit := range []int{len(want) + 10, 1 + w.dice.IntN(len(want)+1)} {
				w.unnoted(func() { w.sameDue(w.due(kind, now, limit), want, limit) })
			}
		}
	}
}

// sameDue compares what is due first, which has no order within an instant.
func (w *world) sameDue(got, want []driver.Document, limit int) {
	dues := func(docs []driver.Document) (all []time.Time) {
		for i := range docs {
			all = append(all, docs[i].Due)
		}
		return all
	}
	first := want[:min(limit, len(want))]
	if !slices.EqualFunc(dues(got), dues(first), time.Time.Equal) {
		w.fail("what is due at "+describe(dues(first)), "at "+describe(dues(got)))
	}
	came := slices.SortedFunc(slices.Values(got), compareDue)
	w.sameDocuments(came, slices.DeleteFunc(slices.Clone(want), func(d driver.Document) bool {
		_, is := slices.BinarySearchFunc(came, d, compareDue)
		return !is && len(first) < len(want) // the limit leaves out some of an instant
	}))
}

// heldOf are some of the versions that the store gave of a tenant, the first and the
// latest, that can be read still.
func (w *world) heldOf(tenant string) []heldVersion {
	horizon := w.ref.tenant(tenant).horizon
	all := slices.DeleteFunc(slices.Clone(w.held), func(h heldVersion) bool { return h.tenant != tenant || h.number < horizon })
	if len(all) > auditedVersions {
		all = slices.Concat(all[:auditedVersions/2], all[len(all)-auditedVersions/2:])
	}
	return all
}

// auditVersions reads a scope as of versions that were held, each at one of the instants, and what has
// changed between them.
func (w *world) auditVersions(s driver.Scope, ids []string, instants []time.Time) {
	all := w.heldOf(s.Tenant)
	for i, h := range few(w, w.size(2, len(all)), slices.Clone(all)) {
		w.as(instants[w.dice.IntN(len(instants))], func() {
			w.auditList(s, h, driver.Query{At: w.now})
			w.auditList(s, h, driver.Query{At: w.now, IDs: few(w, w.most(), slices.Clone(ids))})
		})
		w.auditList(s, h, w.anyQuery(s))
		w.auditPages(s, h)
		w.unnoted(func() { w.intact(s, h.store, w.ref.intact(s, h.number)) })
		if w.changes != nil {
			from, to := h, all[w.dice.IntN(len(all))]
			if i == 0 { // all that has changed
				from, to = all[0], all[len(all)-1]
			}
			if to.number < from.number {
				from, to = to, from
			}
			w.unnoted(func() { w.changed(s, from.store, to.store, w.ref.changed(s, from.number, to.number)) })
		}
	}
}

// auditHorizons expects that a version is equal to another only if it names the same
// state, and that versions behind the horizon are refused.
func (w *world) auditHorizons() {
	seen, behind := map[driver.Version]heldVersion{}, map[string]int{}
	for _, h := range w.held {
		if other, known := seen[h.store]; known && other != h && other.tenant == h.tenant {
			w.fail("another version after each mutation", "the version "+w.name(h.store)+" for two states of "+short(h.tenant))
		}
		seen[h.store] = h
		if h.number < w.ref.tenant(h.tenant).horizon {
			behind[h.tenant]++
			if behind[h.tenant] > auditedInstants {
				continue
			}
			ref := "any"
			for ref = range sorted(w.ref.tenant(h.tenant).refs) {
				break
			}
			w.unnoted(func() { w.refused(at(h.tenant, ref), h.store) })
		}
	}
}

// sameOutbox expects the same events, whole and in the same order.
func (w *world) sameOutbox(got, want []events.Record) {
	sameList(w, got, want, func(got, want *events.Record) string {
		if sameRecord(got, want) {
			return ""
		}
		return differencesOf("", reflect.ValueOf(*got), reflect.ValueOf(*want))
	})
}
