package adaptertest

import (
	"context"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

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
		"scopes": func(b *broken) {
			b.listed = func(_ context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
				return b.in.Scopes(bg, after)
			}
		},
		"drop-tenant": func(b *broken) {
			b.drop = func(_ context.Context, tenant string, limit int) (bool, error) {
				return b.in.DropTenant(bg, tenant, limit)
			}
		},
		"undelivered": func(b *broken) {
			b.undelivered = func(_ context.Context, q outboxQuery) ([]events.Record, error) { return b.in.outbox(bg, q) }
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
	}
	var all []defect
	for name, do := range sorted(deaf) {
		all = append(all, defect{"does not look at the context in " + name, "FAULT/cancelled", do})
	}
	return append(all,
		defect{"deletes, then looks at the context", "FAULT/cancelled-adapter", func(b *broken) {
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
