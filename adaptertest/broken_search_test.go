package adaptertest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func searchDefects() []defect {
	asks := func(name, needs string, f func(q *driver.Search), keep func(q driver.Search, e driver.Entry) bool) defect {
		return defect{name, needs, func(b *broken) {
			b.search = func(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
				wide := q
				f(&wide)
				out, err := b.in.Search(ctx, s, wide)
				return slices.DeleteFunc(out, func(e driver.Entry) bool { return keep != nil && !keep(q, e) }), err
			}
		}}
	}
	without := func(q *driver.Search) { q.Text = "" }
	return []defect{
		asks("looks for text with regard to case", "SEARCH/text", without, func(q driver.Search, e driver.Entry) bool { return strings.Contains(e.Content, q.Text) }),
		asks("takes text for a pattern", "SEARCH/text", func(q *driver.Search) { q.Text = strings.Trim(q.Text, "%*?") }, nil),
		asks("takes an underscore for any character", "SEARCH/text", without, func(q driver.Search, e driver.Entry) bool {
			return strings.Contains(strings.ToLower(strings.ReplaceAll(e.Content, "x", "_")), strings.ToLower(q.Text))
		}),
		asks("looks for words in any order", "SEARCH/text", without, func(q driver.Search, e driver.Entry) bool {
			for _, word := range strings.Fields(q.Text) {
				if !strings.Contains(strings.ToLower(e.Content), strings.ToLower(word)) {
					return false
				}
			}
			return true
		}),
		asks("folds the case of ASCII only", "SEARCH/text", without, func(q driver.Search, e driver.Entry) bool {
			lower := strings.NewReplacer("A", "a", "B", "b").Replace
			return strings.Contains(lower(e.Content), lower(q.Text))
		}),
		asks("finds any of the tags", "RECORD/tags", func(q *driver.Search) { q.Tags = nil }, func(q driver.Search, e driver.Entry) bool {
			return len(q.Tags) == 0 || slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(e.Tags, t) })
		}),
		asks("looks at the first tag of a search only", "MODEL/short-sequences", func(q *driver.Search) { q.Tags = q.Tags[:min(1, len(q.Tags))] }, nil),
		asks("counts Until in", "SEARCH/oracle", func(q *driver.Search) {
			if !q.Until.IsZero() {
				q.Until = q.Until.Add(time.Millisecond)
			}
		}, nil),
		asks("counts Since out", "SEARCH/oracle", func(q *driver.Search) {
			if !q.Since.IsZero() {
				q.Since = q.Since.Add(time.Millisecond)
			}
		}, nil),
		asks("does not look at the tags where there is a text", "SEARCH/oracle", func(q *driver.Search) {
			if q.Text != "" {
				q.Tags = nil
			}
		}, nil),
		asks("does not look at Since where there is a tag", "SEARCH/oracle", func(q *driver.Search) {
			if len(q.Tags) > 0 {
				q.Since = time.Time{}
			}
		}, nil),
		asks("finds more than the limit", "ORDER/newest-first-list", func(q *driver.Search) { q.Limit = 0 }, nil),
		{"keeps the oldest at a limit", "ORDER/newest-first-list", func(b *broken) {
			b.search = func(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
				limit := q.Limit
				q.Limit = 0
				out, err := b.in.Search(ctx, s, q)
				return out[max(0, len(out)-limit):], err
			}
		}},
	}
}

func scanDefects() []defect {
	asks := func(name string, f func(q *driver.Query)) defect {
		return defect{name, "ORDER/scan-query", func(b *broken) {
			b.query["scan"] = func(_ driver.Scope, q driver.Query) driver.Query { f(&q); return q }
		}}
	}
	return []defect{
		asks("scans without a limit", func(q *driver.Query) { q.Limit = 0 }),
		asks("scans without a tag", func(q *driver.Query) { q.Tag = "" }),
		asks("scans from the start", func(q *driver.Query) { q.After = driver.Cursor{} }),
		{"scans a copy that erasing does not reach", "FORGET/scan-under-way", func(b *broken) {
			b.scan = func(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
				return func(yield func(driver.Entry, error) bool) {
					all, err := b.in.List(ctx, s, q)
					if err != nil {
						yield(driver.Entry{}, err)
					}
					for _, e := range all {
						if !yield(e, nil) {
							return
						}
					}
				}
			}
		}},
		{"scans live memory page by page", "FORGET/erased-get", func(b *broken) {
			b.scan = func(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
				return func(yield func(driver.Entry, error) bool) {
					q.Limit = 50
					for {
						page, err := b.in.List(ctx, s, q)
						if err != nil {
							yield(driver.Entry{}, err)
						}
						for _, e := range page {
							if !yield(e, nil) {
								return
							}
						}
						if len(page) < q.Limit {
							return
						}
						q.After = page[len(page)-1].Cursor()
					}
				}
			}
		}},
		{"holds a lock once a scan was left early", "MODEL/loop-scan", func(b *broken) {
			stuck := false
			b.scan = func(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
				return func(yield func(driver.Entry, error) bool) {
					for e, err := range b.in.Scan(ctx, s, q) {
						if !yield(e, err) {
							stuck = true
							return
						}
					}
				}
			}
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if stuck {
					return errLocked
				}
				return b.in.Put(ctx, s, e)
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
	}
}

func pagesAtDefects() []defect {
	asks := func(name, needs string, f func(q *driver.Query)) defect {
		return defect{name, "ORDER/" + needs, func(b *broken) {
			b.query["list-at"] = func(_ driver.Scope, q driver.Query) driver.Query { f(&q); return q }
		}}
	}
	return []defect{
		asks("has cursors of instants only, in versions", "", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID = "\x00"
			}
		}),
		asks("repeats what a cursor stands on, in versions", "", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID += "\x00"
			}
		}),
		asks("does not look at the tag in versions", "", func(q *driver.Query) { q.Tag = "" }),
	}
}
