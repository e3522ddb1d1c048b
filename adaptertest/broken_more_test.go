package adaptertest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// otherDefects are about searches, scans, durability, cancelled contexts, and what
// only many steps bring about.
func otherDefects() []defect {
	return slices.Concat(searchDefects(), scanDefects(), pagesAtDefects(), durableDefects(), cancelDefects(), modelDefects())
}

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
		asks("finds any of the tags", "SEARCH/tags", func(q *driver.Search) { q.Tags = nil }, func(q driver.Search, e driver.Entry) bool {
			return len(q.Tags) == 0 || slices.ContainsFunc(q.Tags, func(t string) bool { return slices.Contains(e.Tags, t) })
		}),
		asks("looks at the first tag of a search only", "SEARCH/tags", func(q *driver.Search) { q.Tags = q.Tags[:min(1, len(q.Tags))] }, nil),
		asks("counts Until in", "SEARCH/period", func(q *driver.Search) {
			if !q.Until.IsZero() {
				q.Until = q.Until.Add(time.Millisecond)
			}
		}, nil),
		asks("counts Since out", "SEARCH/period", func(q *driver.Search) {
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
		asks("finds more than the limit", "ORDER/search-limit", func(q *driver.Search) { q.Limit = 0 }, nil),
		{"keeps the oldest at a limit", "ORDER/search-limit", func(b *broken) {
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
		{"scans live memory page by page", "FORGET/scan-fixed", func(b *broken) {
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
						q.After = driver.CursorOf(&page[len(page)-1])
					}
				}
			}
		}},
		{"holds a lock once a scan was left early", "FORGET/scan-stops", func(b *broken) {
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
		asks("has cursors of instants only, in versions", "pages-at", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID = "\x00"
			}
		}),
		asks("repeats what a cursor stands on, in versions", "pages-at", func(q *driver.Query) {
			if !q.After.IsZero() {
				q.After.ID += "\x00"
			}
		}),
		asks("does not look at the tag in versions", "tag-at", func(q *driver.Query) { q.Tag = "" }),
	}
}

// durableDefects show only when the data is opened once more.
func durableDefects() []defect {
	reopened := func(name, needs string, f func(b *broken)) defect {
		return defect{name, needs, func(b *broken) {
			if b.handle > 1 || b.handle == 1 && !strings.HasPrefix(needs, "DURABLE/shared") {
				f(b)
			}
		}}
	}
	second := func(name, needs string, f func(b *broken)) defect {
		return defect{name, needs, func(b *broken) {
			if b.handle == 1 {
				f(b)
			}
		}}
	}
	return []defect{
		reopened("keeps entries in memory", "DURABLE/entries", func(b *broken) {
			b.list = func(ctx context.Context, _ driver.Scope, _ driver.Query) ([]driver.Entry, error) {
				return nil, ctx.Err()
			}
		}),
		reopened("does not keep subjects", "DURABLE/entries", func(b *broken) {
			b.show["get"] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				for i := range found {
					found[i].Subjects = nil
				}
				return found
			}
		}),
		reopened("keeps deletions in memory", "DURABLE/deletions", func(b *broken) {
			b.show["list"] = func(s driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				return append(found, b.others(s, found, func(r driver.Record) bool { return r.State == driver.Deleted })...)
			}
		}),
		reopened("keeps used ids in memory", "DURABLE/ids", onConflict(func(_ *broken, _ driver.Scope, _ driver.Entry, held driver.Record) error {
			if held.State == driver.Deleted {
				return nil
			}
			return driver.ErrConflict
		})),
		reopened("keeps successors in memory", "DURABLE/records", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Superseded {
				r.For = ""
			}
		})),
		reopened("keeps stubs in memory", "DURABLE/records", func(b *broken) {
			b.lookup = func(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
				rec, err := b.in.find(ctx, s, id)
				if err == nil && rec.Erased {
					return driver.Record{}, driver.ErrNotFound
				}
				return rec, err
			}
		}),
		reopened("keeps documents in memory", "DURABLE/documents", func(b *broken) {
			b.documents = func(ctx context.Context, _ driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return sequence[driver.Document](nil, ctx.Err())
			}
		}),
		reopened("begins with the first revision when it is opened again", "DURABLE/documents", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				for i := range made.Revs {
					made.Revs[i] = min(made.Revs[i], 1)
				}
				return made, err
			}
		}),
		reopened("keeps what is due in memory", "DURABLE/due", func(b *broken) {
			b.due = func(ctx context.Context, _ string, _ time.Time, _ int) ([]driver.Document, error) {
				return nil, ctx.Err()
			}
		}),
		reopened("keeps what has changed in memory", "DURABLE/changes", func(b *broken) {
			b.changes = func(ctx context.Context, _ driver.Scope, _, _ driver.Version) (driver.ChangeSet, error) {
				return driver.ChangeSet{}, ctx.Err()
			}
		}),
		second("answers for documents from a cache of its own", "DURABLE/shared-documents", func(b *broken) {
			var cache memo[string, []driver.Document]
			found(func(_ *broken, q driver.DocumentQuery, docs []driver.Document) []driver.Document {
				if old, known := cache.find(describeDocumentQuery(&q)); known && len(old) > 0 {
					return old
				}
				cache.set(describeDocumentQuery(&q), docs)
				return docs
			})(b)
		}),
		reopened("keeps events in memory", "DURABLE/events", func(b *broken) {
			b.undelivered = func(ctx context.Context, _ driver.OutboxQuery) ([]events.Record, error) { return nil, ctx.Err() }
		}),
		reopened("orders reopened events by id", "DURABLE/events", func(b *broken) {
			b.undelivered = func(ctx context.Context, q driver.OutboxQuery) ([]events.Record, error) {
				recs, err := b.in.outbox(ctx, q)
				slices.SortFunc(recs, func(a, b events.Record) int { return strings.Compare(a.ID, b.ID) })
				return recs, err
			}
		}),
		reopened("is another incarnation when it is opened again", "DURABLE/versions", func(b *broken) {
			b.listAt = func(context.Context, driver.Scope, driver.Version, driver.Query) ([]driver.Entry, error) {
				return nil, driver.ErrSnapshotUnavailable
			}
		}),
		reopened("keeps scars in memory", "DURABLE/versions", func(b *broken) {
			b.intact = func(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
				_, err := b.in.Intact(ctx, s, v)
				return err == nil, err
			}
		}),
		reopened("erases in memory only", "SR-1/erased-reopened", recorded(func(b *broken, r *driver.Record) {
			if r.Erased {
				r.Entry.Content = "content-" + canary
			}
		})),
		second("answers from a cache of its own", "DURABLE/shared-writes", func(b *broken) {
			var cache memo[driver.Scope, []driver.Entry]
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				if old, known := cache.find(s); known {
					return old, nil
				}
				out, err := b.in.List(ctx, s, q)
				cache.set(s, out)
				return out, err
			}
		}),
		second("locks ids for itself only", "DURABLE/shared-ids", onConflict(func(*broken, driver.Scope, driver.Entry, driver.Record) error { return nil })),
		second("locks documents for itself only", "DURABLE/shared-swaps", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				if err != nil && len(m.Documents) > 0 {
					return driver.Applied{Revs: make([]int64, len(m.Documents))}, nil
				}
				return made, err
			}
		}),
		second("holds only views of its own", "DURABLE/shared-versions", func(b *broken) {
			b.listAt = func(ctx context.Context, s driver.Scope, _ driver.Version, q driver.Query) ([]driver.Entry, error) {
				return b.in.List(ctx, s, q)
			}
		}),
	}
}

// cancelDefects are calls that do not look at their context, and such that stop
// half way.
func cancelDefects() []defect {
	bg := context.Background()
	deaf := map[string]func(b *broken){
		"get": func(b *broken) {
			b.get = func(_ context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
				return b.in.Get(bg, s, id, at)
			}
		},
		"list": func(b *broken) {
			b.list = func(_ context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				return b.in.List(bg, s, q)
			}
		},
		"put": func(b *broken) {
			b.put = func(_ context.Context, s driver.Scope, e driver.Entry) error { return b.in.Put(bg, s, e) }
		},
		"delete": func(b *broken) {
			b.del = func(_ context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				return b.in.Delete(bg, s, id, at)
			}
		},
		"apply": func(b *broken) {
			b.apply = func(_ context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				return b.in.Apply(bg, tenant, m)
			}
		},
		"lookup": func(b *broken) {
			b.lookup = func(_ context.Context, s driver.Scope, id string) (driver.Record, error) {
				return b.in.find(bg, s, id)
			}
		},
		"history": func(b *broken) {
			b.history = func(_ context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return b.in.History(bg, tenant, q)
			}
		},
		"documents": func(b *broken) {
			b.documents = func(_ context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return b.in.Documents(bg, q)
			}
		},
		"waiting": func(b *broken) {
			b.waiting = func(_ context.Context, tenant string, limit int) (int, error) { return b.in.Waiting(bg, tenant, limit) }
		},
		"due": func(b *broken) {
			b.due = func(_ context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
				return b.in.Due(bg, kind, at, limit)
			}
		},
		"changes": func(b *broken) {
			b.changes = func(_ context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				return b.in.Changes(bg, s, from, to)
			}
		},
		"undelivered": func(b *broken) {
			b.undelivered = func(_ context.Context, q driver.OutboxQuery) ([]events.Record, error) { return b.in.outbox(bg, q) }
		},
		"delivered": func(b *broken) {
			b.delivered = func(_ context.Context, recs []events.Record) error { return b.in.Delivered(bg, recs) }
		},
		"version": func(b *broken) {
			b.version = func(_ context.Context, tenant string) (driver.Version, error) { return b.in.Version(bg, tenant) }
		},
		"list-at": func(b *broken) {
			b.listAt = func(_ context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				return b.in.ListAt(bg, s, v, q)
			}
		},
		"get-at": func(b *broken) {
			b.getAt = func(_ context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
				return b.in.getAt(bg, s, v, id, at)
			}
		},
		"intact": func(b *broken) {
			b.intact = func(_ context.Context, s driver.Scope, v driver.Version) (bool, error) {
				return b.in.Intact(bg, s, v)
			}
		},
		"purge": func(b *broken) {
			b.purge = func(_ context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				return b.in.Purge(bg, tenant, v, at)
			}
		},
		"search": func(b *broken) {
			b.search = func(_ context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
				return b.in.Search(bg, s, q)
			}
		},
		"scan": func(b *broken) {
			b.scan = func(_ context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
				return b.in.Scan(bg, s, q)
			}
		},
	}
	var all []defect
	for _, c := range cancellable {
		all = append(all, defect{"does not look at the context in " + c.name, "FAULT/cancelled-" + c.name, deaf[c.name]})
	}
	return append(all,
		defect{"deletes, then looks at the context", "FAULT/cancelled-delete", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, _ := b.in.Delete(bg, s, id, at)
				return ok, ctx.Err()
			}
		}},
		defect{"puts an entry whose tags are cut off when the context ends", "FAULT/cancelled-midway-put", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				if ctx.Err() != nil {
					e.Content = ""
					b.in.Put(bg, s, e)
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		defect{"says deleted when the context ends, and keeps the entry", "FAULT/cancelled-midway-delete", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				if ctx.Err() != nil {
					return true, nil
				}
				return b.in.Delete(ctx, s, id, at)
			}
		}},
		defect{"commits the puts of a mutation first, and stops when the context ends", "FAULT/cancelled-midway-apply", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if err := ctx.Err(); err != nil {
					return driver.Applied{}, err
				}
				if err := ctx.Err(); err != nil {
					b.in.Apply(bg, tenant, driver.Mutation{At: m.At, Put: m.Put})
					return driver.Applied{}, err
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}})
}

// modelDefects take several steps of several kinds to show.
func modelDefects() []defect {
	return []defect{
		{"loses every ninth put after a delete", "MODEL/adapter", func(b *broken) {
			n := 0
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				n++
				return b.in.Delete(ctx, s, id, at)
			}
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				if n%9 == 8 {
					return nil
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"forgets the successor of what was retired for one that expires", "MODEL/transactor", recorded(func(b *broken, r *driver.Record) {
			if r.For != "" && !b.record(r.Scope, r.For).Entry.ExpiresAt.IsZero() {
				r.For = ""
			}
		})},
		{"shows an entry of two lives in its gap", "MODEL/versioned", func(b *broken) {
			var lives memo[driver.Located, int]
			mutated(func(_ *broken, m *driver.Mutation) {
				for _, l := range m.Restore {
					lives.set(l, lives.get(l)+1)
				}
			})(b)
			b.leakIntoViews(func(r driver.Record) bool {
				return lives.get(driver.Located{Scope: r.Scope, ID: r.Entry.ID}) > 0 && r.State != driver.Live && !r.Erased
			}, false)
		}},
	}
}
