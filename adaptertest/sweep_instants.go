package adaptertest

import (
	"fmt"
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
		"1970-01-01T00:00:01.010Z", "1999-12-31T23:59:59.999Z", "2000-02-29T12:00:00.100Z", "2001-03-04T05:06:07.001Z", "2004-07-05T02:24:19.473Z",
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

// sweepInstants puts everything that keeps an instant at each of them, a millisecond
// before and one behind, in changing zones, and reads it all at instants around.
func sweepInstants(w *world) {
	tick := time.Millisecond
	for i, t := range instants {
		zone := zones[i%len(zones)]
		for k, at := range []time.Time{t.Add(-tick), t, t.Add(tick)} {
			e := w.entry(fmt.Sprintf("e%02d-%d", i, k))
			e.CreatedAt, e.ExpiresAt = at.In(zone), t.Add(2*tick).In(zone)
			if k == 1 {
				e.ExpiresAt = time.Time{}
			}
			w.put(home, e)
			w.put(home, e)
			other := e
			other.CreatedAt = e.CreatedAt.Add(tick)
			w.mustBe(w.tryPut(home, other), driver.ErrConflict)
			w.keepsInstant(e.ID, at, zone)
		}
		w.readAround(t, zone)
	}
	for i, t := range instants { // now everything is there
		if i%3 == 0 {
			w.readAround(t, zones[(i+1)%len(zones)])
		}
	}
	for i, t := range instants {
		w.judgesAround(i, t, zones[i%len(zones)])
	}
	for i, t := range instants {
		for k := range 4 {
			if w.versions != nil {
				w.as(t.Add(time.Duration(k-1)*tick).In(zones[i%len(zones)]), func() { w.purge(home.Tenant, w.version(home.Tenant)) })
			}
		}
	}
}

// keepsInstant sets a document that is due at an instant, and queues and logs events of it,
// given in a zone and in UTC: a calendar has its odd days in either.
func (w *world) keepsInstant(id string, at time.Time, zone *time.Location) {
	if w.tx == nil {
		return
	}
	given := []time.Time{at}
	if zone != time.UTC {
		given = append(given, at.In(zone))
	}
	for i, at := range given {
		name := fmt.Sprint(id, " form ", i)
		record := w.event("run-1", name)
		record.Time = at
		m := acts(driver.Set, timer(home, name, at))
		m.Events = []events.Record{record}
		w.apply(m)
		if w.kept != nil {
			record.ID += " kept"
			w.apply(logged(record))
		}
	}
}

// judgesAround judges at the instants around one, by all that takes an instant and changes
// something: whether the entries of that instant live, and one that has expired long ago.
func (w *world) judgesAround(i int, t time.Time, zone *time.Location) {
	mine, long := fmt.Sprintf("e%02d-2", i), "e00-2"
	for k := range 4 {
		w.as(t.Add(time.Duration(k-1)*time.Millisecond).In(zone), func() {
			if w.tx != nil {
				w.tryApply(home.Tenant, driver.Mutation{Live: located(home, mine)})
			}
			if i > 0 && w.tx != nil {
				w.conflicts(driver.Mutation{Live: located(home, long)})
				w.conflicts(retired(retire(home, long, driver.Deleted, "")))
			}
			if i > 0 {
				w.delete(home, long, false)
			}
			switch k {
			case 2:
				w.delete(home, fmt.Sprintf("e%02d-0", i), true)
			case 3:
				w.delete(home, mine, false)
			}
		})
	}
}

// readAround reads at an instant, before and behind it, by every way that takes one.
func (w *world) readAround(t time.Time, zone *time.Location) {
	tick := time.Millisecond
	for _, now := range []time.Time{t.Add(-tick), t, t.Add(tick), t.Add(2 * tick)} {
		w.as(now.In(zone), func() {
			q := driver.Query{At: w.now}
			all := w.ref.list(home, -1, q)
			w.sameEntries(w.list(home, q), all)
			for i := range all { // a cursor at each entry of that time
				if d := all[i].CreatedAt.Sub(t); d > -time.Second && d < time.Second {
					q.After, q.Limit = driver.Cursor{CreatedAt: all[i].CreatedAt.In(zone), ID: all[i].ID}, 3
					w.samePages(home, q)
				}
			}
			for _, q := range []driver.Query{{Since: w.now}, {Until: w.now}, {Since: w.now.Add(-tick), Until: w.now.Add(tick)}, {Since: w.now.Add(tick), Until: w.now.Add(-tick)}} {
				q.At, q.Limit = w.now, len(all)+1
				w.samePages(home, q)
			}
			var near []string // the entries of that time, and one that has expired long ago
			var live []driver.Entry
			for _, rec := range w.ref.tenant(home.Tenant).refs[home.Ref] {
				if d := rec.created.Sub(t); rec.id != "e00-2" && (d <= -time.Second || d >= time.Second) {
					continue
				}
				if near = append(near, rec.id); rec.liveAt(w.now) {
					live = append(live, rec.Entry)
					w.get(home, rec.Entry)
				} else {
					w.absent(home, rec.id)
				}
			}
			if w.versions != nil {
				v := w.version(home.Tenant)
				w.sameEntries(w.listAt(home, v, driver.Query{At: w.now}), all)
				w.sameEntries(w.getAt(home, v, ids(all)...), all)
				w.sameEntries(w.getAt(home, v, near...), live)
			}
			if w.scheduler != nil {
				want := w.ref.due("timer", w.now)
				w.sameDue(w.due("timer", w.now, len(want)+1), want)
			}
		})
	}
}

// anyInstants keeps entries that chance gives their instants, each in a tenant of its own,
// and judges them a millisecond before they expire and as they do.
func anyInstants(w *world) {
	span := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMilli() - time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range w.size(40, 150, 2000) {
		s := at(fmt.Sprint("tenant ", i), "ref")
		e := w.entry("e")
		e.CreatedAt = time.UnixMilli(time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() + w.rng.Int64N(span))
		e.ExpiresAt = e.CreatedAt.Add(time.Duration(1+w.rng.Int64N(1e10)) * time.Millisecond)
		if i%2 == 0 { // most are of these centuries
			e.ExpiresAt = epoch.Add(time.Duration(w.rng.Int64N(3e12)) * time.Millisecond)
			e.CreatedAt = e.ExpiresAt.Add(-time.Duration(1+w.rng.Int64N(3e12)) * time.Millisecond)
		}
		w.put(s, e)
		if w.level != LevelAdapter && i%4 == 1 { // a restored entry lives from its createdAt to its expiresAt still
			w.puts(s, "other")
			w.as(e.ExpiresAt.Add(-time.Millisecond), func() {
				w.livesAgain(s, "e", "other")
				w.livesAgain(s, "e", "other")
				w.delete(s, "other", true)
			})
		}
		for _, now := range []time.Time{e.ExpiresAt.Add(-time.Millisecond), e.ExpiresAt} {
			w.as(now.In(zones[i%len(zones)]), func() { w.judgesOne(s, &e) })
		}
	}
	w.unmirrored() // each tenant was read
}

// judgesOne reads a scope that has one entry by all ways, and changes it in such as take an instant.
func (w *world) judgesOne(s driver.Scope, e *driver.Entry) {
	var want []string
	if e.LiveAt(w.now) {
		want = []string{e.ID}
	}
	for _, r := range readers {
		if len(w.found.missing(r.needs)) == 0 {
			w.sameIDs(r.read(w, s, []string{e.ID}), want)
		}
	}
	before := driver.Query{At: w.now, After: driver.Cursor{CreatedAt: e.CreatedAt, ID: e.ID + "+"}}
	behind := driver.Query{At: w.now, After: e.Cursor()}
	for _, q := range []driver.Query{before, behind} {
		w.samePages(s, q)
	}
	if w.tx != nil {
		w.tryApply(s.Tenant, driver.Mutation{Live: located(s, e.ID)})
	}
	if want == nil {
		w.delete(s, e.ID, false)
	}
	if w.versions != nil {
		w.purge(s.Tenant, w.version(s.Tenant))
	}
}
