package adaptertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// cachedDefects keep what they have looked up until a change that they hear of.
func cachedDefects() []defect {
	deaf := func(to, needs string) defect {
		return defect{"keeps what it looked up beyond " + to, needs, func(b *broken) {
			var mu sync.Mutex
			kept := map[string][]driver.Record{}
			change := func(by string) {
				if by != to {
					mu.Lock()
					defer mu.Unlock()
					clear(kept)
				}
			}
			b.lookups = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
				mu.Lock()
				defer mu.Unlock()
				if found, known := kept[fmt.Sprint(s, ids)]; known {
					return found, ctx.Err()
				}
				found, err := b.in.Lookup(ctx, s, ids)
				if err == nil {
					kept[fmt.Sprint(s, ids)] = found
				}
				return found, err
			}
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				defer change("a put")
				return b.in.Put(ctx, s, e)
			}
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				defer change("a deletion")
				return b.in.Delete(ctx, s, id, at)
			}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				defer change("a mutation")
				return b.in.Apply(ctx, tenant, m)
			}
			b.purge = func(ctx context.Context, tenant string, before driver.Version, at time.Time) (int, error) {
				defer change("a purge")
				return b.in.Purge(ctx, tenant, before, at)
			}
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				defer change("a drop")
				return b.in.DropTenant(ctx, tenant, limit)
			}
		}}
	}
	return []defect{deaf("a purge", "MODEL/again"), deaf("a drop", "MODEL/again"), deaf("what another handle writes", "DURABLE/shared-again")}
}
