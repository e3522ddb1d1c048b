package consolidate

import (
	"slices"

	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
)

// dayOf names the days on which the text of an entry says what it says: "" if every day.
func dayOf(e *memory.Entry) string { return facts.ReadWhen(e.Content).Day(e.CreatedAt) }

// dateOf is the date in UTC on which an entry was written.
func dateOf(e *memory.Entry) string { return e.CreatedAt.UTC().Format(facts.ISODay) }

// areOfOneDay reports whether one text can say what all entries say: all were written on one date, or their texts
// depend on the same days.
func areOfOneDay(group []memory.Entry) bool {
	first := &group[0]
	if !slices.ContainsFunc(group, func(e memory.Entry) bool { return dateOf(&e) != dateOf(first) }) {
		return true
	}
	when := map[string]facts.When{} // by text, of which many may be equal
	day := func(e *memory.Entry) string {
		if _, known := when[e.Content]; !known {
			when[e.Content] = facts.ReadWhen(e.Content)
		}
		return when[e.Content].Day(e.CreatedAt)
	}
	return !slices.ContainsFunc(group, func(e memory.Entry) bool { return day(&e) != day(first) })
}
