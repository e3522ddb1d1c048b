package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func putDefects() []defect {
	text := func(name, needs string, f func(s string) string) defect {
		return defect{name, needs, changed(func(e driver.Entry) driver.Entry { e.Content = f(e.Content); return e })}
	}
	tags := func(name string, f func(tags []string) []string) defect {
		return defect{name, "RECORD/tags", changed(func(e driver.Entry) driver.Entry { e.Tags = f(e.Tags); return e })}
	}
	all := []defect{
		text("trims content", "RECORD/texts", strings.TrimSpace),
		text("normalises line ends", "RECORD/texts", strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace),
		text("normalises accents", "RECORD/texts", strings.NewReplacer("e\u0301", "é", "\u212b", "Å").Replace),
		text("drops control characters", "RECORD/texts", strings.NewReplacer("\x01", "", "\x1f", "", "\x7f", "").Replace),
		text("doubles quotes", "RECORD/texts", strings.NewReplacer("'", "''").Replace),
		text("stores nothing for an empty text", "RECORD/texts", func(s string) string {
			if s == "" {
				return "null"
			}
			return s
		}),
		text("cuts content at 64,000 bytes", "SIZES/", func(s string) string { return s[:min(len(s), 64000)] }),
		tags("joins tags by a comma", func(tags []string) []string {
			if len(tags) == 0 {
				return nil
			}
			return strings.Split(strings.Join(tags, ","), ",")
		}),
		tags("keeps tags as a set", func(tags []string) []string { return slices.Compact(slices.Clone(tags)) }),
		tags("trims tags", func(tags []string) []string {
			out := slices.Clone(tags)
			for i := range out {
				out[i] = strings.TrimSpace(out[i])
			}
			return out
		}),
		{"joins subjects by a comma", "RECORD/subjects-and-sources", changed(func(e driver.Entry) driver.Entry {
			if len(e.Subjects) > 0 {
				e.Subjects = strings.Split(strings.Join(e.Subjects, ","), ",")
			}
			return e
		})},
		{"keeps sixteen tags", "SIZES/", changed(func(e driver.Entry) driver.Entry {
			e.Tags = e.Tags[:min(16, len(e.Tags))]
			return e
		})},
		{"has a column of 255 bytes for ids", "SIZES/", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if len(e.ID) > 255 {
					return errors.New("value too long")
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"compares ids without regard to case", "RECORD/in-order-of-ids-lookup", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				for _, o := range b.kept(s) {
					if o.ID != e.ID && strings.EqualFold(o.ID, e.ID) {
						return driver.ErrConflict
					}
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"looks and inserts in two steps", "RECORD/racing-puts", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				_, err := b.in.find(ctx, s, e.ID)
				if errors.Is(err, driver.ErrNotFound) {
					for range 100 { // let the others look too
						runtime.Gosched()
					}
					b.in.Put(ctx, s, e)
					return nil
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"loses a write that meets another", "RECORD/racing-writers", func(b *broken) {
			var mu sync.Mutex
			inside := 0
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				mu.Lock()
				inside++
				alone := inside == 1
				mu.Unlock()
				defer func() { mu.Lock(); inside--; mu.Unlock() }()
				for range 20 {
					runtime.Gosched()
				}
				if !alone {
					return nil
				}
				return b.in.Put(ctx, s, e)
			}
		}},
	}
	return append(all, idempotenceDefects()...)
}

// onConflict lets a put or a batch answer something else than a conflict.
func onConflict(f func(b *broken, s driver.Scope, e driver.Entry, held driver.Record) error) func(b *broken) {
	return func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			err := b.in.Put(ctx, s, e)
			if held, missing := b.in.find(ctx, s, e.ID); errors.Is(err, driver.ErrConflict) && missing == nil {
				return f(b, s, e, held)
			}
			return err
		}
	}
}

func idempotenceDefects() []defect {
	state := func(name, needs string, swallow func(held driver.Record) bool) defect {
		return defect{name, "IDEMPOTENCE/" + needs, onConflict(func(_ *broken, _ driver.Scope, _ driver.Entry, held driver.Record) error {
			if swallow(held) {
				return nil
			}
			return driver.ErrConflict
		})}
	}
	refuse := func(name, needs string, when func(held driver.Record, e driver.Entry) bool) defect {
		return defect{name, "IDEMPOTENCE/" + needs, func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if held, err := b.in.find(ctx, s, e.ID); err == nil && when(held, e) {
					return driver.ErrConflict
				}
				return b.in.Put(ctx, s, e)
			}
		}}
	}
	// revive shows a second life of an entry in lists.
	revive := func(name, needs string, kind func(r driver.Record) bool) defect {
		return defect{name, "IDEMPOTENCE/" + needs, func(b *broken) {
			var again memo[string, bool]
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if rec, err := b.in.find(ctx, s, e.ID); err == nil && kind(rec) {
					again.set(e.ID, true)
				}
				return b.in.Put(ctx, s, e)
			}
			b.show["list"] = func(s driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				return append(found, b.others(s, found, func(r driver.Record) bool { return again.get(r.Entry.ID) && kind(r) })...)
			}
		}}
	}
	deleted := func(r driver.Record) bool { return r.State == driver.Deleted }
	all := []defect{
		refuse("refuses the same entry again", "put-again", func(driver.Record, driver.Entry) bool { return true }),
		{"lists an entry that was put twice twice", "IDEMPOTENCE/put-again", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if _, err := b.in.find(ctx, s, e.ID); err == nil {
					b.show["list"] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry { return append(found, e) }
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		refuse("tells nil lists from empty ones", "put-again-lists", func(held driver.Record, e driver.Entry) bool {
			a, _ := json.Marshal(held.Entry.Subjects)
			b, _ := json.Marshal(e.Subjects)
			return string(a) != string(b)
		}),
		refuse("refuses the same entry after a delete", "put-again-deleted", func(held driver.Record, _ driver.Entry) bool { return deleted(held) }),
		revive("revives a deleted entry", "put-again-deleted", deleted),
		revive("revives an expired entry", "put-again-expired", func(r driver.Record) bool { return !r.Entry.ExpiresAt.IsZero() }),
		revive("revives a merged entry", "put-again-merged", func(r driver.Record) bool { return r.State == driver.Merged }),
		state("lets a deleted id be used again", "conflict-deleted", deleted),
		state("lets an expired id be used again", "conflict-expired", func(r driver.Record) bool { return !r.Entry.ExpiresAt.IsZero() }),
		state("lets an erased id be used again", "put-again-erased", func(r driver.Record) bool { return r.Erased }),
	}
	for i, f := range otherEntries {
		all = append(all, defect{fmt.Sprint("does not compare field ", i), "IDEMPOTENCE/conflict",
			onConflict(func(_ *broken, _ driver.Scope, e driver.Entry, held driver.Record) error {
				changed := held.Entry
				f(&changed)
				if differences(&changed, &e) == "" {
					return nil
				}
				return driver.ErrConflict
			})})
		all = append(all, defect{fmt.Sprint("overwrites field ", i), "IDEMPOTENCE/conflict",
			onConflict(func(b *broken, _ driver.Scope, e driver.Entry, held driver.Record) error {
				changed := held.Entry
				f(&changed)
				if differences(&changed, &e) == "" {
					b.show["get"] = func(driver.Scope, time.Time, []driver.Entry) []driver.Entry { return []driver.Entry{e} }
				}
				return driver.ErrConflict
			})})
	}
	return all
}

func deleteDefects() []defect {
	return []defect{
		{"reports true for whatever is deleted", "RECORD/delete-once", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				_, err := b.in.Delete(ctx, s, id, at)
				return true, err
			}
		}},
		{"fails to delete what is not there", "RECORD/delete-once", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				if !ok && err == nil {
					err = driver.ErrNotFound
				}
				return ok, err
			}
		}},
		{"has a thousand tombstones", "SIZES/many", func(b *broken) {
			n := 0
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				if n++; n > 1000 {
					return true, nil
				}
				return b.in.Delete(ctx, s, id, at)
			}
		}},
		{"looks and deletes in two steps", "RECORD/racing-deletes", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				_, err := b.in.Get(ctx, s, id, at)
				for range 100 {
					runtime.Gosched()
				}
				b.in.Delete(ctx, s, id, at)
				return err == nil, ctx.Err()
			}
		}},
		{"forgets what it deletes", "RECORD/deleted-record", func(b *broken) {
			b.lookup = func(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
				rec, err := b.in.find(ctx, s, id)
				if err == nil && rec.State == driver.Deleted {
					return driver.Record{}, driver.ErrNotFound
				}
				return rec, err
			}
		}},
	}
}

// otherEntries are the ways in which an entry can be another one under the same id.
var otherEntries = []func(e *driver.Entry){
	func(e *driver.Entry) { e.Content += " " },
	func(e *driver.Entry) { e.Tags = slices.Sorted(slices.Values(e.Tags)) },
	func(e *driver.Entry) { e.Tags = append(slices.Clone(e.Tags), e.Tags[:min(1, len(e.Tags))]...) },
	func(e *driver.Entry) { e.CreatedAt = e.CreatedAt.Add(time.Millisecond) },
	func(e *driver.Entry) { e.ExpiresAt = e.ExpiresAt.Add(time.Millisecond) },
	func(e *driver.Entry) { e.ExpiresAt = time.Time{} },
	func(e *driver.Entry) { e.RunID += "x" },
	func(e *driver.Entry) { e.Subjects = e.Subjects[:min(1, len(e.Subjects))] },
	func(e *driver.Entry) { e.Sources = nil },
}
