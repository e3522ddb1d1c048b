package adaptertest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func (b *broken) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return b.listed(ctx, after)
}

func (b *broken) DropTenant(ctx context.Context, tenant string, limit int) (bool, error) {
	return b.drop(ctx, tenant, limit)
}

// tenantDefects are about the listing of scopes, and what is left of a tenant.
func tenantDefects() []defect { return slices.Concat(listingDefects(), droppingDefects()) }

func listingDefects() []defect {
	// lists changes what is listed.
	lists := func(name, needs string, f func(b *broken, after driver.Scope, all []driver.Scope) []driver.Scope) defect {
		return defect{name, "TENANT/" + needs, func(b *broken) {
			b.listed = func(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
				all, err := collect(b.in.Scopes(ctx, after))
				return sequence(f(b, after, all), err)
			}
		}}
	}
	// without passes over some scopes.
	without := func(name, needs string, passed func(b *broken, s driver.Scope) bool) defect {
		return lists(name, needs, func(b *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			return slices.DeleteFunc(all, func(s driver.Scope) bool { return passed(b, s) })
		})
	}
	bg := context.Background()
	records := func(b *broken, s driver.Scope) []driver.Record {
		recs, _ := collect(b.in.History(bg, s.Tenant, driver.HistoryQuery{}))
		return slices.DeleteFunc(recs, func(r driver.Record) bool { return r.Scope != s })
	}
	machinery := func(b *broken, s driver.Scope) bool {
		docs, _ := collect(b.in.Documents(bg, driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref}))
		return !slices.ContainsFunc(docs, func(d driver.Document) bool { return d.Class != driver.Machinery })
	}
	return []defect{
		lists("lists scopes by their refs first", "order", func(_ *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			slices.SortStableFunc(all, func(a, b driver.Scope) int { return strings.Compare(a.Ref, b.Ref) })
			return all
		}),
		lists("orders names as UTF-16 does", "order", func(_ *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			key := func(s driver.Scope) driver.Scope {
				s.Tenant = strings.ReplaceAll(s.Tenant, "\U00010000", "\ud7ff")
				return s
			}
			slices.SortStableFunc(all, func(a, b driver.Scope) int { return compareScopes(key(a), key(b)) })
			return all
		}),
		lists("lists a scope for its entries and for its documents", "order", func(b *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			var twice []driver.Scope
			for _, s := range all {
				twice = append(twice, s)
				if len(records(b, s)) > 0 && s.Ref != "" && !machinery(b, s) {
					twice = append(twice, s)
				}
			}
			return twice
		}),
		lists("goes on with the scope that it is given", "resume", func(b *broken, after driver.Scope, all []driver.Scope) []driver.Scope {
			if len(records(b, after)) > 0 {
				all = append([]driver.Scope{after}, all...)
			}
			return all
		}),
		lists("goes on with the next tenant", "resume", func(_ *broken, after driver.Scope, all []driver.Scope) []driver.Scope {
			return slices.DeleteFunc(all, func(s driver.Scope) bool { return after.Ref != "" && s.Tenant == after.Tenant })
		}),
		{"begins anew behind a scope that it does not know", "TENANT/resume", func(b *broken) {
			b.listed = func(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
				if len(records(b, after)) == 0 {
					if docs, _ := collect(b.in.Documents(bg, driver.DocumentQuery{Tenant: after.Tenant, Ref: after.Ref})); len(docs) == 0 {
						after = driver.Scope{}
					}
				}
				return b.in.Scopes(ctx, after)
			}
		}},
		lists("takes names for one that differ in case", "lookalikes", func(_ *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			return slices.CompactFunc(all, func(a, b driver.Scope) bool {
				return strings.EqualFold(a.Tenant, b.Tenant) && strings.TrimSpace(a.Ref) == strings.TrimSpace(b.Ref) || strings.EqualFold(a.Tenant+a.Ref, b.Tenant+b.Ref)
			})
		}),
		without("lists no names with a space before", "lookalikes", func(_ *broken, s driver.Scope) bool {
			return strings.HasPrefix(s.Tenant, " ")
		}),
		without("lists scopes of entries only", "documents", func(b *broken, s driver.Scope) bool { return s.Ref != "" && len(records(b, s)) == 0 }),
		without("does not list tenants that have machinery only", "documents", func(b *broken, s driver.Scope) bool {
			return s.Ref != "" && len(records(b, s)) == 0 && machinery(b, s)
		}),
		without("does not list what is the tenant's own", "own", func(_ *broken, s driver.Scope) bool { return s.Ref == "" }),
		lists("lists every tenant itself", "own", func(_ *broken, after driver.Scope, all []driver.Scope) []driver.Scope {
			var more []driver.Scope
			for _, s := range all {
				if own := at(s.Tenant, ""); compareScopes(own, after) > 0 && !slices.Contains(more, own) && s.Ref != "" && s.Tenant == "acme" {
					more = append(more, own)
				}
				more = append(more, s)
			}
			return more
		}),
		without("lists scopes with live entries", "ended", func(b *broken, s driver.Scope) bool {
			recs := records(b, s)
			return len(recs) > 0 && !slices.ContainsFunc(recs, func(r driver.Record) bool { return r.State == driver.Live && !r.Erased })
		}),
		lists("lists every scope that ever was", "purged", func(b *broken, after driver.Scope, all []driver.Scope) []driver.Scope {
			for _, s := range b.known(func(s driver.Scope) bool { return compareScopes(s, after) > 0 }) {
				if now, _ := b.in.Version(bg, s.Tenant); now != "" && !slices.Contains(all, s) && len(all) > 0 {
					all = append(all, s)
				}
			}
			slices.SortFunc(all, compareScopes)
			return all
		}),
		lists("lists a thousand scopes at most", "many", func(_ *broken, _ driver.Scope, all []driver.Scope) []driver.Scope {
			return all[:min(1000, len(all))]
		}),
		{"stops listing when something is written meanwhile", "MODEL/loop-scopes", func(b *broken) {
			b.listed = func(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
				return func(yield func(driver.Scope, error) bool) {
					began := len(b.known(func(driver.Scope) bool { return true }))
					for s, err := range b.in.Scopes(ctx, after) {
						if len(b.known(func(driver.Scope) bool { return true })) != began {
							yield(s, errors.New("the map was changed"))
							return
						}
						if !yield(s, err) {
							return
						}
					}
				}
			}
		}},
	}
}

func droppingDefects() []defect {
	bg := context.Background()
	// spares does something with what it saw of a tenant after that was dropped.
	spares := func(name, needs string, see func(b *broken, tenant string) func()) defect {
		return defect{name, "TENANT/" + needs, func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				again := see(b, tenant)
				more, err := b.in.DropTenant(ctx, tenant, limit)
				if err == nil {
					again()
				}
				return more, err
			}
		}}
	}
	documents := func(b *broken, tenant string, kept func(d driver.Document) bool) func() {
		docs, _ := collect(b.in.Documents(bg, driver.DocumentQuery{Tenant: tenant, EveryRef: true}))
		return func() {
			for _, d := range docs {
				if d.Rev = 0; kept(d) {
					b.in.Apply(bg, tenant, driver.Mutation{At: time.Unix(0, 0), Documents: []driver.DocumentSwap{{Document: d}}})
				}
			}
		}
	}
	return []defect{
		spares("drops all refs but one", "dropped", func(b *broken, tenant string) func() {
			all := b.known(func(s driver.Scope) bool { return s.Tenant == tenant && s.Ref == "sales" })
			return func() {
				for _, s := range all {
					for _, e := range b.kept(s) {
						b.in.Put(bg, s, e)
					}
				}
			}
		}),
		spares("keeps the history of a dropped tenant", "dropped", func(b *broken, tenant string) func() {
			recs, _ := collect(b.in.History(bg, tenant, driver.HistoryQuery{}))
			return func() {
				b.history = func(ctx context.Context, t string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
					if t == tenant && q.Subject == "" && q.Ref == "" {
						return sequence(recs, nil)
					}
					return b.in.History(ctx, t, q)
				}
			}
		}),
		spares("keeps host text", "dropped-documents", func(b *broken, tenant string) func() {
			return documents(b, tenant, func(d driver.Document) bool { return d.Class == driver.HostText })
		}),
		spares("keeps what is the tenant's own", "dropped-documents", func(b *broken, tenant string) func() {
			return documents(b, tenant, func(d driver.Document) bool { return d.Ref == "" })
		}),
		spares("finds the subjects of host text that was dropped", "dropped-documents", func(b *broken, tenant string) func() {
			docs, _ := collect(b.in.Documents(bg, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Subject: "customer:1"}))
			return func() {
				b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
					if q.Tenant == tenant && q.Subject == "customer:1" {
						return sequence(docs, nil)
					}
					return b.in.Documents(ctx, q)
				}
			}
		}),
		spares("keeps the schedule", "dropped-documents", func(b *broken, tenant string) func() {
			docs, _ := b.in.Due(bg, "timer", time.Unix(1<<40, 0), 100)
			return func() {
				b.due = func(context.Context, string, time.Time, int) ([]driver.Document, error) { return docs, nil }
			}
		}),
		spares("keeps the events that wait", "dropped-events", func(b *broken, tenant string) func() {
			recs, _ := b.in.outbox(bg, outboxQuery{Tenant: tenant})
			return func() { b.in.Apply(bg, tenant, driver.Mutation{At: time.Unix(0, 0), Events: recs}) }
		}),
		spares("remembers the events of a dropped tenant", "dropped-events", func(b *broken, tenant string) func() {
			recs, _ := b.in.outbox(bg, outboxQuery{Tenant: tenant})
			return func() {
				b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
					m.Events = slices.DeleteFunc(slices.Clone(m.Events), func(r events.Record) bool {
						return slices.ContainsFunc(recs, func(o events.Record) bool { return o.RunID == r.RunID && o.ID == r.ID })
					})
					return b.in.Apply(ctx, tenant, m)
				}
			}
		}),
		spares("drops every tenant whose name begins so", "dropped", func(b *broken, tenant string) func() {
			return func() {
				for _, s := range b.known(func(s driver.Scope) bool { return strings.HasPrefix(s.Tenant, tenant) }) {
					b.in.DropTenant(bg, s.Tenant, 1)
				}
			}
		}),
		{"never comes to an end", "TENANT/dropped-limit", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				_, err := b.in.DropTenant(ctx, tenant, limit)
				return limit == 7, err
			}
		}},
		{"drops as much as the limit and says that this was all", "TENANT/dropped-limit", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				entries := 0
				for _, s := range b.known(func(s driver.Scope) bool { return s.Tenant == tenant }) {
					entries += len(b.kept(s))
				}
				if entries > limit {
					return false, nil
				}
				return b.in.DropTenant(ctx, tenant, limit)
			}
		}},
		spares("reads versions of a dropped tenant as empty", "dropped-versions", func(b *broken, tenant string) func() {
			return func() {
				b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
					found, err := b.in.ListAt(ctx, s, v, q)
					if s.Tenant == tenant && err == driver.ErrSnapshotUnavailable {
						err = nil
					}
					return found, err
				}
			}
		}),
		spares("takes up the versions of a dropped tenant when it has as many again", "dropped-versions", func(b *broken, tenant string) func() {
			return func() {
				b.getsAt = func(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
					if live, _ := b.in.List(ctx, s, driver.Query{At: at}); len(live) >= 5 {
						return nil, ctx.Err()
					}
					return b.in.GetAt(ctx, s, v, ids, at)
				}
			}
		}),
		spares("has no version of a dropped tenant", "dropped-versions", func(b *broken, tenant string) func() {
			old, _ := b.in.Version(bg, tenant)
			return func() {
				b.version = func(ctx context.Context, t string) (driver.Version, error) {
					v, err := b.in.Version(ctx, t)
					if live, _ := b.in.List(ctx, home, driver.Query{}); t == tenant && len(live) == 0 {
						v = old
					}
					return v, err
				}
			}
		}),
		{"drops a tenant once", "TENANT/dropped-again", func(b *broken) {
			gone := map[string]bool{}
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				if gone[tenant] {
					return false, ctx.Err()
				}
				gone[tenant] = len(b.known(func(s driver.Scope) bool { return s.Tenant == tenant })) > 0
				return b.in.DropTenant(ctx, tenant, limit)
			}
		}},
		{"fails to drop a tenant that is not there", "TENANT/dropped-again", func(b *broken) {
			b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
				if len(b.known(func(s driver.Scope) bool { return s.Tenant == tenant })) == 0 && ctx.Err() == nil {
					return false, driver.ErrNotFound
				}
				return b.in.DropTenant(ctx, tenant, limit)
			}
		}},
		spares("never takes the ids of a dropped tenant again", "dropped-anew", func(b *broken, tenant string) func() {
			was := b.kept(home)
			return func() {
				b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
					if i := slices.IndexFunc(was, func(o driver.Entry) bool { return o.ID == e.ID }); i >= 0 && !was[i].Equal(&e) {
						return driver.ErrConflict
					}
					return b.in.Put(ctx, s, e)
				}
			}
		}),
	}
}
