package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Call is a mutation of a tenant on its way into a database.
type Call struct {
	Ctx     context.Context
	Tenant  string
	M       *driver.Mutation
	IsPut   bool        // it makes no version if its entry is there
	Mark    driver.Mark // of the version that it makes, if it makes one
	Plan    driver.Plan
	Refused error
	Done    driver.Applied
}

// Planned reports whether the mutation holds and writes something.
func (c *Call) Planned() bool { return c.Refused == nil && !(c.IsPut && c.Plan.Empty()) }

// InOrder returns the places of those swaps that keep selects, in the order of their names.
func (c *Call) InOrder(keep func(x *driver.DocumentSwap) bool) (order []int) {
	for i := range c.M.Documents {
		if keep(&c.M.Documents[i]) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return NameOf(&c.M.Documents[i].Document).Compare(NameOf(&c.M.Documents[j].Document))
	})
	return order
}

// DocumentName names a document of a tenant.
type DocumentName struct{ Ref, Kind, Key string }

// NameOf is the name of a document.
func NameOf(d *driver.Document) DocumentName { return DocumentName{d.Ref, d.Kind, d.Key} }

// Compare orders names by their bytes.
func (n DocumentName) Compare(o DocumentName) int {
	return cmp.Or(cmp.Compare(n.Ref, o.Ref), cmp.Compare(n.Kind, o.Kind), cmp.Compare(n.Key, o.Key))
}

// Group is what is stored of that which mutations of one tenant name. They share a transaction and
// are judged one after the other, each by what those before it leave, and each is whole or refused
// by itself. One that erases or restores is alone.
type Group struct {
	Stored    driver.Stored // but for the documents
	Documents map[DocumentName]*driver.Document
}

// NeedsOf is what is to be looked up for mutations, without its values.
func NeedsOf(calls []*Call) Group {
	g := Group{driver.Stored{Entries: map[driver.Located]driver.Record{}, MergedInto: map[driver.Located][]string{}},
		map[DocumentName]*driver.Document{}}
	for _, c := range calls {
		needs := c.M.Needs()
		maps.Copy(g.Stored.Entries, needs.Entries)
		maps.Copy(g.Stored.MergedInto, needs.MergedInto)
		for i := range c.M.Documents {
			g.Documents[NameOf(&c.M.Documents[i].Document)] = new(driver.Document)
		}
	}
	return g
}

// Judge plans a mutation, or refuses it by its Plan or by what else there is.
func (g *Group) Judge(c *Call, also func() error) {
	c.Done = driver.Applied{Revs: make([]int64, len(c.M.Documents))}
	g.Stored.Documents = make([]driver.Document, len(c.M.Documents))
	for i := range c.M.Documents {
		g.Stored.Documents[i] = *g.Documents[NameOf(&c.M.Documents[i].Document)]
	}
	if c.Plan, c.Refused = g.Stored.Plan(c.M); c.Refused == nil && also != nil {
		c.Refused = also()
	}
	if c.Refused == nil {
		g.leave(c)
	}
}

// unknownRev is the revision, which no caller can know, of a document that the transaction sets.
const unknownRev = -1

// leave makes of what is stored what a planned mutation leaves.
func (g *Group) leave(c *Call) {
	for i := range c.Plan.Insert {
		p := &c.Plan.Insert[i]
		g.Stored.Entries[p.Located()] = driver.Record{Scope: p.Scope, Entry: p.Entry}
	}
	for _, x := range c.Plan.Retire {
		r := g.Stored.Entries[x.Located]
		r.State, r.For = x.State, x.For
		g.Stored.Entries[x.Located] = r
	}
	for i := range c.M.Documents {
		x := &c.M.Documents[i]
		there := g.Documents[NameOf(&x.Document)]
		switch x.Act {
		case driver.Set, driver.Retain:
			there.Rev, there.Class = unknownRev, x.Class
		case driver.Remove:
			there.Rev = 0
		}
	}
	used := &g.Stored.Used
	used.Entries += c.Plan.Grows.Entries
	used.Bytes += c.Plan.Grows.Bytes
	if !c.M.Keep {
		used.Waiting += int64(len(c.M.Events))
	}
}

// Patience is how long a change whose context has ended is waited for.
const Patience = 5 * time.Second

// WhileAllWait is the context of a transaction that calls share. It ends once the context of one
// of them has been over for as long as a call waits.
func WhileAllWait(calls []*Call, wait time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var unhook []func() bool
	for _, c := range calls {
		unhook = append(unhook, context.AfterFunc(c.Ctx, func() { time.AfterFunc(wait, cancel) }))
	}
	return ctx, func() {
		for _, f := range unhook {
			f()
		}
		cancel()
	}
}
