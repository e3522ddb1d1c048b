package commitment

import (
	"slices"
	"time"
)

// localInstant returns the instant at which the clocks of a place show a time of day.
//
// Where they show it twice, because they were put back, it is the first time. Where
// they never show it, because they were put forward, it is the instant of the change:
// a note for half past two is neither lost nor early by an hour. So every time of day
// has one instant on every day, and later ones never have earlier instants.
func localInstant(year int, month time.Month, day, hour, minute int, in *time.Location) time.Time {
	shown := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
	if at := instants(shown, in); len(at) > 0 {
		return at[0]
	}
	_, before := shown.Add(-oneDay).In(in).Zone()
	start, _ := shown.Add(-time.Duration(before) * time.Second).In(in).ZoneBounds()
	return start
}

const oneDay = 24 * time.Hour

// instants returns the instants, none or one or two, at which the clocks of a place show what shown is
// in UTC.
func instants(shown time.Time, in *time.Location) (at []time.Time) {
	for _, around := range []time.Duration{-oneDay, oneDay} { // before a change, and after it
		_, offset := shown.Add(around).In(in).Zone()
		i := shown.Add(-time.Duration(offset) * time.Second).In(in)
		if _, there := i.Zone(); there == offset && !slices.ContainsFunc(at, i.Equal) {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}
