package adaptertest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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

// auditReach bounds how much of the many an audit looks at one by one.
const (
	auditedInstants = 4
	auditedNames    = 80
	auditedOfMany   = 6 // names, where there are more than a thousand records
	auditedForeign  = 6 // ids that are elsewhere
	auditedVersions = 4
)

func mostNames(records int) int {
	if records > 1000 {
		return auditedOfMany
	}
	return auditedNames
}

// audit compares all that can be read with the reference, as far up as the level of the
// case. Its reads are noted only if one of them differs.
func (w *world) audit() {
	if w.ref == nil {
		return
	}
	for tenant := range sorted(w.ref.tenants) {
		w.auditTenant(tenant, w.instants(tenant))
	}
	w.auditUnknown()
	if w.level != LevelAdapter {
		w.auditShared()
	}
	if w.level == LevelVersioned {
		w.auditHorizons()
	}
}

// auditUnknown reads a tenant, and a ref of one that is known, that were never written.
func (w *world) auditUnknown() {
	unknown := []driver.Scope{at("never written", "ref")}
	for tenant := range sorted(w.ref.tenants) {
		unknown = append(unknown, at(tenant, "never written"))
		break
	}
	for _, s := range unknown {
		w.throwDice(s.Tenant)
		_, foreign := w.known(s)
		w.auditScope(s, nil, foreign)
		if w.level != LevelAdapter {
			w.auditRecords(s, nil, foreign)
		}
	}
	delete(w.ref.tenants, "never written")
}

// auditTenant compares what a tenant has.
func (w *world) auditTenant(tenant string, instants []time.Time) {
	w.throwDice(tenant)
	w.asked = map[string]bool{}
	instants = append(instants[:1:1], few(w, 1, slices.Clone(instants[1:]))...)
	for ref := range sorted(w.ref.tenant(tenant).refs) {
		s := at(tenant, ref)
		own, foreign := w.known(s)
		for _, now := range instants {
			w.as(now, func() { w.auditScope(s, own, foreign) })
		}
		if w.level != LevelAdapter {
			w.auditRecords(s, own, foreign)
		}
		if w.level == LevelVersioned {
			w.auditVersions(s, own, foreign, instants)
		}
	}
	for ref := range sorted(w.ref.tenant(tenant).refs) {
		w.auditAnyPages(at(tenant, ref))
	}
	w.auditFirst(tenant)
	if w.level != LevelAdapter {
		for ref := range sorted(w.ref.tenant(tenant).refs) {
			w.auditAnyRecords(at(tenant, ref))
		}
		w.auditDocuments(tenant)
		w.auditAnyDocuments(tenant)
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

// unnoted makes a read that is noted only if it finds a difference, or else nobody could
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
// around an expiry.
func (w *world) instants(tenant string) []time.Time {
	expiries := map[time.Time]bool{}
	for _, rec := range w.ref.tenant(tenant).records {
		if !rec.Entry.ExpiresAt.IsZero() {
			expiries[rec.Entry.ExpiresAt] = true
		}
	}
	all := []time.Time{w.now}
	for _, at := range slices.SortedFunc(maps.Keys(expiries), time.Time.Compare) {
		if len(all) < auditedInstants {
			all = append(all, at.Add(-time.Millisecond), at)
		}
	}
	if len(expiries) > 0 {
		all = append(all, time.Time{})
	}
	return all
}

// few are some of many, if the audit is sparing.
func few[T any](w *world, n int, all []T) []T {
	if w.sparing && len(all) > n {
		w.dice.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		return all[:n]
	}
	return all
}

// labels are the tags, or the subjects, that records of a scope carry.
func (w *world) labels(recs []*refRecord, of func(e *driver.Entry) []string) []string {
	found := map[string]bool{}
	most := mostNames(len(recs))
	for _, rec := range recs {
		for _, label := range of(&rec.Entry) {
			if label != "" && len(found) < most {
				found[label] = true
			}
		}
	}
	return few(w, 2, slices.Sorted(maps.Keys(found)))
}

func tagsOf(e *driver.Entry) []string     { return e.Tags }
func subjectsOf(e *driver.Entry) []string { return e.Subjects }

func byID(entries []driver.Entry) map[string]*driver.Entry {
	all := make(map[string]*driver.Entry, len(entries))
	for i := range entries {
		all[entries[i].ID] = &entries[i]
	}
	return all
}

// auditScope reads what lives in a scope now, as a list and one by one.
func (w *world) auditScope(s driver.Scope, own, foreign []string) {
	live := w.ref.list(s, -1, driver.Query{At: w.now})
	w.unnoted(func() { w.sameEntries(w.list(s, driver.Query{At: w.now}), live) })
	byID := byID(live)
	for _, id := range slices.Concat(own, foreign) {
		w.unnoted(func() {
			got, err := w.tryGet(s, id)
			if want := byID[id]; want != nil {
				w.must(err)
				w.sameEntry(&got, want)
			} else {
				w.notFound(err)
			}
		})
	}
	tags := w.labels(w.ref.tenant(s.Tenant).refs[s.Ref], tagsOf)
	for _, tag := range tags {
		q := driver.Query{At: w.now, Tags: []string{tag}}
		w.unnoted(func() { w.sameEntries(w.list(s, q), w.ref.list(s, -1, q)) })
	}
}

func (w *world) sameEntries(got, want []driver.Entry) {
	if !slices.EqualFunc(got, want, func(a, b driver.Entry) bool { return a.ID == b.ID }) {
		w.sameIDs(got, ids(want))
	}
	for i := range got {
		w.sameEntry(&got[i], &want[i])
	}
}

func (w *world) sameRecords(got, want []driver.Record) {
	if slices.EqualFunc(got, want, func(a, b driver.Record) bool { return equalRecords(&a, &b) }) {
		return
	}
	for i := range min(len(got), len(want)) {
		if !equalRecords(&got[i], &want[i]) {
			w.fail(fmt.Sprintf("%d records, as number %d\n%s", len(want), i+1, describeRecord(&want[i])),
				fmt.Sprintf("%d records, as number %d\n%s", len(got), i+1, describeRecord(&got[i])))
		}
	}
	w.fail(fmt.Sprintf("%d records", len(want)), fmt.Sprintf("%d records", len(got)))
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

// auditRecords looks up what a scope holds, in every state.
func (w *world) auditRecords(s driver.Scope, own, foreign []string) {
	asked := slices.Concat(own, foreign, own[:min(1, len(own))])
	w.dice.Shuffle(len(asked), func(i, k int) { asked[i], asked[k] = asked[k], asked[i] })
	w.unnoted(func() { w.auditLookup(s, asked...) })
	recs := w.ref.tenant(s.Tenant).refs[s.Ref]
	queries := []driver.HistoryQuery{{Ref: s.Ref}}
	var heads []string
	for _, rec := range recs {
		if rec.For != "" && !slices.Contains(heads, rec.For) && len(heads) < mostNames(len(recs)) {
			heads = append(heads, rec.For)
			queries = append(queries, driver.HistoryQuery{Ref: s.Ref, For: []string{rec.For}})
		}
	}
	if len(heads) > 0 {
		queries = append(queries, driver.HistoryQuery{Ref: s.Ref, For: own})
	}
	for _, label := range w.labels(recs, subjectsOf) {
		queries = append(queries, driver.HistoryQuery{Ref: s.Ref, Subject: label})
		if !w.asked[label] {
			w.asked[label] = true
			queries = append(queries, driver.HistoryQuery{Subject: label})
		}
		if len(heads) > 0 {
			queries = append(queries, driver.HistoryQuery{Ref: s.Ref, Subject: label, For: heads})
		}
	}
	for _, q := range queries {
		w.unnoted(func() { w.sameRecords(w.history(s.Tenant, q), w.ref.history(s.Tenant, q)) })
	}
}

// auditDocuments reads the history of a tenant as a whole, and its documents by each of
// their names.
func (w *world) auditDocuments(tenant string) {
	t := w.ref.tenant(tenant)
	w.unnoted(func() {
		w.sameRecords(w.history(tenant, driver.HistoryQuery{}), w.ref.history(tenant, driver.HistoryQuery{}))
	})
	var queries []driver.DocumentQuery
	asked := map[driver.DocumentQuery]bool{}
	ask := func(all ...driver.DocumentQuery) {
		for _, q := range all {
			if !asked[q] {
				asked[q], queries = true, append(queries, q)
			}
		}
	}
	ask(driver.DocumentQuery{}, driver.DocumentQuery{Ref: "never"}, driver.DocumentQuery{EveryRef: true, Bare: true})
	for _, name := range slices.SortedFunc(maps.Keys(t.documents), compareNames) {
		if len(queries) > 4*mostNames(len(t.documents)) {
			break
		}
		d := t.documents[name]
		ask(driver.DocumentQuery{Ref: name.ref}, driver.DocumentQuery{Ref: name.ref, Kind: name.kind}, driver.DocumentQuery{Ref: name.ref, Kind: name.kind, Key: name.key},
			driver.DocumentQuery{EveryRef: true, Kind: name.kind}, driver.DocumentQuery{EveryRef: true, Key: name.key}, driver.DocumentQuery{EveryRef: true, Kind: name.kind, Key: name.key})
		if d.Group != "" {
			ask(driver.DocumentQuery{EveryRef: true, Group: d.Group}, driver.DocumentQuery{Ref: name.ref, Kind: name.kind, Group: d.Group})
		}
		for _, label := range d.Subjects[:min(3, len(d.Subjects))] {
			ask(driver.DocumentQuery{EveryRef: true, Subject: label}, driver.DocumentQuery{Ref: name.ref, Subject: label})
		}
	}
	for _, q := range append(few(w, 6, queries), driver.DocumentQuery{EveryRef: true}) {
		q.Tenant = tenant
		w.unnoted(func() { w.sameDocuments(w.documents(q), w.ref.find(q)) })
	}
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
	for _, limit := range []int{waiting + 1, 1} {
		w.unnoted(func() { w.counts(tenant, limit, waiting) })
	}
}

func (w *world) sameDocuments(got, want []driver.Document) {
	for i := range min(len(got), len(want)) {
		w.sameDocument(&got[i], &want[i])
	}
	w.check(len(got) == len(want), fmt.Sprint(len(want), " documents"), "%d documents", len(got))
}

// auditShared reads what is asked of all tenants at once.
func (w *world) auditShared() {
	w.unnoted(func() { w.counts("", len(w.ref.waiting)+1, len(w.ref.waiting)) })
	if !w.lent {
		w.unnoted(func() { w.sameOutbox(w.undelivered("", ""), w.ref.undelivered("", "")) })
	}
	if w.scheduler != nil {
		kinds := map[string]bool{"timer": true, "never": true}
		for _, t := range w.ref.tenants {
			for name := range t.documents {
				kinds[name.kind] = true
			}
		}
		for kind := range sorted(kinds) {
			want := w.ref.due(kind, w.now)
			w.unnoted(func() { w.sameDue(w.due(kind, w.now, len(want)+10), want) })
		}
	}
	if w.tenants != nil {
		all := w.ref.scopes()
		w.unnoted(func() { w.listed(driver.Scope{}, all...) })
		w.throwDice("")
		for range min(auditedAtRandom, len(all)) {
			one, other := all[w.dice.IntN(len(all))], all[w.dice.IntN(len(all))]
			after := at(one.Tenant+some(w, []string{"0", "\xff"}), some(w, []string{one.Ref, other.Ref, one.Ref + "0"}))
			behind := slices.DeleteFunc(slices.Clone(all), func(s driver.Scope) bool { return compareScopes(s, after) <= 0 })
			w.unnoted(func() { w.listed(after, behind...) })
		}
	}
}

// sameDue compares what is due, which has no order within an instant.
func (w *world) sameDue(got, want []driver.Document) {
	for i := range got {
		if i > 0 && got[i].Due.Before(got[i-1].Due) {
			w.fail("what is due in the order of its instants", describeDocument(&got[i])+" after "+describeDocument(&got[i-1]))
		}
	}
	got = slices.SortedFunc(slices.Values(got), compareDue)
	w.sameDocuments(got, want)
}

func compareDue(a, b driver.Document) int {
	if c := a.Due.Compare(b.Due); c != 0 {
		return c
	}
	if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
		return c
	}
	return compareNames(nameOf(&a), nameOf(&b))
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

// auditVersions reads a scope as of the versions that were held.
func (w *world) auditVersions(s driver.Scope, own, foreign []string, instants []time.Time) {
	held := few(w, 2, w.heldOf(s.Tenant))
	tags := w.labels(w.ref.tenant(s.Tenant).refs[s.Ref], tagsOf)
	for i, h := range held {
		for _, now := range instants {
			w.as(now, func() {
				q := driver.Query{At: now}
				want := w.ref.list(s, h.number, q)
				w.unnoted(func() { w.sameEntries(w.listAt(s, h.store, q), want) })
				byID := byID(want)
				asked := slices.Concat(own, foreign, own[:min(1, len(own))])
				w.dice.Shuffle(len(asked), func(i, k int) { asked[i], asked[k] = asked[k], asked[i] })
				var found []driver.Entry
				for _, id := range asked {
					if e := byID[id]; e != nil {
						found = append(found, *e)
					}
				}
				w.unnoted(func() { w.sameEntries(w.getAt(s, h.store, asked...), found) })
			})
		}
		for _, tag := range tags[:min(2, len(tags))] {
			q := driver.Query{At: w.now, Tags: []string{tag}}
			w.unnoted(func() { w.sameEntries(w.listAt(s, h.store, q), w.ref.list(s, h.number, q)) })
		}
		w.unnoted(func() { w.intact(s, h.store, w.ref.intact(s, h.number)) })
		for k, later := range held {
			if w.changes != nil && (k == i+1 || i < k && k == len(held)-1 || k == 0 && i == len(held)-1) { // the next, the last and one before
				w.unnoted(func() { w.changed(s, h.store, later.store, w.ref.changed(s, h.number, later.number)) })
			}
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
	names := []string{}
	for _, e := range want {
		names = append(names, e.ID)
	}
	w.sameEvents(got, names...)
	for i := range got {
		w.sameEvent(&got[i], &want[i])
	}
}

func (w *world) sameEvent(got, want *events.Record) {
	same := *got
	same.Time = want.Time
	if !got.Time.Equal(want.Time) || !reflect.DeepEqual(same, *want) {
		w.fail(describeEvent(want), describeEvent(got))
	}
}
