// Package dates reads intentions in free English text, and schedules in the notation of cron, for the
// engine of package commitment.
//
//	engine, err := commitment.New(bank, commitment.Config{Inferrer: dates.Inferrer{}, Schedule: dates.Cron, …})
//
// An [Inferrer] reads the tags of an entry as [commitment.Tagged] does. Of an entry that is tagged
// "intent" and has no tag with a time it reads the text. The dates of the text are read by
// go-dateparser; whether the text asks its reader for something at that time is decided here.
package dates
