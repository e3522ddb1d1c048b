package driver

import "slices"

// Relic is a record of a scope that a purge looks at. Records that are neither over
// nor retired can be left out.
type Relic struct {
	ID   string
	For  string // the id of its successor, if it has one
	Over bool   // by itself nothing can show it any more: erased, expired, or retired by the horizon
}

// Condemn returns the ids of those relics, all of one scope, that a purge removes: they are
// over, the end of their chain of successors is too, and no record that stays names them.
func Condemn(relics []Relic) (ids []string) {
	retiredFor := map[string][]*Relic{}
	for i := range relics {
		r := &relics[i]
		retiredFor[r.For] = append(retiredFor[r.For], r)
	}
	// The chains whose end is over, each relic behind its successor.
	var chains []*Relic
	for _, end := range retiredFor[""] {
		if end.Over {
			chains = append(chains, end)
		}
	}
	for i := 0; i < len(chains); i++ {
		chains = append(chains, retiredFor[chains[i].ID]...)
	}
	named := map[string]bool{} // by one that stays
	for _, r := range slices.Backward(chains) {
		if r.Over && !named[r.ID] {
			ids = append(ids, r.ID)
		} else {
			named[r.For] = true
		}
	}
	return ids
}
