package adaptertest

import (
	"cmp"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Queries of an audit that chance puts together: of each thing that a query can ask for,
// some ask for it and some do not, with names that records and documents have. The dice
// of an audit fall by the tenant, so that the same steps always meet the same queries.

// atRandom is how many queries of each kind an audit of a scope makes.
func (w *world) atRandom() int {
	if w.thorough {
		return 30
	}
	return 3
}

func (w *world) throwDice(tenant string) {
	h := fnv.New64a()
	io.WriteString(h, tenant)
	w.dice = rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// some is one of the things, or nothing.
func some[T any](w *world, things []T) (none T) {
	if len(things) == 0 || w.dice.IntN(2) == 0 {
		return none
	}
	return things[w.dice.IntN(len(things))]
}

// noRecord is a record of nothing.
var noRecord = &refRecord{}

// someRecord is one of the records of a scope, or noRecord.
func (w *world) someRecord(s driver.Scope) *refRecord {
	return cmp.Or(some(w, w.ref.tenant(s.Tenant).refs[s.Ref]), noRecord)
}

// anyQuery asks for a page of a list.
func (w *world) anyQuery(s driver.Scope) driver.Query {
	q := driver.Query{At: w.now, Limit: [...]int{0, 0, 1, 2, 3, 4, 5, math.MaxInt32, math.MaxInt}[w.dice.IntN(9)]}
	recs := w.ref.tenant(s.Tenant).refs[s.Ref]
	for n := w.dice.IntN(3); n > 0 && len(recs) > 0; n-- {
		if tags := recs[w.dice.IntN(len(recs))].Entry.Tags; len(tags) > 0 {
			q.Tags = append(q.Tags, tags[w.dice.IntN(len(tags))])
		}
	}
	q.Subject = some(w, w.someRecord(s).Entry.Subjects)
	for _, edge := range []*time.Time{&q.Since, &q.Until} {
		if rec := w.someRecord(s); rec.id != "" && w.dice.IntN(4) > 0 {
			*edge = rec.created.Add(time.Duration(w.dice.IntN(2)))
		}
	}
	for range w.dice.IntN(3) * w.dice.IntN(4) {
		q.IDs = append(q.IDs, cmp.Or(w.someRecord(s).id, "never"))
	}
	if rec := w.someRecord(s); rec.id != "" {
		q.After = driver.Cursor{CreatedAt: rec.created.Add(time.Duration(w.dice.IntN(3)-1) * time.Millisecond), ID: rec.id + some(w, []string{"!"})}
	}
	return q
}

// near is a query that differs from another one in one field, which it has from a third. A store that
// keeps answers may take it for that other one.
func near(w *world, other, third driver.Query) driver.Query {
	field := w.dice.IntN(reflect.TypeFor[driver.Query]().NumField())
	reflect.ValueOf(&other).Elem().Field(field).Set(reflect.ValueOf(third).Field(field))
	return other
}

// anyHistory asks for some records of a scope, or of its tenant.
func (w *world) anyHistory(s driver.Scope) driver.HistoryQuery {
	q := driver.HistoryQuery{Ref: s.Ref, Subject: some(w, w.someRecord(s).Entry.Subjects)}
	for range w.dice.IntN(3) {
		rec := w.someRecord(s)
		q.For = append(q.For, rec.id, rec.For)
	}
	q.For = slices.DeleteFunc(q.For, func(id string) bool { return id == "" })
	if len(q.For) == 0 && w.dice.IntN(2) == 0 {
		q.Ref = ""
	}
	return q
}

// anyDocuments asks for some documents of a tenant, or for none.
func (w *world) anyDocuments(tenant string, names []documentName) driver.DocumentQuery {
	documents := w.ref.tenant(tenant).documents
	pick := func() driver.Document { return documents[names[w.dice.IntN(len(names))]] }
	one, other := pick(), pick()
	if w.dice.IntN(3) > 0 {
		other = one
	}
	q := driver.DocumentQuery{Bare: w.dice.IntN(4) == 0, Group: some(w, []string{one.Group}), Subject: some(w, other.Subjects)}
	q.Kind, q.Key = some(w, []string{one.Kind}), some(w, []string{one.Key})
	if q.Ref = one.Ref; w.dice.IntN(2) == 0 {
		q.EveryRef, q.Ref = true, some(w, []string{other.Ref}) // which does not matter then
	}
	if w.dice.IntN(3) == 0 {
		behind := pick()
		q.After, q.Limit = &driver.Document{Scope: behind.Scope, Kind: behind.Kind, Key: behind.Key + some(w, []string{"!"})}, w.dice.IntN(3)
	}
	return q
}
