package adaptertest

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// judgingDefects judge by another instant than the one that a call carries.
func judgingDefects() []defect {
	var all []defect
	for name, of := range map[string]func(at time.Time) time.Time{
		"takes the first instant of 1970 for none": func(at time.Time) time.Time {
			if at.UnixMilli() == 0 {
				return time.Time{}
			}
			return at
		},
		"takes what a clock on the wall shows for UTC": wallClock,
	} {
		all = append(all,
			defect{"deletes, and " + name, "TTL/instants", func(b *broken) {
				b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
					return b.in.Delete(ctx, s, id, of(at))
				}
			}},
			defect{"mutates, and " + name, "TTL/instants", mutated(func(_ *broken, m *driver.Mutation) { m.At = of(m.At) })},
			defect{"purges, and " + name, "TTL/instants", func(b *broken) {
				b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
					return b.in.Purge(ctx, tenant, v, of(at))
				}
			}},
		)
	}
	return append(all,
		defect{"counts seconds in a float", "TTL/any-instants", changed(func(e driver.Entry) driver.Entry {
			if !e.ExpiresAt.IsZero() {
				e.ExpiresAt = time.UnixMilli(int64(float64(e.ExpiresAt.UnixMilli()) / 1000 * 1000)).UTC()
			}
			return e
		})},
		defect{"gets as of the first instant of 1970 what is of no instant", "TTL/instants", func(b *broken) {
			b.instant["get"] = func(at time.Time) time.Time {
				if at.UnixMilli() == 0 {
					return time.Time{}
				}
				return at
			}
		}})
}
