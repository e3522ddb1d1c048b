// Package dates reads schedules in the notation of cron.
package dates
