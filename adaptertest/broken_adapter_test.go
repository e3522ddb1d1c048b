package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// adapterDefects are about the four operations, beyond what reads have in common.
func adapterDefects() []defect {
	return slices.Concat(foreignDefects(), silenceDefects(), instantDefects(), queryDefects(), putDefects(), deleteDefects())
}

// mapScopes makes every call but History's work on other scopes.
func mapScopes(f func(s driver.Scope) driver.Scope) func(b *broken) {
	return func(b *broken) {
		list, get, put, del := b.list, b.get, b.put, b.del
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			return list(ctx, f(s), q)
		}
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			return get(ctx, f(s), id, at)
		}
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error { return put(ctx, f(s), e) }
		b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
			return del(ctx, f(s), id, at)
		}
	}
}

func joinWith(sep string) func(b *broken) {
	return mapScopes(func(s driver.Scope) driver.Scope { return at("all", s.Tenant+sep+s.Ref) })
}

func foreignDefects() []defect {
	errorFor := func(same func(a, b driver.Scope) bool) func(b *broken) {
		return func(b *broken) {
			b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
				e, err := b.in.Get(ctx, s, id, at)
				for _, other := range b.known(func(o driver.Scope) bool { return o != s && same(s, o) }) {
					if _, foreign := b.in.Get(ctx, other, id, at); err != nil && foreign == nil {
						return e, fmt.Errorf("not yours: %w", err)
					}
				}
				return e, err
			}
		}
	}
	deleteIn := func(same func(a, b driver.Scope) bool, report bool) func(b *broken) {
		return func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				for _, other := range b.known(func(o driver.Scope) bool { return o != s && same(s, o) }) {
					if !ok && err == nil {
						ok, err = b.in.Delete(ctx, other, id, at)
						ok = ok && report
					}
				}
				return ok, err
			}
		}
	}
	sameRef := func(a, b driver.Scope) bool { return a.Ref == b.Ref }
	sameTenant := func(a, b driver.Scope) bool { return a.Tenant == b.Tenant }
	all := []defect{
		{"says that an id is another tenant's", "CTI-1/foreign-", errorFor(sameRef)},
		{"says that an id is another ref's", "CTI-1/foreign-ref-error", errorFor(sameTenant)},
		{"deletes by id in every tenant", "DURABLE/shared", deleteIn(sameRef, true)},
		{"deletes by id in every tenant, and does not say so", "DURABLE/shared", deleteIn(sameRef, false)},
		{"deletes by id in every ref", "CTI-1/unknown-scope", deleteIn(sameTenant, true)},
		{"has one name space of ids", "CTI-1/foreign-successor", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				for _, other := range b.known(func(o driver.Scope) bool { return o != s }) {
					if _, err := b.in.find(ctx, other, e.ID); err == nil {
						return driver.ErrConflict
					}
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"has columns of 255 bytes for names", "CTI-1/names-tenant", mapScopes(func(s driver.Scope) driver.Scope {
			return at(s.Tenant[:min(255, len(s.Tenant))], s.Ref[:min(255, len(s.Ref))])
		})},
		{"has columns of 256 bytes for refs", "CTI-1/names-tenant", mapScopes(func(s driver.Scope) driver.Scope {
			return at(s.Tenant, s.Ref[:min(256, len(s.Ref))])
		})},
		{"fails for a tenant that it does not know", "CTI-1/unknown-scope", func(b *broken) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				if len(b.known(func(o driver.Scope) bool { return o.Tenant == s.Tenant })) == 0 {
					return nil, driver.ErrNotFound
				}
				return b.in.List(ctx, s, q)
			}
		}},
		{"fails to delete from a ref that it does not know", "CTI-1/unknown-scope", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				if len(b.kept(s)) == 0 {
					return false, errors.New("no such table")
				}
				return b.in.Delete(ctx, s, id, at)
			}
		}},
	}
	for _, sep := range []string{"", "/", ":", "::", "|", "-", "_", "."} {
		all = append(all, defect{fmt.Sprintf("joins tenant and ref by %q", sep), "CTI-1/foreign-", joinWith(sep)})
	}
	return all
}

func silenceDefects() []defect {
	conflictSays := func(what string, part func(e driver.Entry) string) defect {
		return defect{"names " + what + " in a conflict", "SR-1/errors", func(b *broken) {
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				err := b.in.Put(ctx, s, e)
				if err != nil {
					return fmt.Errorf("put %s: %w", part(e), err)
				}
				return nil
			}
		}}
	}
	printed := func(what string, part func(e driver.Entry) string) defect {
		return defect{"prints " + what, "SR-1/string", func(b *broken) {
			b.text = func() string {
				var out strings.Builder
				for _, s := range b.known(func(driver.Scope) bool { return true }) {
					for _, e := range b.kept(s) {
						out.WriteString(part(e))
					}
				}
				return out.String()
			}
		}}
	}
	id := func(e driver.Entry) string { return e.ID }
	content := func(e driver.Entry) string { return e.Content }
	tags := func(e driver.Entry) string { return strings.Join(e.Tags, ",") }
	return []defect{
		conflictSays("the id", id), conflictSays("the content", content), conflictSays("tags", tags),
		printed("ids", id), printed("contents", content), printed("tags", tags),
		{"names the id that it does not find", "SR-1/errors", func(b *broken) {
			b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
				e, err := b.in.Get(ctx, s, id, at)
				if err != nil {
					err = fmt.Errorf("%w: %s", err, id)
				}
				return e, err
			}
		}},
		{"names the tag in the error of a cancelled list", "SR-1/errors", func(b *broken) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				out, err := b.in.List(ctx, s, q)
				if err != nil {
					err = fmt.Errorf("select … where tags = '%s': %w", q.Tags, err)
				}
				return out, err
			}
		}},
	}
}

// changed alters what the operations are given and give back.
func changed(f func(e driver.Entry) driver.Entry) func(b *broken) {
	return func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error { return b.in.Put(ctx, s, f(e)) }
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			m.Put = slices.Clone(m.Put)
			for i := range m.Put {
				m.Put[i].Entry = f(m.Put[i].Entry)
			}
			return b.in.Apply(ctx, tenant, m)
		}
	}
}

func truncated(d time.Duration) func(e driver.Entry) driver.Entry {
	return func(e driver.Entry) driver.Entry {
		e.CreatedAt, e.ExpiresAt = e.CreatedAt.Truncate(d), e.ExpiresAt.Truncate(d)
		return e
	}
}

func wallClock(t time.Time) time.Time { // what is left of an instant without its offset
	if t.IsZero() {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

func instantDefects() []defect {
	nanos := func(t time.Time) time.Time { // a column of nanoseconds
		if t.IsZero() {
			return t
		}
		return time.Unix(0, t.UnixNano()).UTC()
	}
	return []defect{
		{"keeps seconds", "TTL/expired-get", changed(truncated(time.Second))},
		{"keeps hundredths", "TTL/expired-get", changed(truncated(10 * time.Millisecond))},
		{"counts nanoseconds in 64 bits", "TTL/instants", changed(func(e driver.Entry) driver.Entry {
			e.CreatedAt, e.ExpiresAt = nanos(e.CreatedAt), nanos(e.ExpiresAt)
			return e
		})},
		{"knows no time before 1970", "TTL/instants", changed(func(e driver.Entry) driver.Entry {
			if e.CreatedAt.Unix() < 0 {
				e.CreatedAt = time.Unix(0, 0).UTC()
			}
			return e
		})},
		{"drops the offset of an instant", "TTL/instants", changed(func(e driver.Entry) driver.Entry {
			e.CreatedAt, e.ExpiresAt = wallClock(e.CreatedAt), wallClock(e.ExpiresAt)
			return e
		})},
		{"compares instants as text", "TTL/instants", func(b *broken) {
			b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
				return b.in.Get(ctx, s, id, wallClock(at))
			}
		}},
		{"takes the zero instant for now", "TTL/zero-instant", func(b *broken) {
			b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
				if at.IsZero() {
					at = time.Now()
				}
				return b.in.Get(ctx, s, id, at)
			}
		}},
		{"deletes what has expired", "TTL/expired-delete", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, _ time.Time) (bool, error) {
				return b.in.Delete(ctx, s, id, time.Time{})
			}
		}},
		{"removes what has expired when it is deleted", "TTL/expired-delete", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				if !ok && err == nil {
					b.in.Delete(ctx, s, id, time.Time{})
				}
				return ok, err
			}
		}},
		{"deletes until a millisecond before the end only", "TTL/expired-delete", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				return b.in.Delete(ctx, s, id, at.Add(time.Millisecond))
			}
		}},
	}
}

func queryDefects() []defect {
	ask := func(name, needs string, f func(b *broken, s driver.Scope, q driver.Query) driver.Query) defect {
		return defect{name, "ORDER/" + needs, func(b *broken) {
			b.query["list"] = func(s driver.Scope, q driver.Query) driver.Query { return f(b, s, q) }
		}}
	}
	// late applies a part of the query to what the limit left.
	late := func(name, needs string, ask func(q *driver.Query), drop func(q driver.Query, e driver.Entry) bool) defect {
		return defect{name, needs, func(b *broken) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				wide := q
				ask(&wide)
				out, err := b.in.List(ctx, s, wide)
				return slices.DeleteFunc(out, func(e driver.Entry) bool { return drop(q, e) }), err
			}
		}}
	}
	return []defect{
		ask("has a page of a thousand", "limit-zero", func(_ *broken, _ driver.Scope, q driver.Query) driver.Query {
			if q.Limit == 0 {
				q.Limit = 1000
			}
			return q
		}),
		ask("gives one too many", "limit-one", func(_ *broken, _ driver.Scope, q driver.Query) driver.Query {
			if q.Limit > 0 {
				q.Limit++
			}
			return q
		}),
		ask("looks for one more than the limit, in 32 bits", "limit-huge", func(_ *broken, _ driver.Scope, q driver.Query) driver.Query {
			if q.Limit >= math.MaxInt32 {
				q.Limit = 1
			}
			return q
		}),
		ask("has cursors of instants only", "", func(_ *broken, _ driver.Scope, q driver.Query) driver.Query {
			if !q.After.IsZero() {
				q.After.ID = "\x00"
			}
			return q
		}),
		ask("repeats what a cursor stands on", "", func(_ *broken, _ driver.Scope, q driver.Query) driver.Query {
			if !q.After.IsZero() {
				q.After.ID += "\x00"
			}
			return q
		}),
		ask("looks up the entry of a cursor", "cursor-deleted", func(b *broken, s driver.Scope, q driver.Query) driver.Query {
			if rec, err := b.in.find(context.Background(), s, q.After.ID); err == nil && rec.State != driver.Live {
				q.After = driver.Cursor{}
			}
			return q
		}),
		ask("has cursors of entries only", "cursor-between", func(b *broken, s driver.Scope, q driver.Query) driver.Query {
			if _, err := b.in.find(context.Background(), s, q.After.ID); err != nil {
				q.After = driver.Cursor{}
			}
			return q
		}),
		late("applies the limit before it looks at expiry", "ORDER/pages-of-expiring",
			func(q *driver.Query) { q.At = time.Time{} },
			func(q driver.Query, e driver.Entry) bool { return !e.LiveAt(q.At) }),
		late("applies the limit before the tag", "QUERY/",
			func(q *driver.Query) { q.Tags = nil },
			func(q driver.Query, e driver.Entry) bool {
				return misses(q, func(t string) bool { return slices.Contains(e.Tags, t) })
			}),
		late("looks for a tag within tags", "QUERY/",
			func(q *driver.Query) { q.Tags = nil },
			func(q driver.Query, e driver.Entry) bool {
				return misses(q, func(t string) bool { return strings.Contains(strings.Join(e.Tags, ","), t) })
			}),
		late("looks for a tag without regard to case", "QUERY/",
			func(q *driver.Query) { q.Tags = nil },
			func(q driver.Query, e driver.Entry) bool {
				return misses(q, func(t string) bool {
					return slices.ContainsFunc(e.Tags, func(o string) bool { return strings.EqualFold(o, t) })
				})
			}),
		late("looks at the first tag only", "QUERY/",
			func(q *driver.Query) { q.Tags = nil },
			func(q driver.Query, e driver.Entry) bool {
				return misses(q, func(t string) bool { return len(e.Tags) > 0 && e.Tags[0] == t })
			}),
	}
}

// misses reports whether an entry does not carry one of the tags that a query asks for.
func misses(q driver.Query, carries func(tag string) bool) bool {
	return slices.ContainsFunc(q.Tags, func(t string) bool { return !carries(t) })
}
