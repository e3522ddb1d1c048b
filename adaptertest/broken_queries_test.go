package adaptertest

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// narrowingDefects are about what a query asks for, live and at a version.
func narrowingDefects() []defect {
	var all []defect
	asks := func(name string, f func(q *driver.Query), keep func(q driver.Query, e driver.Entry) bool) {
		for _, way := range []string{"list", "list-at"} {
			all = append(all, defect{name + ", in a " + way, "QUERY/", func(b *broken) {
				read := func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
					wide := q
					if f(&wide); keep != nil {
						wide.Limit = 0
					}
					out, err := b.in.ListAt(ctx, s, v, wide)
					out = slices.DeleteFunc(out, func(e driver.Entry) bool { return keep != nil && !keep(q, e) })
					if q.Limit > 0 && keep != nil {
						out = out[:min(len(out), q.Limit)]
					}
					return out, err
				}
				if way == "list" {
					b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
						return read(ctx, s, "", q)
					}
				} else {
					b.listAt = read
				}
			}})
		}
	}
	asks("finds any of the tags", func(q *driver.Query) { q.Tags = nil }, func(q driver.Query, e driver.Entry) bool {
		return len(q.Tags) == 0 || slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(e.Tags, t) })
	})
	asks("looks at the first tag of a query only", func(q *driver.Query) { q.Tags = q.Tags[:min(1, len(q.Tags))] }, nil)
	asks("does not look at the subject", func(q *driver.Query) { q.Subject = "" }, nil)
	asks("does not look at the subject beside a tag", func(q *driver.Query) {
		if len(q.Tags) > 0 {
			q.Subject = ""
		}
	}, nil)
	asks("looks at the first subject of an entry only", func(q *driver.Query) { q.Subject = "" }, func(q driver.Query, e driver.Entry) bool {
		return q.Subject == "" || len(e.Subjects) > 0 && e.Subjects[0] == q.Subject
	})
	asks("counts Until in", func(q *driver.Query) {
		if !q.Until.IsZero() {
			q.Until = q.Until.Add(time.Millisecond)
		}
	}, nil)
	asks("counts Since out", func(q *driver.Query) {
		if !q.Since.IsZero() {
			q.Since = q.Since.Add(time.Millisecond)
		}
	}, nil)
	asks("does not look at Since where there is a tag", func(q *driver.Query) {
		if len(q.Tags) > 0 {
			q.Since = time.Time{}
		}
	}, nil)
	asks("takes Until for the cursor", func(q *driver.Query) {
		if !q.Until.IsZero() {
			q.After = driver.Cursor{}
		}
	}, nil)
	asks("finds more than the limit beside a tag", func(q *driver.Query) {
		if len(q.Tags) > 0 {
			q.Limit = 0
		}
	}, nil)
	return append(all, []defect{
		{"does not look at ids", "QUERY/", func(b *broken) {
			b.query["list"] = func(_ driver.Scope, q driver.Query) driver.Query { q.IDs = nil; return q }
		}},
		{"lists ids in their own order", "QUERY/", func(b *broken) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.List(ctx, s, q)
				if len(q.IDs) > 0 {
					slices.SortStableFunc(out, func(x, y driver.Entry) int { return slices.Index(q.IDs, x.ID) - slices.Index(q.IDs, y.ID) })
				}
				return out, err
			}
		}},
		{"reads live memory for ids at a version", "VIEW/held-across-delete", func(b *broken) {
			b.getsAt = func(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
				return b.in.List(ctx, s, driver.Query{At: at, IDs: ids})
			}
		}},
		{"loses an open view's entries at a forgetting", "FORGET/view", func(b *broken) {
			forgotten := false
			mutated(func(_ *broken, m *driver.Mutation) { forgotten = forgotten || len(m.Erase) > 0 })(b)
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				if forgotten {
					return nil, ctx.Err()
				}
				return b.in.ListAt(ctx, s, v, q)
			}
		}},
		{"keeps what is forgotten in an open view", "FORGET/view", func(b *broken) {
			b.leakIntoViews(func(r driver.Record) bool { return r.Erased }, false)
		}},
	}...)
}

func pagesAtDefects() []defect {
	asks := func(name, needs string, f func(q *driver.Query)) defect {
		return defect{name, needs, func(b *broken) {
			b.query["list-at"] = func(_ driver.Scope, q driver.Query) driver.Query { f(&q); return q }
		}}
	}
	return []defect{
		asks("has cursors of instants only, in versions", "ORDER/", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID = "\x00"
			}
		}),
		asks("repeats what a cursor stands on, in versions", "ORDER/", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID += "\x00"
			}
		}),
		asks("does not look at the tag in versions", "QUERY/fields", func(q *driver.Query) { q.Tags = nil }),
	}
}
