package commitment

import "time"

// wall returns the instant at which the clocks of a place show a time of day.
//
// Where they show it twice, because they were put back, it is the first time. Where
// they never show it, because they were put forward, it is the instant of the change:
// a note for half past two is neither lost nor early by an hour. So every time of day
// has one instant on every day, and later ones never have earlier instants.
func wall(year int, month time.Month, day, hour, minute int, in *time.Location) time.Time {
	t := time.Date(year, month, day, hour, minute, 0, 0, in)
	shown := time.Date(year, month, day, hour, minute, 0, 0, time.UTC) // also puts overflow right
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		_, before := start.Add(-time.Nanosecond).Zone()
		first := shown.Add(-time.Duration(before) * time.Second)
		if first.Before(start) { // the clocks showed it before they were put back
			return first.In(in)
		}
	}
	if skipped(shown, start, in) {
		return start
	}
	if skipped(shown, end, in) {
		return end
	}
	return t
}

// skipped reports whether the clocks jumped over what they should show at the change.
func skipped(shown, change time.Time, in *time.Location) bool {
	if change.IsZero() {
		return false
	}
	_, before := change.Add(-time.Nanosecond).In(in).Zone()
	_, after := change.In(in).Zone()
	from := change.Add(time.Duration(before) * time.Second)
	to := change.Add(time.Duration(after) * time.Second)
	return !shown.Before(from) && shown.Before(to)
}
