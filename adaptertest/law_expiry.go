package adaptertest

import (
	"slices"
	"time"
)

func expiryLaw() law {
	const everyRead = "an entry is live until the millisecond before its expiresAt, and without a sweep it is gone from then on"
	l := law{name: "TTL", number: "M4", says: "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries"}
	l.cases = slices.Concat(
		throughReaders("expired", everyRead, readExpired),
		throughReaders("no-clock", "a store does not look at a clock of its own", readWithoutClock),
		[]testCase{
			{"instants", "every instant that is kept comes back, in UTC, and is judged to the millisecond", nil, sweepInstants},
			{"any-instants", "so does every instant that chance chooses", nil, anyInstants},
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
