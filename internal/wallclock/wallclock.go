package wallclock

import "time"

// At returns what the clocks of a zone show at an instant, written as an instant of UTC.
func At(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// First returns the first instant at which the clocks of a zone show what [At] returns, or have jumped over it (K4).
func First(wall time.Time, zone *time.Location) time.Time {
	for t := wall.Add(-48 * time.Hour).In(zone); ; { // no zone is that far from UTC
		_, offset := t.Zone()
		start, end := t.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if at.Before(start) {
			return start.UTC()
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end
	}
}
