package adaptertest

import (
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func expiryLaw() law {
	const everyRead = "an entry is live until the millisecond before its expiresAt, and without a sweep it is gone from then on"
	l := law{name: "TTL", number: "M4", says: "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries"}
	l.cases = slices.Concat(
		throughReaders("expired", everyRead, readExpired),
		throughReaders("no-clock", "a store does not look at a clock of its own", readWithoutClock),
		throughReaders("earlier-instant", "a read at an earlier instant shows what a read at a later one did not", readEarlier),
		throughReaders("never", "an entry without expiresAt never expires", readNever),
		[]testCase{
			{"expired-delete", "an expired entry cannot be deleted, and stays as it is", nil, deleteExpired},
			{"instants", "every instant that is kept comes back, in UTC, and is judged to the millisecond", nil, sweepInstants},
			{"any-instants", "so does every instant that chance chooses", nil, anyInstants},
			{"zero-instant", "at the zero instant nothing has expired", nil, zeroInstant},
			{"expired-condition", "a mutation's condition that an entry is live does not hold from its expiresAt on", []Offer{Transactor}, expiredCondition},
			{"expired-retire", "an expired entry cannot be retired", []Offer{Transactor}, expiredRetire},
			{"expired-successor", "nothing is retired in favour of an expired entry", []Offer{Transactor}, expiredSuccessor},
			{"expired-history", "lookup and history do not look at expiry", []Offer{Transactor}, expiredHistory},
		})
	return l
}

func readExpired(w *world, r reader) {
	all := []string{"b", "a"}
	w.put(home, w.mortal("a", 5*time.Millisecond))
	w.put(home, w.mortal("b", 6*time.Millisecond))
	w.advance(4 * time.Millisecond)
	w.sameIDs(r.read(w, home, all), []string{"b", "a"})
	w.advance(time.Millisecond)
	w.sameIDs(r.read(w, home, all), []string{"b"})
	w.advance(time.Millisecond)
	w.sameIDs(r.read(w, home, all), nil)
}

// readWithoutClock does everything once long before and once long after the time of
// any real clock.
func readWithoutClock(w *world, r reader) {
	for _, year := range []int{1987, 2387} {
		s := at("acme", time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006"))
		w.now = time.Date(year, 5, 17, 12, 30, 45, 0, time.UTC)
		w.put(s, w.mortal("short", time.Minute))
		w.sameIDs(r.read(w, s, []string{"short"}), []string{"short"})
		w.advance(time.Minute)
		w.sameIDs(r.read(w, s, []string{"short"}), nil)
	}
}

func readEarlier(w *world, r reader) {
	w.put(home, w.mortal("short", time.Minute))
	start := w.now
	w.advance(time.Hour)
	w.sameIDs(r.read(w, home, []string{"short"}), nil)
	w.now = start
	w.sameIDs(r.read(w, home, []string{"short"}), []string{"short"})
}

func readNever(w *world, r reader) {
	w.puts(home, "eternal")
	w.now = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	w.sameIDs(r.read(w, home, []string{"eternal"}), []string{"eternal"})
}

func deleteExpired(w *world) {
	e := w.mortal("short", 5*time.Millisecond)
	w.put(home, e)
	start := w.now
	w.advance(5 * time.Millisecond)
	w.delete(home, "short", false)
	w.now = start
	w.get(home, e)
	w.advance(4 * time.Millisecond)
	w.delete(home, "short", true)
}

// zeroInstant is how a bank reads an old view in order to learn what was in it.
func zeroInstant(w *world) {
	e := w.mortal("short", time.Millisecond)
	w.put(home, e)
	w.now = time.Time{}
	w.get(home, e)
	w.lists(home, "short")
}

func expiredCondition(w *world) {
	w.put(home, w.mortal("short", 5*time.Millisecond))
	w.advance(4 * time.Millisecond)
	w.apply(driver.Mutation{Live: located(home, "short")})
	w.advance(time.Millisecond)
	w.conflicts(driver.Mutation{Live: located(home, "short")})
}

func expiredRetire(w *world) {
	w.put(home, w.mortal("a", 5*time.Millisecond))
	w.put(home, w.mortal("b", 5*time.Millisecond))
	w.advance(4 * time.Millisecond)
	w.apply(retired(retire(home, "a", driver.Deleted, "")))
	w.advance(time.Millisecond)
	w.conflicts(retired(retire(home, "b", driver.Deleted, "")))
}

func expiredSuccessor(w *world) {
	w.puts(home, "a", "b")
	w.put(home, w.mortal("short", 5*time.Millisecond))
	w.advance(4 * time.Millisecond)
	w.apply(retired(retire(home, "a", driver.Merged, "short")))
	w.advance(time.Millisecond)
	w.conflicts(retired(retire(home, "b", driver.Merged, "short")))
}

func expiredHistory(w *world) {
	e := w.mortal("short", 5*time.Millisecond)
	e.Subjects = []string{"customer:1"}
	w.put(home, e)
	w.advance(time.Hour)
	w.lists(home)
	w.looksUp(home, e, driver.Live, "")
	w.remembers(home.Tenant, driver.HistoryQuery{Ref: home.Ref}, "short")
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"}, "short")
}
