package adaptertest

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// joined works on another scope than the one that it is asked for.
func joined(f func(s driver.Scope) driver.Scope) func(b *broken) {
	return func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			return b.Store.List(ctx, f(s), q)
		}
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			return b.Store.Get(ctx, f(s), id, at)
		}
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error { return b.Store.Put(ctx, f(s), e) }
		b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
			return b.Store.Delete(ctx, f(s), id, at)
		}
	}
}

// nameDefects show with names, instants, texts and sizes of certain kinds only.
var nameDefects = []defect{
	{"joins tenant and ref", "CTI-1/names-joined", joined(func(s driver.Scope) driver.Scope { return at("all", s.Tenant+":"+s.Ref) })},
	{"has columns of 255 bytes for tenants", "CTI-1/names-tenant", joined(func(s driver.Scope) driver.Scope {
		return at(s.Tenant[:min(255, len(s.Tenant))], s.Ref)
	})},
	{"lists refs without regard to percent-encoding", "CTI-1/names-ref", listed(func(b *broken, s driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry {
		plain := strings.NewReplacer("%61", "a", "%20", " ").Replace
		for _, other := range b.known(func(o driver.Scope) bool { return o != s && o.Tenant == s.Tenant && plain(o.Ref) == plain(s.Ref) }) {
			more, _ := b.Store.List(context.Background(), other, q)
			found = append(found, more...)
		}
		slices.SortFunc(found, newestFirst)
		return found
	})},
	{"gets tenants without their invisible characters", "CTI-1/names-tenant", func(b *broken) {
		plain := strings.NewReplacer("\u200b", "").Replace
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			e, err := b.Store.Get(ctx, s, id, at)
			for _, other := range b.known(func(o driver.Scope) bool { return o != s && o.Ref == s.Ref && plain(o.Tenant) == plain(s.Tenant) }) {
				if err == driver.ErrNotFound {
					e, err = b.Store.Get(ctx, other, id, at)
				}
			}
			return e, err
		}
	}},
	{"orders tenants as UTF-16 does", "TENANT/order", func(b *broken) {
		key := func(s driver.Scope) driver.Scope {
			return at(strings.ReplaceAll(s.Tenant, "\U00010000", "\ud7ff"), s.Ref)
		}
		b.scopes = func(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
			all, err := collect(b.Store.Scopes(ctx, after))
			slices.SortStableFunc(all, func(a, b driver.Scope) int { return compareScopes(key(a), key(b)) })
			return sequence(all, err)
		}
	}},
	{"compares instants as a clock on the wall shows them", "TTL/instants", func(b *broken) {
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			_, offset := at.Zone()
			return b.Store.Get(ctx, s, id, at.Add(time.Duration(offset)*time.Second))
		}
	}},
	{"counts seconds in a float", "TTL/instants", changed(func(e driver.Entry) driver.Entry {
		if !e.ExpiresAt.IsZero() {
			e.ExpiresAt = time.UnixMilli(int64(float64(e.ExpiresAt.UnixMilli()) / 1000 * 1000)).UTC()
		}
		return e
	})},
	{"asks its own clock what is due", "DUE/instant", func(b *broken) {
		b.due = func(ctx context.Context, kind string, _ time.Time, limit int) ([]driver.Document, error) {
			return b.Store.Due(ctx, kind, time.Now(), limit)
		}
	}},
	{"normalises accents", "RECORD/texts", changed(func(e driver.Entry) driver.Entry {
		e.Content = strings.ReplaceAll(e.Content, "e\u0301", "é")
		return e
	})},
	{"tells nil lists from empty ones", "IDEMPOTENCE/again", func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			was, _ := json.Marshal(b.record(s, e.ID).Entry.Subjects)
			if now, _ := json.Marshal(e.Subjects); b.record(s, e.ID).Entry.ID != "" && string(now) != string(was) {
				return driver.ErrConflict
			}
			return b.Store.Put(ctx, s, e)
		}
	}},
	{"looks for one more than the limit, in 32 bits", "ORDER/limit-huge", func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			if q.Limit >= math.MaxInt32 {
				q.Limit = 1
			}
			return b.Store.List(ctx, s, q)
		}
	}},
	{"looks at the first tag of a query only", "QUERY/fields", func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			q.Tags = q.Tags[:min(1, len(q.Tags))]
			return b.Store.List(ctx, s, q)
		}
	}},
	{"has a page of a hundred in a history", "SIZES/many", func(b *broken) {
		history := b.history
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			all, err := collect(history(ctx, tenant, q))
			return sequence(all[:min(100, len(all))], err)
		}
	}},
}
