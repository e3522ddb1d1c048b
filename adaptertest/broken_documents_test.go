package adaptertest

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// document is a document as the store has it; its revision is 0 if there is none.
func (b *broken) document(d *driver.Document) driver.Document {
	for held := range b.in.Documents(context.Background(), exactly(d)) {
		return held
	}
	return driver.Document{}
}

// swapped lets a swap through if keep says so, and may change it. Of others the store
// says that they were done.
func swapped(keep func(b *broken, i int, x *driver.DocumentSwap) bool) func(b *broken) {
	return func(b *broken) {
		apply := b.apply
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			var kept []int
			all := m.Documents
			m.Documents = nil
			for i, x := range all {
				if keep(b, i, &x) {
					m.Documents, kept = append(m.Documents, x), append(kept, i)
				}
			}
			made, err := apply(ctx, tenant, m)
			if err != nil || len(kept) == len(all) {
				return made, err
			}
			revs := make([]int64, len(all))
			for i, x := range all {
				if revs[i] = x.Rev; x.Act == driver.Set || x.Act == driver.Retain {
					revs[i] = x.Rev + 1
				}
			}
			for k, i := range kept {
				revs[i] = made.Revs[k]
			}
			made.Revs = revs
			return made, nil
		}
	}
}

// altered changes swaps before the store has them.
func altered(f func(b *broken, x *driver.DocumentSwap)) func(b *broken) {
	return swapped(func(b *broken, _ int, x *driver.DocumentSwap) bool { f(b, x); return true })
}

// found makes something else of the documents that a query finds.
func found(f func(b *broken, q driver.DocumentQuery, docs []driver.Document) []driver.Document) func(b *broken) {
	return func(b *broken) {
		b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
			docs, err := collect(b.in.Documents(ctx, q))
			if err != nil {
				return sequence[driver.Document](nil, err)
			}
			return sequence(f(b, q, docs), nil)
		}
	}
}

// shown changes each document that is yielded or due.
func shown(f func(d *driver.Document)) func(b *broken) {
	return func(b *broken) {
		found(func(_ *broken, _ driver.DocumentQuery, docs []driver.Document) []driver.Document {
			for i := range docs {
				f(&docs[i])
			}
			return docs
		})(b)
	}
}

func documentDefects() []defect {
	all := slices.Concat(swapDefects(), documentQueryDefects(), contentDefects(), dueDefects(), documentVersionDefects())
	for _, r := range refusedParts {
		all = append(all, defect{"takes a mutation that " + r.says, "DOCUMENT/refused-" + r.name, func(b *broken) {
			apply := b.apply
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := apply(ctx, tenant, m)
				for _, bad := range r.refused() {
					if strings.Contains(describeMutation(&m), describeMutation(&bad)) {
						return driver.Applied{Revs: make([]int64, len(m.Documents))}, ctx.Err()
					}
				}
				return made, err
			}
		}})
	}
	return all
}

// conflicting lets a mutation through that the store refuses, without doing it, if skip
// says so of one of its swaps.
func conflicting(skip func(b *broken, x *driver.DocumentSwap) bool) func(b *broken) {
	return swapped(func(b *broken, _ int, x *driver.DocumentSwap) bool { return !skip(b, x) })
}

func swapDefects() []defect {
	act := func(a driver.Act) func(b *broken, x *driver.DocumentSwap) bool {
		return func(b *broken, x *driver.DocumentSwap) bool {
			return x.Act == a && b.document(&x.Document).Rev != x.Rev
		}
	}
	return []defect{
		{"sets a document whatever its revision is", "DOCUMENT/revision", conflicting(act(driver.Set))},
		{"retains a document whatever its revision is", "DOCUMENT/revision", conflicting(act(driver.Retain))},
		{"does not look at the revision that is to be checked", "DOCUMENT/revision", conflicting(act(driver.Check))},
		{"removes a document whatever its revision is", "DOCUMENT/revision", conflicting(act(driver.Remove))},
		{"sets a document that should not have been there", "DOCUMENT/revision", altered(func(b *broken, x *driver.DocumentSwap) {
			if x.Rev == 0 {
				x.Rev = b.document(&x.Document).Rev
			}
		})},
		{"takes the revision of a document of another name", "DOCUMENT/revision-elsewhere", conflicting(func(b *broken, x *driver.DocumentSwap) bool {
			held := false
			for d := range b.in.Documents(context.Background(), driver.DocumentQuery{Tenant: x.Tenant, EveryRef: true}) {
				held = held || d.Rev == x.Rev && nameOf(&d) != nameOf(&x.Document)
			}
			return held
		})},
		{"changes the class of a document", "DOCUMENT/class", conflicting(func(b *broken, x *driver.DocumentSwap) bool {
			return b.document(&x.Document).Class != x.Class && x.Rev > 0
		})},
		{"removes documents of any class", "DOCUMENT/class", altered(func(b *broken, x *driver.DocumentSwap) {
			if held := b.document(&x.Document); x.Act == driver.Remove && held.Rev == x.Rev {
				x.Class = held.Class
			}
		})},
		{"keeps the group of what is set without", "DOCUMENT/", altered(func(b *broken, x *driver.DocumentSwap) {
			if held := b.document(&x.Document); x.Group == "" && x.Act == driver.Set {
				x.Group = held.Group
			}
		})},
		{"keeps the value of what is set without", "DOCUMENT/", altered(func(b *broken, x *driver.DocumentSwap) {
			if len(x.Value) == 0 && x.Rev > 0 && x.Act == driver.Set {
				x.Act = driver.Retain
			}
		})},
		{"stores the value of what is retained", "DOCUMENT/", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Retain {
				x.Act = driver.Set
			}
		})},
		{"keeps the group of what is retained", "DOCUMENT/", altered(func(b *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Retain {
				x.Group = b.document(&x.Document).Group
			}
		})},
		{"raises the revision of what is checked", "DOCUMENT/several", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Check && x.Rev > 0 {
				x.Act = driver.Retain
			}
		})},
		{"refuses to check that there is none", "DOCUMENT/several", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Check && x.Rev == 0 {
				x.Rev = 1 << 40
			}
		})},
		{"refuses to remove what is not there", "DOCUMENT/remove", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Remove && x.Rev == 0 {
				x.Rev = 1 << 40
			}
		})},
		{"empties what is removed", "DOCUMENT/remove", altered(func(_ *broken, x *driver.DocumentSwap) {
			if x.Act == driver.Remove && x.Rev > 0 && x.Class == driver.HostText {
				x.Act, x.Value, x.Subjects = driver.Set, nil, nil
			}
		})},
		{"begins with the first revision again after a removal", "DOCUMENT/revisions-ascend", func(b *broken) {
			removed := false
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				for i, x := range m.Documents {
					if removed && x.Rev == 0 && x.Act == driver.Set && err == nil {
						made.Revs[i] = 1
					}
					removed = removed || x.Act == driver.Remove
				}
				return made, err
			}
		}},
		{"numbers revisions of each tenant for itself", "DOCUMENT/revisions-ascend", func(b *broken) {
			var offset memo[string, int64]
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				if _, known := offset.find(tenant); !known && len(made.Revs) == 1 {
					offset.set(tenant, made.Revs[0]-1)
					made.Revs[0] = 1
				}
				return made, err
			}
		}},
		{"gives revisions in the order of the names", "DOCUMENT/several", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				if len(made.Revs) > 2 {
					made.Revs[0], made.Revs[1] = made.Revs[1], made.Revs[0]
				}
				return made, err
			}
		}},
		{"stores documents one by one", "DOCUMENT/several", func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.in.Apply(ctx, tenant, m)
				for i := 0; err != nil && i < len(m.Documents); i++ {
					b.in.Apply(ctx, tenant, driver.Mutation{Documents: m.Documents[i : i+1]})
				}
				return made, err
			}
		}},
		keepsWhole("keeps content of a whole ref at an erasure", "DOCUMENT/whole-erased", func(b *broken, note func(tenant string)) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				if len(m.Erase) > 0 {
					note(tenant)
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}),
		keepsWhole("keeps content of a whole ref at a purge", "DOCUMENT/whole-purged", func(b *broken, note func(tenant string)) {
			b.purge = func(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
				note(tenant)
				return b.in.Purge(ctx, tenant, v, at)
			}
		}),
		{"removes content of a whole ref at any change", "DOCUMENT/whole-erased", func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				ok, err := b.in.Delete(ctx, s, id, at)
				for d := range b.in.Documents(ctx, driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: "whole"}) {
					b.in.Apply(ctx, s.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{{Document: d, Act: driver.Remove}}})
				}
				return ok, err
			}
		}},
		{"lists files as entries", "DOCUMENT/apart", func(b *broken) {
			b.show["list-at"] = func(s driver.Scope, _ time.Time, entries []driver.Entry) []driver.Entry {
				for d := range b.in.Documents(context.Background(), driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: "file"}) {
					entries = append(entries, driver.Entry{ID: d.Key})
				}
				return entries
			}
		}},
		{"takes the key of a document for a used id", "DOCUMENT/apart", mutated(func(b *broken, m *driver.Mutation) {
			for _, p := range m.Put {
				if d := note(p.Scope, p.Entry.ID, ""); b.document(&d).Rev > 0 {
					m.Live = located(p.Scope, "never")
				}
			}
		})},
		{"lets a reader and the one who set a document share its value", "DOCUMENT/values", func(b *broken) {
			var shared memo[string, []byte]
			altered(func(_ *broken, x *driver.DocumentSwap) { shared.set(describeName(&x.Document), x.Value) })(b)
			shown(func(d *driver.Document) { d.Value = shared.get(describeName(d)) })(b)
		}},
	}
}

func documentQueryDefects() []defect {
	alter := func(name, needs string, f func(d *driver.Document)) defect {
		return defect{name, "DOCUMENT/" + needs, altered(func(_ *broken, x *driver.DocumentSwap) { f(&x.Document) })}
	}
	show := func(name, needs string, f func(d *driver.Document)) defect {
		return defect{name, "DOCUMENT/" + needs, shown(f)}
	}
	ask := func(name, needs string, f func(q *driver.DocumentQuery)) defect {
		return defect{name, "DOCUMENT/" + needs, func(b *broken) {
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				f(&q)
				return b.in.Documents(ctx, q)
			}
		}}
	}
	all := []defect{
		alter("keeps when it is due to the second", "", func(d *driver.Document) { d.Due = d.Due.Truncate(time.Second) }),
		show("gives the instant in local time", "", func(d *driver.Document) {
			if !d.Due.IsZero() {
				d.Due = d.Due.In(time.FixedZone("", 3600)).Add(time.Hour)
			}
		}),
		show("sorts what a document is made of", "", func(d *driver.Document) { slices.Sort(d.Of) }),
		show("joins the subjects of host text by a comma", "labels", func(d *driver.Document) {
			if len(d.Subjects) > 0 {
				d.Subjects = strings.Split(strings.Join(d.Subjects, ","), ",")
			}
		}),
		show("forgets the class", "", func(d *driver.Document) { d.Class = driver.Machinery }),
		alter("ends values at a zero byte", "values", func(d *driver.Document) { d.Value, _, _ = bytes.Cut(d.Value, []byte{0}) }),
		alter("keeps values as text", "values", func(d *driver.Document) { d.Value = bytes.ToValidUTF8(d.Value, []byte("\ufffd")) }),
		alter("cuts values at 64 KiB", "", func(d *driver.Document) { d.Value = d.Value[:min(len(d.Value), 1<<16)] }),
		alter("has columns of 255 bytes for keys", "largest-names", func(d *driver.Document) { d.Key = d.Key[:min(len(d.Key), 255)] }),
		alter("runs kind and key together", "", func(d *driver.Document) { d.Kind, d.Key = "k", d.Kind+"/"+d.Key }),
		alter("runs kind and key together by nothing", "", func(d *driver.Document) { d.Kind, d.Key = "k", d.Kind+d.Key }),
		{"orders documents by key alone", "DOCUMENT/order", found(func(_ *broken, _ driver.DocumentQuery, docs []driver.Document) []driver.Document {
			slices.SortStableFunc(docs, func(a, b driver.Document) int { return strings.Compare(a.Key, b.Key) })
			return docs
		})},
		{"orders documents without regard to case", "DOCUMENT/order", found(func(_ *broken, _ driver.DocumentQuery, docs []driver.Document) []driver.Document {
			slices.SortStableFunc(docs, func(a, b driver.Document) int {
				return slices.Compare([]string{a.Ref, strings.ToLower(a.Kind)}, []string{b.Ref, strings.ToLower(b.Kind)})
			})
			return docs
		})},
		ask("takes an empty ref for every ref", "", func(q *driver.DocumentQuery) { q.EveryRef = q.EveryRef || q.Ref == "" }),
		ask("looks at the ref though every ref is asked for", "", func(q *driver.DocumentQuery) { q.EveryRef = q.EveryRef && q.Ref == "" }),
		ask("does not look at the group where there is a subject", "narrowed", func(q *driver.DocumentQuery) {
			if q.Subject != "" {
				q.Group = ""
			}
		}),
		ask("does not look at the kind where there is a group", "narrowed", func(q *driver.DocumentQuery) {
			if q.Group != "" {
				q.Kind = ""
			}
		}),
		ask("does not look at group and subject of a document named exactly", "narrowed", func(q *driver.DocumentQuery) {
			if q.Kind != "" && q.Key != "" {
				q.Group, q.Subject = "", ""
			}
		}),
		{"finds a document by the group that it had", "DOCUMENT/", func(b *broken) {
			var had memo[string, string]
			altered(func(_ *broken, x *driver.DocumentSwap) {
				if x.Group != "" {
					had.set(describeName(&x.Document)+x.Group, x.Group)
				}
			})(b)
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				group := q.Group
				q.Group = ""
				docs, err := collect(b.in.Documents(ctx, q))
				return sequence(slices.DeleteFunc(docs, func(d driver.Document) bool { return had.get(describeName(&d)+group) != group }), err)
			}
		}},
		ask("leaves nothing out", "", func(q *driver.DocumentQuery) { q.Bare = false }),
		show("leaves out with the value what it is made of", "", func(d *driver.Document) {
			if d.Value == nil {
				d.Of = nil
			}
		}),
		{"has a page of a thousand documents", "SIZES/many-documents", found(func(_ *broken, _ driver.DocumentQuery, docs []driver.Document) []driver.Document {
			return docs[:min(1000, len(docs))]
		})},
		{"walks through documents by offset", "MODEL/loop-documents", func(b *broken) {
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return func(yield func(driver.Document, error) bool) {
					for offset := 0; ; offset++ {
						docs, err := collect(b.in.Documents(ctx, q))
						if err != nil || offset >= len(docs) || !yield(docs[offset], nil) {
							if err != nil {
								yield(driver.Document{}, err)
							}
							return
						}
					}
				}
			}
		}},
		{"holds a lock once documents were left early", "FAULT/consolidation-pass", func(b *broken) {
			var mu sync.Mutex
			stuck := false
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return func(yield func(driver.Document, error) bool) {
					for d, err := range b.in.Documents(ctx, q) {
						if !yield(d, err) {
							mu.Lock()
							stuck = true
							mu.Unlock()
							return
						}
					}
				}
			}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				mu.Lock()
				defer mu.Unlock()
				if stuck {
					return driver.Applied{}, errLocked
				}
				return b.in.Apply(ctx, tenant, m)
			}
		}},
	}
	for _, n := range documentNames {
		for _, f := range folds {
			all = append(all, defect{"finds documents by a " + n.name + " without its " + f.name, "CTI-1/names-" + n.name, looksAlike(n.name, f.of)})
		}
	}
	return all
}

// looksAlike finds what has the name that is asked for once both are folded.
func looksAlike(name string, fold func(string) string) func(b *broken) {
	return func(b *broken) {
		tenants := map[string]bool{}
		altered(func(b *broken, x *driver.DocumentSwap) {
			b.mu.Lock()
			defer b.mu.Unlock()
			tenants[x.Tenant] = true
		})(b)
		b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
			asked, wide := q, q
			of := func(d *driver.Document) []string { return []string{d.Key} }
			want := q.Key
			switch name {
			case "tenant":
				want, of = q.Tenant, func(d *driver.Document) []string { return []string{d.Tenant} }
			case "ref":
				wide.EveryRef, want, of = true, q.Ref, func(d *driver.Document) []string { return []string{d.Ref} }
			case "kind":
				wide.Kind, want, of = "", q.Kind, func(d *driver.Document) []string { return []string{d.Kind} }
			case "key":
				wide.Key = ""
			case "group":
				wide.Group, want, of = "", q.Group, func(d *driver.Document) []string { return []string{d.Group} }
			case "subject":
				wide.Subject, want, of = "", q.Subject, func(d *driver.Document) []string { return d.Subjects }
			}
			if want == "" || name == "ref" && asked.EveryRef {
				return b.in.Documents(ctx, asked)
			}
			var docs []driver.Document
			b.mu.Lock()
			known := slices.Sorted(maps.Keys(tenants))
			b.mu.Unlock()
			for _, tenant := range known {
				if tenant == q.Tenant || name == "tenant" {
					wide.Tenant = tenant
					part, _ := collect(b.in.Documents(ctx, wide))
					docs = append(docs, part...)
				}
			}
			return sequence(slices.DeleteFunc(docs, func(d driver.Document) bool {
				return !slices.ContainsFunc(of(&d), func(s string) bool { return s != "" && fold(s) == fold(want) })
			}), ctx.Err())
		}
	}
}

// documentNames are the names by which documents are found.
var documentNames = []struct {
	name string
	set  func(d *driver.Document, name string)
	ask  func(q *driver.DocumentQuery, name string)
}{
	{"tenant", func(d *driver.Document, name string) { d.Tenant = name }, func(q *driver.DocumentQuery, name string) { q.Tenant = name }},
	{"ref", func(d *driver.Document, name string) { d.Ref = name }, func(q *driver.DocumentQuery, name string) { q.Ref, q.EveryRef = name, false }},
	{"kind", func(d *driver.Document, name string) { d.Kind = name }, func(q *driver.DocumentQuery, name string) { q.Kind = name }},
	{"key", func(d *driver.Document, name string) { d.Key = name }, func(q *driver.DocumentQuery, name string) { q.Key = name }},
	{"group", func(d *driver.Document, name string) { d.Group = name }, func(q *driver.DocumentQuery, name string) { q.Group = name }},
	{"subject", func(d *driver.Document, name string) { d.Subjects = []string{"everyone", name} },
		func(q *driver.DocumentQuery, name string) { q.Subject = name }},
}

// keepsWhole shows documents of whole refs that were there when a defect noted them.
func keepsWhole(name, needs string, do func(b *broken, note func(tenant string))) defect {
	return defect{name, needs, func(b *broken) {
		var noted []driver.Document
		do(b, func(tenant string) {
			docs, _ := collect(b.in.Documents(context.Background(), driver.DocumentQuery{Tenant: tenant, EveryRef: true, Kind: "whole"}))
			noted = append(noted, docs...)
		})
		b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
			docs, err := collect(b.in.Documents(ctx, q))
			for _, d := range noted {
				if q.Matches(&d) && !slices.ContainsFunc(docs, func(o driver.Document) bool { return nameOf(&o) == nameOf(&d) }) {
					docs = append(docs, d)
				}
			}
			return sequence(docs, err)
		}
	}}
}
