package adaptertest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// lingering keeps documents that go with their entries, if stays says so.
func lingering(stays func(b *broken, d driver.Document, m driver.Mutation) bool) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			before, _ := collect(b.in.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}))
			made, err := b.in.Apply(ctx, tenant, m)
			if err == nil && len(m.Erase) > 0 {
				b.linger(before, func(d driver.Document) bool { return stays(b, d, m) })
			}
			return made, err
		}
	}
}

// linger shows documents that are gone.
func (b *broken) linger(before []driver.Document, stays func(d driver.Document) bool) {
	for _, d := range before {
		if d.Class == driver.Content && b.document(&d).Rev == 0 && stays(d) {
			documents := b.documents
			found(func(b *broken, q driver.DocumentQuery, _ []driver.Document) []driver.Document {
				docs, _ := collect(documents(context.Background(), q))
				if q.Tenant == d.Tenant && (q.EveryRef || q.Ref == d.Ref) && (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) &&
					q.Group == "" && q.Subject == "" && b.document(&d).Rev == 0 {
					docs = append(docs, d)
				}
				return docs
			})(b)
		}
	}
}

// overeager removes content that should stay, when a mutation has done something.
func overeager(goes func(m driver.Mutation, d driver.Document) bool) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			made, err := b.in.Apply(ctx, tenant, m)
			if err != nil {
				return made, err
			}
			for _, d := range b.documentsOf(tenant, m) {
				if d.Class == driver.Content && goes(m, d) {
					b.in.Apply(ctx, d.Tenant, acts(driver.Remove, d))
				}
			}
			return made, err
		}
	}
}

// documentsOf are those of the tenant and of all that the mutation's erasures know of.
func (b *broken) documentsOf(tenant string, m driver.Mutation) []driver.Document {
	tenants := map[string]bool{tenant: true}
	if len(m.Erase) > 0 {
		for _, s := range b.known(func(driver.Scope) bool { return true }) {
			tenants[s.Tenant] = true
		}
	}
	var docs []driver.Document
	for t := range sorted(tenants) {
		part, _ := collect(b.in.Documents(context.Background(), driver.DocumentQuery{Tenant: t, EveryRef: true}))
		docs = append(docs, part...)
	}
	return docs
}

func contentDefects() []defect {
	erases := func(m driver.Mutation, of []string) int { // the place of what is erased among what it is made of
		return slices.IndexFunc(of, func(id string) bool {
			return slices.ContainsFunc(m.Erase, func(l driver.Located) bool { return l.ID == id })
		})
	}
	needs := func(name string, passes func(b *broken, x *driver.DocumentSwap, id string) bool) defect {
		return defect{name, "DOCUMENT/content-needs-entries", conflicting(func(b *broken, x *driver.DocumentSwap) bool {
			return slices.ContainsFunc(x.Of, func(id string) bool { return passes(b, x, id) })
		})}
	}
	refuses := func(name string, fails func(b *broken, m *driver.Mutation, rec driver.Record) bool) defect {
		return defect{name, "DOCUMENT/content-of-any-state", mutated(func(b *broken, m *driver.Mutation) {
			for _, x := range m.Documents {
				for _, id := range x.Of {
					if fails(b, m, b.record(x.Scope, id)) {
						m.Live = located(x.Scope, "never")
					}
				}
			}
		})}
	}
	return []defect{
		needs("makes content of what is not there", func(b *broken, x *driver.DocumentSwap, id string) bool { return id == "never" }),
		needs("makes content of what is erased", func(b *broken, x *driver.DocumentSwap, id string) bool { return b.record(x.Scope, id).Erased }),
		needs("makes content of what another ref has", func(b *broken, x *driver.DocumentSwap, id string) bool {
			return b.record(x.Scope, id).Entry.ID == "" && b.record(at(x.Tenant, "sales"), id).Entry.ID != ""
		}),
		needs("does not look at what is retained content is made of", func(b *broken, x *driver.DocumentSwap, id string) bool {
			return x.Act == driver.Retain && b.record(x.Scope, id).Entry.ID == ""
		}),
		refuses("makes content of live entries only", func(_ *broken, _ *driver.Mutation, rec driver.Record) bool { return rec.State == driver.Superseded }),
		refuses("makes no content of the expired", func(_ *broken, m *driver.Mutation, rec driver.Record) bool {
			return rec.Entry.ID != "" && !rec.Entry.LiveAt(m.At)
		}),
		refuses("looks for the entries of content before it puts", func(_ *broken, _ *driver.Mutation, rec driver.Record) bool { return rec.Entry.ID == "" }),
		{"keeps content of what is erased", "DOCUMENT/content-erased", lingering(func(*broken, driver.Document, driver.Mutation) bool { return true })},
		{"removes content with its first entry only", "DOCUMENT/content-erased", lingering(func(_ *broken, d driver.Document, m driver.Mutation) bool { return erases(m, d.Of) > 0 })},
		{"keeps content of what is erased when it is retired", "DOCUMENT/content-erased", lingering(func(b *broken, d driver.Document, m driver.Mutation) bool {
			return b.record(d.Scope, m.Erase[0].ID).State == driver.Merged
		})},
		{"removes content with what is deleted", "DOCUMENT/content-stays", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				for d := range b.in.Documents(ctx, driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref}) {
					if ok && slices.Contains(d.Of, id) {
						b.in.Apply(ctx, s.Tenant, acts(driver.Remove, d))
					}
				}
				return ok, err
			}
		}},
		{"removes content with what is retired", "DOCUMENT/content-stays", overeager(func(m driver.Mutation, d driver.Document) bool {
			return slices.ContainsFunc(m.Retire, func(r driver.Retirement) bool { return r.Scope == d.Scope && slices.Contains(d.Of, r.ID) })
		})},
		{"removes all content of a ref in which something is erased", "DOCUMENT/content-stays", overeager(func(m driver.Mutation, d driver.Document) bool {
			return slices.ContainsFunc(m.Erase, func(l driver.Located) bool { return l.Scope == d.Scope })
		})},
		{"removes content of an id in every ref", "CTI-1/foreign-", overeager(func(m driver.Mutation, d driver.Document) bool { return erases(m, d.Of) >= 0 })},
		{"compares what content is made of without regard to case", "CTI-1/foreign-", overeager(func(m driver.Mutation, d driver.Document) bool {
			return slices.ContainsFunc(m.Erase, func(l driver.Located) bool { return l.Scope == d.Scope && strings.EqualFold(l.ID, d.Of[0]) })
		})},
		{"refuses a document that names an entry twice", "DOCUMENT/named-twice", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, x := range m.Documents {
					if len(slices.Compact(slices.Sorted(slices.Values(x.Of)))) < len(x.Of) {
						return driver.Applied{}, errLocked
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
		{"removes content with what it was made of", "DOCUMENT/content-remade", func(b *broken) {
			var made memo[string, []string]
			overeager(func(m driver.Mutation, d driver.Document) bool {
				for _, x := range m.Documents {
					made.set(describeName(&x.Document), append(made.get(describeName(&x.Document)), x.Of...))
				}
				return erases(m, made.get(describeName(&d))) >= 0
			})(b)
		}},
		{"keeps content that is retained as it is erased", "DOCUMENT/content-retained", lingering(func(_ *broken, _ driver.Document, m driver.Mutation) bool {
			return len(m.Documents) > 0 && m.Documents[0].Act == driver.Retain
		})},
		{"keeps content that was remade", "DOCUMENT/content-remade", lingering(func(_ *broken, d driver.Document, _ driver.Mutation) bool { return d.Of[0] == "b" })},
		{"keeps content of what is purged", "DOCUMENT/content-purged", func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				before, _ := collect(b.in.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}))
				n, err := b.in.Purge(ctx, tenant, v, at)
				b.linger(before, func(driver.Document) bool { return true })
				return n, err
			}
		}},
		{"purges content of what was merged", "DOCUMENT/content-purged", func(b *broken) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				n, err := b.in.Purge(ctx, tenant, v, at)
				for d := range b.in.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
					if slices.ContainsFunc(d.Of, func(id string) bool { return b.record(d.Scope, id).State == driver.Merged }) {
						b.in.Apply(ctx, tenant, acts(driver.Remove, d))
					}
				}
				return n, err
			}
		}},
		{"finds host text by its first subject only", "DOCUMENT/", found(func(_ *broken, q driver.DocumentQuery, docs []driver.Document) []driver.Document {
			return slices.DeleteFunc(docs, func(d driver.Document) bool { return q.Subject != "" && d.Subjects[0] != q.Subject })
		})},
		{"keeps the subjects of what is retained", "DOCUMENT/", altered(func(b *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Retain {
				x.Subjects = b.document(&x.Document).Subjects
			}
		})},
		{"has documents of tenants only", "CTI-1/foreign-", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Class == driver.Machinery {
				x.Ref = ""
			}
		})},
		{"finds a tenant's own document where a ref has none", "DOCUMENT/", found(func(b *broken, q driver.DocumentQuery, docs []driver.Document) []driver.Document {
			if len(docs) == 0 {
				q.Ref = ""
				docs, _ = collect(b.in.Documents(context.Background(), q))
			}
			return docs
		})},
		{"keeps the digest of what was erased", "SR-1/erased", lingering(func(_ *broken, d driver.Document, _ driver.Mutation) bool {
			return strings.Contains(string(d.Value), canary)
		})},
		{"leaves documents to a sweeper when a subject is forgotten", "FORGET/documents", lingering(func(*broken, driver.Document, driver.Mutation) bool { return true })},
	}
}

func documentVersionDefects() []defect {
	versioned := func(name, needs string, f func(b *broken, m *driver.Mutation, made *driver.Applied)) defect {
		return defect{name, "DOCUMENT/" + needs, func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				if err == nil {
					f(b, &m, &made)
				}
				return made, err
			}
		}}
	}
	return []defect{
		versioned("makes a version of machinery", "machinery-version", func(b *broken, m *driver.Mutation, made *driver.Applied) {
			if m.Unversioned() {
				empty, _ := b.in.Apply(context.Background(), m.Documents[0].Tenant, driver.Mutation{})
				made.Version = empty.Version
			}
		}),
		versioned("names the version that there is for machinery", "machinery-version", func(b *broken, m *driver.Mutation, made *driver.Applied) {
			if m.Unversioned() {
				made.Version, _ = b.in.Version(context.Background(), m.Documents[0].Tenant)
			}
		}),
		versioned("makes no version of documents only", "other-version", func(b *broken, m *driver.Mutation, made *driver.Applied) {
			if len(m.Documents) > 0 && len(m.Put)+len(m.Live)+len(m.Events) == 0 {
				made.Version = ""
			}
		}),
		versioned("makes no version of machinery and a condition", "other-version", func(b *broken, m *driver.Mutation, made *driver.Applied) {
			if len(m.Live) > 0 && len(m.Put)+len(m.Retire) == 0 {
				made.Version = ""
			}
		}),
		{"shows documents as they were at the version that was read last", "DOCUMENT/revision-elsewhere", func(b *broken) {
			var read memo[string, []driver.Document]
			b.listAt = func(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
				found(func(_ *broken, q driver.DocumentQuery, _ []driver.Document) []driver.Document {
					return read.get(q.Tenant)
				})(b)
				return b.in.ListAt(ctx, s, v, q)
			}
			b.version = func(ctx context.Context, tenant string) (driver.Version, error) {
				docs, _ := collect(b.in.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}))
				read.set(tenant, docs)
				return b.in.Version(ctx, tenant)
			}
		}},
		versioned("makes no version of events only", "x", func(b *broken, m *driver.Mutation, made *driver.Applied) {
			if len(m.Events) > 0 && len(m.Put)+len(m.Retire)+len(m.Documents) == 0 {
				made.Version = ""
			}
		}).as("VIEW/of-events"),
	}
}

func (d defect) as(needs string) defect {
	d.needs = needs
	return d
}

func dueDefects() []defect {
	due := func(name, needs string, f func(b *broken, kind string, at time.Time, limit int) ([]driver.Document, error)) defect {
		return defect{name, needs, func(b *broken) {
			b.due = func(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return f(b, kind, at, limit)
			}
		}}
	}
	bg := context.Background()
	at := func(name, needs string, judge func(at time.Time) time.Time) defect {
		return due(name, "DUE/"+needs, func(b *broken, kind string, at time.Time, limit int) ([]driver.Document, error) {
			return b.in.Due(bg, kind, judge(at), limit)
		})
	}
	then := func(name, needs string, f func(docs []driver.Document, limit int) []driver.Document) defect {
		return due(name, "DUE/"+needs, func(b *broken, kind string, at time.Time, limit int) ([]driver.Document, error) {
			docs, err := b.in.Due(bg, kind, at, 1<<30)
			return f(docs, limit), err
		})
	}
	return []defect{
		at("finds what is due a millisecond late", "instant", func(at time.Time) time.Time { return at.Add(-time.Millisecond) }),
		at("finds what is due a millisecond early", "instant", func(at time.Time) time.Time { return at.Add(time.Millisecond) }),
		at("asks its own clock what is due", "instant", func(time.Time) time.Time { return time.Now() }),
		then("gives what is due last at a limit", "order", func(docs []driver.Document, limit int) []driver.Document {
			return docs[max(0, len(docs)-limit):]
		}),
		then("does not keep to the limit", "order", func(docs []driver.Document, _ int) []driver.Document { return docs }),
		then("gives what is due by its key", "order", func(docs []driver.Document, limit int) []driver.Document {
			slices.SortFunc(docs, func(a, b driver.Document) int { return strings.Compare(a.Key, b.Key) })
			return docs[:min(limit, len(docs))]
		}),
		due("finds what is due of kinds that look alike", "CTI-1/names-kind", func(b *broken, kind string, at time.Time, limit int) ([]driver.Document, error) {
			var docs []driver.Document
			for _, k := range lookalikes {
				if strings.EqualFold(k, kind) {
					part, _ := b.in.Due(bg, k, at, limit)
					docs = append(docs, part...)
				}
			}
			if len(docs) == 0 {
				return b.in.Due(bg, kind, at, limit)
			}
			return docs, nil
		}),
		due("takes what has no instant for due", "DUE/undated", func(b *broken, kind string, at time.Time, limit int) ([]driver.Document, error) {
			docs, err := b.in.Due(bg, kind, at, limit)
			if at.Year() > 9000 {
				for d := range b.in.Documents(bg, driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Kind: kind}) {
					docs = append(docs, d)
				}
			}
			return docs, err
		}),
		{"keeps the instant of what is retained without", "DUE/moved", altered(func(b *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Retain && x.Due.IsZero() && x.Class == driver.Machinery {
				x.Due = b.document(&x.Document).Due
			}
		})},
		{"keeps what was removed in the index of what is due", "DUE/moved", func(b *broken) {
			var removed []driver.Document
			mutated(func(b *broken, m *driver.Mutation) {
				for _, x := range m.Documents {
					if x.Act == driver.Remove && !x.Due.IsZero() {
						removed = append(removed, x.Document)
					}
				}
			})(b)
			b.due = func(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
				docs, err := b.in.Due(ctx, kind, at, limit)
				return append(docs, removed...), err
			}
		}},
		then("gives what is due without its group", "instant", func(docs []driver.Document, limit int) []driver.Document {
			for i := range docs {
				docs[i].Group = ""
			}
			return docs[:min(limit, len(docs))]
		}),
		then("gives what is due bare", "instant", func(docs []driver.Document, limit int) []driver.Document {
			for i := range docs {
				docs[i].Value = nil
			}
			return docs[:min(limit, len(docs))]
		}),
		then("gives a thousand of what is due", "many", func(docs []driver.Document, limit int) []driver.Document {
			return docs[:min(limit, 1000, len(docs))]
		}),
		then("loses one of many that are due", "many", func(docs []driver.Document, limit int) []driver.Document {
			if len(docs) > 20 {
				docs = docs[1:]
			}
			return docs[:min(limit, len(docs))]
		}),
		{"removes what is due of every tenant", "DUE/moved", func(b *broken) {
			var removed memo[string, bool]
			mutated(func(b *broken, m *driver.Mutation) {
				for _, x := range m.Documents {
					if x.Act == driver.Remove {
						removed.set(nameIn(&x.Document), true)
					}
				}
			})(b)
			b.due = func(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
				docs, err := b.in.Due(ctx, kind, at, limit)
				return slices.DeleteFunc(docs, func(d driver.Document) bool { return removed.get(nameIn(&d)) }), err
			}
		}},
	}
}
