package adaptertest

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// reopened is a defect of all handles but the first.
func reopened(name, needs string, do func(b *broken)) defect {
	return defect{name, needs, func(b *broken) {
		if b.opened > 0 {
			do(b)
		}
	}}
}

// keptDefects are of what a store keeps: beyond its process, for the next call, or for itself when
// a loop is left.
var keptDefects = []defect{
	{"loses at a kill what it has deleted", "DURABLE/killed", listed(func(b *broken, s driver.Scope, _ driver.Query, found []driver.Entry) []driver.Entry {
		return append(found, b.others(s, found, func(r driver.Record) bool { return b.killed && r.State == driver.Deleted })...)
	})},
	reopened("has no log when it is opened again", "DURABLE/reopened", func(b *broken) {
		b.read = func(ctx context.Context, _, _ string, _ int64, _ int) ([]events.RunEvent, error) {
			return nil, ctx.Err()
		}
	}),
	reopened("erases in memory only", "DURABLE/reopened", func(b *broken) {
		b.lookup = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
			recs, err := b.Store.Lookup(ctx, s, ids)
			for i := range recs {
				if recs[i].Erased {
					recs[i].Entry.Content = b.was.entries[s][recs[i].Entry.ID].Content
				}
			}
			return recs, err
		}
	}),
	reopened("counts towards limits what it wrote itself", "DURABLE/reopened", mutated(func(_ *broken, m *driver.Mutation) {
		m.Limits.Entries *= 2
	})),
	reopened("answers from a cache of its own", "DURABLE/shared", func(b *broken) {
		var cache sync.Map
		listed(func(_ *broken, s driver.Scope, _ driver.Query, found []driver.Entry) []driver.Entry {
			first, _ := cache.LoadOrStore(s, found)
			return first.([]driver.Entry)
		})(b)
	}),
	reopened("locks ids for itself only", "DURABLE/shared-puts", func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			b.Store.Put(ctx, s, e)
			return ctx.Err()
		}
	}),
	{"keeps what it looked up beyond a drop", "MODEL/", func(b *broken) {
		var mu sync.Mutex
		kept := map[string][]driver.Record{}
		renew := func() {
			mu.Lock()
			defer mu.Unlock()
			clear(kept)
		}
		b.lookup = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprintf("%q %q", s, ids)
			if _, known := kept[key]; !known {
				recs, err := b.Store.Lookup(ctx, s, ids)
				if err != nil {
					return nil, err
				}
				kept[key] = recs
			}
			return kept[key], ctx.Err()
		}
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			defer renew()
			return b.Store.Put(ctx, s, e)
		}
		b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
			defer renew()
			return b.Store.Delete(ctx, s, id, at)
		}
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			defer renew()
			return b.Store.Apply(ctx, tenant, m)
		}
	}},
	{"sorts the tags that it is given", "MODEL/", mutated(func(_ *broken, m *driver.Mutation) {
		for _, p := range m.Put {
			slices.Sort(p.Entry.Tags)
		}
	})},
	{"lists into the memory of the list before", "MODEL/", func(b *broken) {
		var mu sync.Mutex
		var buffer []driver.Entry
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			found, err := b.Store.List(ctx, s, q)
			mu.Lock()
			defer mu.Unlock()
			buffer = append(buffer[:0], found...)
			return buffer, err
		}
	}},
	{"lets a reader and the one who set a document share its value", "DOCUMENT/values", func(b *broken) {
		var shared sync.Map
		swapped(func(_ *broken, x *driver.DocumentSwap) error {
			shared.Store(nameOf(&x.Document), x.Value)
			return nil
		})(b)
		b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
			docs, err := collect(b.Store.Documents(ctx, q))
			for i := range docs {
				if value, known := shared.Load(nameOf(&docs[i])); known && !q.Bare {
					docs[i].Value = value.([]byte)
				}
			}
			return sequence(docs, err)
		}
	}},
	{"holds a lock once a history was left early", "MODEL/loops", func(b *broken) {
		var stuck atomic.Bool
		history := b.history
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			return func(yield func(driver.Record, error) bool) {
				for rec, err := range history(ctx, tenant, q) {
					if !yield(rec, err) {
						stuck.Store(true)
						return
					}
				}
			}
		}
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			if stuck.Load() {
				return errLocked
			}
			return b.Store.Put(ctx, s, e)
		}
	}},
	{"leaves a goroutine behind each history that is left", "FAULT/resources-transactor", func(b *broken) {
		history := b.history
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			return func(yield func(driver.Record, error) bool) {
				for rec, err := range history(ctx, tenant, q) {
					if !yield(rec, err) {
						go func() { <-ctx.Done() }()
						return
					}
				}
			}
		}
	}},
	{"leaves a file open behind each get that fails", "FAULT/resources-adapter", func(b *broken) {
		var open sync.Map
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			e, err := b.Store.Get(ctx, s, id, at)
			if err != nil {
				if file, failed := os.Open(os.DevNull); failed == nil {
					open.Store(file, true) // or else a collector would close it
				}
			}
			return e, err
		}
	}},
	{"goes on after a history was left", "MODEL/loops", func(b *broken) {
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			return func(yield func(driver.Record, error) bool) {
				for rec, err := range b.Store.History(ctx, tenant, q) {
					yield(rec, err)
				}
			}
		}
	}},
	{"reads the outbox by offset", "MODEL/loops", func(b *broken) {
		b.outbox = func(ctx context.Context, tenant, run string) iter.Seq2[events.Record, error] {
			return func(yield func(events.Record, error) bool) {
				for offset := 0; ; offset += 100 {
					recs, err := collect(b.Store.Undelivered(ctx, tenant, run))
					if err != nil {
						yield(events.Record{}, err)
						return
					}
					if offset >= len(recs) {
						return
					}
					for _, r := range recs[offset:min(offset+100, len(recs))] {
						if !yield(r, nil) {
							return
						}
					}
				}
			}
		}
	}},
	{"never comes to the end of a tenant", "TENANT/dropped", func(b *broken) {
		b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
			_, err := b.Store.DropTenant(ctx, tenant, limit)
			return true, err
		}
	}},
}
