package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Changes = (*Store)(nil)

// Changes returns the ids of a scope that were touched by the mutations after the version
// from, up to and with the version to.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	ids := map[byte]map[string]bool{isPut: {}, isRetired: {}, isRestored: {}, isErased: {}}
	err := st.viewAt(ctx, s.Tenant, from, func(t *tx, low uint64) {
		high, err := st.number(t, s.Tenant, to)
		if err != nil {
			t.failed(err)
		}
		own, ref := key(s.Tenant), key(s.Ref)
		for k := range t.ascend(journal, own, with(own, low+1, "")) {
			version, rest := binary.BigEndian.Uint64(k[len(own):]), k[len(own)+8:]
			if version > high {
				break
			}
			if what, mine := bytes.CutPrefix(rest, ref); mine {
				ids[what[0]][string(what[1:])] = true
			}
		}
	})
	list := func(what byte) []string { return slices.Collect(maps.Keys(ids[what])) }
	return driver.ChangeSet{Put: list(isPut), Retired: list(isRetired), Restored: list(isRestored), Erased: list(isErased)}, err
}
