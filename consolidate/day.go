package consolidate

import (
	"github.com/openwop/agentmemory/internal/facts"
	"github.com/openwop/agentmemory/memory"
)

// dayOf names the days on which the text of an entry says what it says: "" if every day.
func dayOf(e *memory.Entry) string { return facts.ReadWhen(e.Content).Day(e.CreatedAt) }

// dateOf is the date in UTC on which an entry was written.
func dateOf(e *memory.Entry) string { return e.CreatedAt.UTC().Format(facts.ISODay) }

// areOfOneDay reports whether one text can say what all entries say: all were written on one date, or the days that their
// texts depend on are the same.
func areOfOneDay(group []memory.Entry) bool {
	sameDate, sameDay := true, true
	when := map[string]facts.When{} // of each text once
	for i := range group {
		e := &group[i]
		if _, known := when[e.Content]; !known {
			when[e.Content] = facts.ReadWhen(e.Content)
		}
		day := func(of *memory.Entry) string { return when[of.Content].Day(of.CreatedAt) }
		sameDate = sameDate && dateOf(e) == dateOf(&group[0])
		sameDay = sameDay && day(e) == day(&group[0])
	}
	return sameDate || sameDay
}
