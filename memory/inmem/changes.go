package inmem

import (
	"context"
	"sort"

	"github.com/openwop/agentmemory/memory/driver"
)

// change is what a mutation did to a record.
type change struct {
	version uint64
	act     act
	rec     *record
}

type act uint8

const (
	put act = iota
	retired
	restored
	erased
	acts
)

func (sc *scope) note(v uint64, a act, r *record) {
	sc.journal = append(sc.journal, change{v, a, r})
}

// after returns the part of the journal that came after version v.
func (sc *scope) after(v uint64) []change {
	return sc.journal[sort.Search(len(sc.journal), func(i int) bool { return sc.journal[i].version > v }):]
}

// Changes returns the ids of a scope that were touched by the mutations after the
// version from, up to and with the version to.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	t, low, err := st.at(ctx, s.Tenant, from)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	_, high, err := st.at(ctx, s.Tenant, to)
	if err != nil || t == nil {
		return driver.ChangeSet{}, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, n := range []uint64{low, high} {
		if err := t.available(n); err != nil {
			return driver.ChangeSet{}, err
		}
	}
	var ids [acts][]string
	if sc := t.scopes[s.Ref]; sc != nil {
		seen := map[change]bool{}
		for _, c := range sc.after(low) {
			if c.version > high {
				break
			}
			if same := (change{act: c.act, rec: c.rec}); !seen[same] {
				seen[same] = true
				ids[c.act] = append(ids[c.act], c.rec.entry.ID)
			}
		}
	}
	return driver.ChangeSet{Put: ids[put], Retired: ids[retired], Restored: ids[restored], Erased: ids[erased]}, nil
}
