package adaptertest

import (
	"html"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// defect is one way for a store to be wrong, and the cases of the kit that find it.
type defect struct {
	name  string
	needs string // LAW/what is broken of it; if cases have names that begin so, they find it
	do    func(b *broken)
}

// folds reduces a name to a form in which lookalikes are the same.
type fold struct {
	name string
	of   func(s string) string
}

var folds = []fold{
	{"case", strings.ToLower},
	{"spaces", strings.TrimSpace},
	{"accents", strings.NewReplacer("é", "e\u0301", "\ufb01", "fi", "ß", "ss", "ı", "i").Replace},
	{"separators", strings.NewReplacer("/", "", ":", "", "|", "", ".", "", `\`, "").Replace},
	{"patterns", strings.NewReplacer("%", "", "_", "", "*", "", "?", "").Replace},
	{"quotes", strings.NewReplacer("'", "", `"`, "", ";", "").Replace},
	{"percent-encoding", strings.NewReplacer("%61", "a").Replace},
	{"invisible characters", strings.NewReplacer("\u200b", "").Replace},
	{"prefixes", func(s string) string { return s[:1] }},
}

// readDefects has every defect of a read once for each way to read.
func readDefects() []defect {
	var all []defect
	add := func(name, needs string, do func(b *broken)) { all = append(all, defect{name, needs, do}) }
	for _, r := range readers {
		way := r.name
		leak := func(name, needs string, same func(want, have driver.Scope) bool) {
			add(way+" "+name, "CTI-1/"+needs, func(b *broken) {
				b.from[way] = func(want driver.Scope) []driver.Scope {
					others := b.known(func(have driver.Scope) bool { return have != want && same(want, have) })
					return append([]driver.Scope{want}, others...)
				}
			})
		}
		leak("does not look at the tenant", "foreign-", func(want, have driver.Scope) bool { return want.Ref == have.Ref })
		leak("does not look at the ref", "foreign-", func(want, have driver.Scope) bool { return want.Tenant == have.Tenant })
		for _, f := range folds {
			leak("folds "+f.name+" of tenants", "names-tenant", func(want, have driver.Scope) bool {
				return want.Ref == have.Ref && f.of(want.Tenant) == f.of(have.Tenant)
			})
			leak("folds "+f.name+" of refs", "names-ref", func(want, have driver.Scope) bool {
				return want.Tenant == have.Tenant && f.of(want.Ref) == f.of(have.Ref)
			})
		}
		all = append(all, expiryDefects(way)...)
		all = append(all, showDefects(way)...)
		if !strings.HasPrefix(r.name, "get") {
			all = append(all, orderDefects(way)...)
		}
	}
	return all
}

func expiryDefects(way string) []defect {
	judge := func(name, needs string, f func(b *broken) func(at time.Time) time.Time) defect {
		return defect{way + " " + name, "TTL/" + needs + "-" + way, func(b *broken) { b.instant[way] = f(b) }}
	}
	shift := func(d time.Duration) func(b *broken) func(time.Time) time.Time {
		return func(*broken) func(time.Time) time.Time {
			return func(at time.Time) time.Time {
				if at.IsZero() {
					return at
				}
				return at.Add(d)
			}
		}
	}
	return []defect{
		judge("shows an entry at its expiresAt still", "expired", shift(-time.Millisecond)),
		judge("hides an entry a millisecond early", "expired", shift(time.Millisecond)),
		judge("judges expiry by the second", "expired", func(*broken) func(time.Time) time.Time {
			return func(at time.Time) time.Time { return at.Truncate(time.Second) }
		}),
		judge("waits for a sweep", "expired", func(*broken) func(time.Time) time.Time {
			return func(time.Time) time.Time { return time.Time{} }
		}),
		judge("looks at its own clock", "no-clock", func(*broken) func(time.Time) time.Time {
			return func(at time.Time) time.Time {
				if at.IsZero() {
					return at
				}
				return time.Now()
			}
		}),
		judge("sweeps for good", "earlier-instant", func(*broken) func(time.Time) time.Time {
			var latest time.Time
			return func(at time.Time) time.Time {
				if at.After(latest) {
					latest = at
				}
				return latest
			}
		}),
		{way + " takes no expiresAt for one in a hundred years", "TTL/never-" + way, func(b *broken) {
			b.show[way] = func(_ driver.Scope, at time.Time, found []driver.Entry) []driver.Entry {
				return slices.DeleteFunc(found, func(e driver.Entry) bool {
					return e.ExpiresAt.IsZero() && at.After(e.CreatedAt.AddDate(100, 0, 0))
				})
			}
		}},
	}
}

// showDefects are about what a read makes of what it found.
func showDefects(way string) []defect {
	each := func(name, needs string, change func(e *driver.Entry)) defect {
		return defect{way + " " + name, needs + "-" + way, func(b *broken) {
			b.show[way] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				for i := range found {
					change(&found[i])
				}
				return found
			}
		}}
	}
	return []defect{
		each("escapes markup", "SR-1/marker", func(e *driver.Entry) { e.Content = html.EscapeString(e.Content) }),
		each("drops markers from tags", "SR-1/marker", func(e *driver.Entry) {
			e.Tags = slices.DeleteFunc(slices.Clone(e.Tags), func(t string) bool { return strings.HasPrefix(t, "[REDACTED:") })
		}),
		each("shortens markers", "SR-1/marker", func(e *driver.Entry) {
			e.Content = strings.ReplaceAll(e.Content, "[REDACTED:billing-key]", "[REDACTED]")
		}),
		each("forgets the run", "RECORD/round-trip", func(e *driver.Entry) { e.RunID = "" }),
		each("forgets the subjects", "RECORD/round-trip", func(e *driver.Entry) { e.Subjects = nil }),
		each("forgets the sources", "RECORD/round-trip", func(e *driver.Entry) { e.Sources = nil }),
		each("sorts the tags", "RECORD/round-trip", func(e *driver.Entry) { e.Tags = slices.Sorted(slices.Values(e.Tags)) }),
		each("gives instants in local time", "RECORD/round-trip", func(e *driver.Entry) {
			e.CreatedAt = e.CreatedAt.In(time.FixedZone("", 3600))
		}),
		{way + " shows what it showed before, deleted or not", "RECORD/deleted-" + way, func(b *broken) {
			b.show[way] = func(s driver.Scope, at time.Time, found []driver.Entry) []driver.Entry {
				return append(found, b.others(s, found, func(r driver.Record) bool { return r.State == driver.Deleted && !r.Erased })...)
			}
		}},
		{way + " answers from a cache that no write renews", "RECORD/written-" + way, func(b *broken) {
			var cache memo[driver.Scope, []driver.Entry]
			b.show[way] = func(s driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				if old, known := cache.find(s); known && len(old) > 0 {
					return old
				}
				cache.set(s, found)
				return found
			}
		}},
		{way + " has an index that erasing does not reach", "FORGET/erased-" + way, func(b *broken) {
			b.show[way] = func(s driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				return append(found, b.others(s, found, func(r driver.Record) bool { return r.Erased })...)
			}
		}},
	}
}

func orderDefects(way string) []defect {
	sorted := func(name, needs string, before func(a, b driver.Entry) int) defect {
		return defect{way + " " + name, "ORDER/" + needs + "-" + way, func(b *broken) {
			b.show[way] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				slices.SortStableFunc(found, before)
				return found
			}
		}}
	}
	byTime := func(a, b driver.Entry) int { return b.CreatedAt.Compare(a.CreatedAt) }
	return []defect{
		sorted("gives the oldest first", "newest-first", func(a, b driver.Entry) int { return newestFirst(b, a) }),
		sorted("goes by id alone", "newest-first", func(a, b driver.Entry) int { return strings.Compare(b.ID, a.ID) }),
		sorted("orders to the second", "newest-first", func(a, b driver.Entry) int {
			if c := b.CreatedAt.Truncate(time.Second).Compare(a.CreatedAt.Truncate(time.Second)); c != 0 {
				return c
			}
			return strings.Compare(b.ID, a.ID)
		}),
		sorted("breaks ties upwards", "ties", func(a, b driver.Entry) int {
			if c := byTime(a, b); c != 0 {
				return c
			}
			return strings.Compare(a.ID, b.ID)
		}),
		sorted("breaks ties without regard to case", "ties", func(a, b driver.Entry) int {
			if c := byTime(a, b); c != 0 {
				return c
			}
			return strings.Compare(strings.ToLower(b.ID), strings.ToLower(a.ID))
		}),
	}
}
