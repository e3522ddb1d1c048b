// Package wallclock reads what the clocks of a time zone show, across their changes. The tests of module bridges/dates
// prove it, since those of this module know no time zones.
package wallclock
