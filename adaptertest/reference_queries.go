package adaptertest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// What the reference answers to each query of a store.

// undelivered are the events that wait of a run, or of all, in the order of commits.
func (r *reference) undelivered(tenant, run string) []events.Record {
	var out []events.Record
	for _, e := range r.outbox {
		if r.waiting[eventName{e.Tenant, e.RunID, e.ID}] == e && (run == "" || tenant == e.Tenant && run == e.RunID) {
			out = append(out, *e)
		}
	}
	return out
}

// list returns what was not retired at v, the current version if v is below zero.
func (r *reference) list(s driver.Scope, v int, q driver.Query) []driver.Entry {
	t := r.tenant(s.Tenant)
	if v < 0 {
		v = t.version
	}
	found := []driver.Entry{}
	for _, rec := range t.refs[s.Ref] {
		e := &rec.Entry
		if hasVersion(rec.lives, v) && (e.ExpiresAt.IsZero() || q.At.Before(e.ExpiresAt)) && asksFor(&q, e) &&
			(q.After.IsZero() || cmp.Or(q.After.CreatedAt.Compare(e.CreatedAt), strings.Compare(q.After.ID, e.ID)) > 0) {
			found = append(found, *e)
		}
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

// asksFor reports whether the fields of a query that narrow let an entry through.
func asksFor(q *driver.Query, e *driver.Entry) bool {
	for _, tag := range q.Tags {
		if !slices.Contains(e.Tags, tag) {
			return false
		}
	}
	return (len(q.IDs) == 0 || slices.Contains(q.IDs, e.ID)) && (q.Subject == "" || slices.Contains(e.Subjects, q.Subject)) &&
		(q.Since.IsZero() || !e.CreatedAt.Before(q.Since)) && (q.Until.IsZero() || e.CreatedAt.Before(q.Until))
}

// history are the records that a query asks for, by ref and id.
func (r *reference) history(tenant string, q driver.HistoryQuery) []driver.Record {
	refs := r.tenant(tenant).refs
	if q.Ref != "" {
		refs = map[string][]*refRecord{q.Ref: refs[q.Ref]}
	}
	found := []driver.Record{}
	for _, recs := range refs {
		for _, rec := range recs {
			if (q.Subject == "" || slices.Contains(rec.Entry.Subjects, q.Subject)) &&
				(len(q.For) == 0 || slices.Contains(q.For, rec.For)) {
				found = append(found, rec.Record)
			}
		}
	}
	slices.SortFunc(found, compareRecords)
	return found
}

func compareRecords(a, b driver.Record) int {
	return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Entry.ID, b.Entry.ID))
}

// find are the documents that a query asks for, in their order.
func (r *reference) find(q driver.DocumentQuery) []driver.Document {
	documents := r.tenant(q.Tenant).documents
	var names []documentName
	for name, d := range documents {
		if (q.EveryRef || q.Ref == d.Ref) && (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) &&
			(q.Group == "" || q.Group == d.Group) && (q.Subject == "" || slices.Contains(d.Subjects, q.Subject)) &&
			(q.After == nil || compareNames(nameOf(q.After), name) < 0) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareNames)
	if q.Limit > 0 {
		names = names[:min(len(names), q.Limit)]
	}
	out := make([]driver.Document, len(names))
	for i, name := range names {
		if out[i] = documents[name]; q.Bare {
			out[i].Value = nil
		}
	}
	return out
}

// due is what is due of a kind. What is due at one instant has no order.
func (r *reference) due(kind string, at time.Time) []driver.Document {
	var out []driver.Document
	for _, t := range r.tenants {
		for _, d := range t.documents {
			if d.Kind == kind && !d.Due.IsZero() && !d.Due.After(at) {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, compareDue)
	return out
}

func compareDue(a, b driver.Document) int {
	return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.Tenant, b.Tenant), compareNames(nameOf(&a), nameOf(&b)))
}

// scopes are those that hold anything, in their order.
func (r *reference) scopes() []driver.Scope {
	held := map[driver.Scope]bool{}
	for tenant, t := range r.tenants {
		for ref, recs := range t.refs {
			if len(recs) > 0 {
				held[at(tenant, ref)] = true
			}
		}
		for name := range t.documents {
			held[at(tenant, name.ref)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(held), compareScopes)
}

func compareScopes(a, b driver.Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref))
}

func (r *reference) intact(s driver.Scope, v int) bool {
	return !hasVersion(r.tenant(s.Tenant).erasedAt[s.Ref], v)
}

// changed are what the mutations after one version up to another did in a scope.
func (r *reference) changed(s driver.Scope, from, to int) driver.ChangeSet {
	var ids [4]map[string]bool
	for _, c := range r.tenant(s.Tenant).changes {
		if c.ref == s.Ref && from < c.version && c.version <= to {
			if ids[c.kind] == nil {
				ids[c.kind] = map[string]bool{}
			}
			ids[c.kind][c.id] = true
		}
	}
	list := func(kind refKind) []string { return slices.Sorted(maps.Keys(ids[kind])) }
	return driver.ChangeSet{Put: list(refPut), Retired: list(refRetired), Restored: list(refRestored), Erased: list(refErased)}
}
