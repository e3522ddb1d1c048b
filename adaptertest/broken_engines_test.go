package adaptertest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

// engineDefects show when a call is cancelled or its answer is lost, and in what a bank or an
// engine makes of answers.
var engineDefects = []defect{
	{"commits the puts of a mutation first, and stops when the context ends", "FAULT/cancelled-midway-apply", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			if err := ctx.Err(); err != nil {
				return driver.Applied{}, err
			}
			if err := ctx.Err(); err != nil {
				b.Store.Apply(context.WithoutCancel(ctx), tenant, driver.Mutation{At: m.At, Put: m.Put})
				return driver.Applied{}, err
			}
			return b.Store.Apply(ctx, tenant, m)
		}
	}},
	{"claims before it loses the connection, and again after that", "DOCUMENT/", swapped(func(b *broken, x *driver.DocumentSwap) error {
		if held := b.document(&x.Document); x.Rev > 0 && held.Rev > x.Rev {
			x.Rev = held.Rev
		}
		return nil
	})},
	{"has tags in any order", "RECORD/texts", func(b *broken) {
		var reads atomic.Int64
		listed(func(_ *broken, _ driver.Scope, _ driver.Query, found []driver.Entry) []driver.Entry {
			if reads.Add(1)%2 == 0 {
				for i := range found {
					found[i].Tags = slices.Clone(found[i].Tags)
					slices.Reverse(found[i].Tags)
				}
			}
			return found
		})(b)
	}},
	{"leaves archives to a collector", "DISTILL/work", lingering(func(driver.Document) bool { return true })},
	{"does not tell what was put", "RECALL/work", changesWithout(func(c *driver.ChangeSet) { c.Put = nil })},
	{"does not tell what was erased", "CHANGES/kinds", changesWithout(func(c *driver.ChangeSet) { c.Erased = nil })},
	{"numbers versions from one in every store", "VIEW/other-incarnation", func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			if n, _, err := q.Version.Parse(); err == nil && q.Version != "" {
				own, _ := b.Store.Version(ctx, s.Tenant)
				_, mark, _ := own.Parse()
				q.Version = mark.Version(n)
			}
			return b.Store.List(ctx, s, q)
		}
	}},
	{"shows an entry of two lives in its gap", "MODEL/short", func(b *broken) {
		var restored sync.Map
		mutated(func(_ *broken, m *driver.Mutation) {
			for _, l := range m.Restore {
				restored.Store(l, true)
			}
		})(b)
		listed(func(b *broken, s driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry {
			if q.Version == "" {
				return found
			}
			for _, e := range b.others(s, found, func(r driver.Record) bool { return r.State != driver.Live && !r.Erased }) {
				if _, twice := restored.Load(driver.Located{Scope: s, ID: e.ID}); twice && e.LiveAt(q.At) {
					found = append(found, e)
				}
			}
			slices.SortFunc(found, newestFirst)
			return found
		})(b)
	}},
}

// changesWithout leaves a list out of what has changed.
func changesWithout(drop func(c *driver.ChangeSet)) func(b *broken) {
	return func(b *broken) {
		b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
			c, err := b.Store.Changes(ctx, s, from, to)
			drop(&c)
			return c, err
		}
	}
}
