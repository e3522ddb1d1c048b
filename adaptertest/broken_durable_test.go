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
		reopened("keeps entries in memory", "DURABLE/reopened", func(b *broken) {
			b.list = func(ctx context.Context, _ driver.Scope, _ driver.Query) ([]driver.Entry, error) {
				return nil, ctx.Err()
			}
		}),
		reopened("does not keep subjects", "DURABLE/reopened", func(b *broken) {
			b.show["get"] = func(_ driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				for i := range found {
					found[i].Subjects = nil
				}
				return found
			}
		}),
		reopened("keeps deletions in memory", "DURABLE/reopened", func(b *broken) {
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
		reopened("keeps successors in memory", "DURABLE/reopened", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Superseded {
				r.For = ""
			}
		})),
		reopened("keeps stubs in memory", "DURABLE/reopened", func(b *broken) {
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
		reopened("keeps what is due in memory", "DURABLE/documents", func(b *broken) {
			b.due = func(ctx context.Context, _ string, _ time.Time, _ int) ([]driver.Document, error) {
				return nil, ctx.Err()
			}
		}),
		reopened("keeps what has changed in memory", "DURABLE/reopened", func(b *broken) {
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
			b.undelivered = func(ctx context.Context, _ outboxQuery) ([]events.Record, error) { return nil, ctx.Err() }
		}),
		reopened("orders reopened events by id", "DURABLE/events", func(b *broken) {
			b.undelivered = func(ctx context.Context, q outboxQuery) ([]events.Record, error) {
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
		reopened("keeps in memory what was erased at which versions", "DURABLE/versions", func(b *broken) {
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
