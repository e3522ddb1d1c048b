package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/openwop/agentmemory/memory/driver"
)

// nameKind is the kind of the document that remembers which entry has a Draft.Name. It is
// content of the entry, so that forgetting the entry frees the name.
const nameKind = "memory/name"

// nameDocument is the document of a name; the name itself stays out of the store.
func nameDocument(s Scope, name string) driver.Document {
	sum := sha256.Sum256([]byte(name))
	return driver.Document{Scope: s, Class: driver.Content, Kind: nameKind, Key: hex.EncodeToString(sum[:])}
}

// takeNames are the swaps by which entries take the names of their drafts, or else those of what they replace.
func (b *Bank) takeNames(ctx context.Context, s Scope, drafts []Draft, es []Entry, ending map[string]bool) (
	swaps []driver.DocumentSwap, err error) {
	taken := map[string]bool{}
	for i, d := range drafts {
		if d.Name == "" {
			continue
		}
		free, err := b.freeName(ctx, s, d.Name, ending)
		if err != nil {
			return nil, err
		}
		taken[free.Key] = true
		swaps = append(swaps, giveName(free, es[i].ID))
	}
	for i, d := range drafts {
		if d.Name != "" {
			continue
		}
		kept, err := b.keepNames(ctx, s, d.Replaces, es[i].ID)
		if err != nil {
			return nil, err
		}
		for _, swap := range kept {
			if !taken[swap.Key] {
				swaps = append(swaps, swap)
			}
		}
	}
	return swaps, nil
}

// giveName is the swap by which an entry takes the name of a document. Its names are found by its id.
func giveName(d driver.Document, id string) driver.DocumentSwap {
	d.Of, d.Group = []string{id}, id
	return driver.DocumentSwap{Document: d}
}

// keepNames are the swaps by which an entry takes over the names of those that it replaces.
func (b *Bank) keepNames(ctx context.Context, s Scope, replaced []string, id string) (swaps []driver.DocumentSwap, err error) {
	for _, old := range replaced {
		q := driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: nameKind, Group: old}
		for d, err := range b.tx.Documents(ctx, q) {
			if err != nil {
				return nil, shape(err)
			}
			swaps = append(swaps, giveName(d, id))
		}
	}
	return swaps, nil
}

// freeName returns the document of a name. It fails if a live entry has the name that is not among those that end.
func (b *Bank) freeName(ctx context.Context, s Scope, name string, ending map[string]bool) (driver.Document, error) {
	free := nameDocument(s, name)
	q := driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: free.Kind, Key: free.Key}
	for d, err := range b.tx.Documents(ctx, q) {
		if err != nil {
			return free, shape(err)
		}
		holders, err := lookup(ctx, b.tx, s, d.Of)
		if err != nil {
			return free, err
		}
		for _, h := range holders {
			if h.State == Live && !h.Erased && h.Entry.LiveAt(b.Now()) && !ending[h.Entry.ID] {
				return free, errNamed
			}
		}
		free.Rev = d.Rev
	}
	return free, nil
}

var errNamed = fail(ErrConflict, "another live entry of the ref has Draft.Name: replace it, or take another name")
