package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// instants are those around which a store that converts them goes wrong: the ends of what
// is allowed, the two sides of 1970 and of the widths of integers, leap days, year's ends,
// and every kind of milliseconds.
var instants = func() []time.Time {
	var all []time.Time
	for _, text := range []string{
		"0001-01-01T00:00:00.010Z", "1000-02-28T23:59:59.999Z", "1582-10-15T00:00:00.001Z", "1677-09-21T00:12:43.145Z", "1899-12-31T23:59:59.999Z",
		"1900-02-28T23:59:59.999Z", "1901-12-13T20:45:52.500Z", "1969-12-31T23:59:58.001Z", "1969-12-31T23:59:59.998Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z",
		"1970-01-01T00:00:01.010Z", "1999-12-31T23:59:59.999Z", "2000-02-29T12:00:00.100Z", "2001-03-04T05:06:07.001Z", "2004-07-05T02:24:19.475Z",
		"2016-12-31T23:59:59.500Z", "2024-02-29T00:00:00.007Z", "2038-01-19T03:14:07.999Z", "2100-02-28T23:59:59.999Z", "2106-02-07T06:28:15.998Z",
		"2262-04-11T23:47:16.854Z", "2999-12-31T23:59:59.999Z", "4000-02-29T23:59:59.990Z", "9999-12-31T23:59:59.900Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err)
		}
		all = append(all, at)
	}
	return all
}()

// zones are those in which instants are given.
var zones = []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -10*3600), time.FixedZone("", 14*3600)}

// sweepInstants keeps an entry that expires, one that does not, documents and events at each of
// the instants, and at some that chance chooses, and judges each in changing zones as it comes.
func sweepInstants(w *world) {
	all := slices.Clone(instants)
	first, last := time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range w.size(60, 150, 2000) {
		at := time.UnixMilli(first + w.rng.Int64N(last-first)).UTC()
		if i%2 == 0 { // most are of these centuries
			at = epoch.Add(time.Duration(w.rng.Int64N(6e12)-3e12) * time.Millisecond)
		}
		all = append(all, at)
	}
	for i, t := range all {
		w.keepsInstant(i, t, zones[i%len(zones)])
	}
	for i, t := range all {
		for k := range 3 {
			w.as(t.Add(time.Duration(k-1)*time.Millisecond).In(zones[i%len(zones)]), func() { w.judgesInstant(i) })
		}
		if i%16 == 0 && w.versions != nil {
			w.as(t, func() { w.purge(home.Tenant, w.version(home.Tenant)) })
		}
	}
}

// keepsInstant keeps an instant wherever one is kept, given in a zone and in UTC: a calendar
// has its odd days in either.
func (w *world) keepsInstant(i int, t time.Time, zone *time.Location) {
	short, long := w.entry(fmt.Sprint("short", i)), w.entry(fmt.Sprint("long", i))
	short.CreatedAt, short.ExpiresAt, long.CreatedAt = t.Add(-time.Millisecond).In(zone), t.In(zone), t.In(zone)
	for _, e := range []driver.Entry{short, long} {
		w.put(home, e)
		w.put(home, e)
		e.CreatedAt = e.CreatedAt.Add(time.Millisecond)
		w.mustBe(w.tryPut(home, e), driver.ErrConflict)
	}
	if w.tx == nil {
		return
	}
	var recs []events.Record
	for k, given := range []time.Time{t, t.In(zone)} {
		record := w.event("run-1", fmt.Sprint(i, " form ", k))
		record.Time = given
		m := acts(driver.Set, timer(home, record.ID, given))
		m.Events = []events.Record{record}
		w.apply(m)
		record.ID += " kept"
		recs = append(recs, record)
	}
	if w.kept != nil {
		w.apply(logged(recs...))
	}
	if i%4 == 0 { // an entry that is restored lives from its createdAt to its expiresAt still
		for range 2 {
			w.as(short.CreatedAt, func() { w.livesAgain(home, short.ID, long.ID) })
		}
	}
}

// judgesInstant judges the entries of an instant by all ways that take one, and what is due.
func (w *world) judgesInstant(i int) {
	names := []string{fmt.Sprint("short", i), fmt.Sprint("long", i)}
	for _, id := range names {
		if held := w.ref.tenant(home.Tenant).find(home.Ref, id); held.liveAt(w.now) {
			w.get(home, held.Entry)
		} else {
			w.absent(home, id)
		}
	}
	q := []driver.Query{{IDs: names}, {Since: w.now, Limit: 3}, {Until: w.now, Limit: 3},
		{After: driver.Cursor{CreatedAt: w.now, ID: names[0]}, Limit: 3}}[w.rng.IntN(4)]
	q.At = w.now
	w.samePages(home, q)
	if w.tx != nil {
		w.tryApply(home.Tenant, driver.Mutation{Live: located(home, names[0])})
	}
	if w.scheduler != nil {
		want := w.ref.due("timer", w.now)
		w.sameDue(w.due("timer", w.now, len(want)+1), want)
	}
	if held := w.ref.tenant(home.Tenant).find(home.Ref, names[0]); !held.liveAt(w.now) {
		w.delete(home, names[0], false)
	}
}

// livesAgain merges an entry with another one and restores it, so that it has two lives.
func (w *world) livesAgain(s driver.Scope, id, successor string) {
	w.apply(retired(retire(s, id, driver.Merged, successor)))
	w.apply(driver.Mutation{Restore: located(s, id)})
}
