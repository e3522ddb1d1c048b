package driver

import "slices"

// Relic is a record of a scope that a purge looks at. Records that are neither ended nor
// retired can be left out.
type Relic struct {
	ID      string
	For     string // the id of its successor, if it has one
	State   State
	Ended   bool // erased or expired
	Retired bool // by the horizon
}

// Condemn returns the ids of those relics, all of one scope, that a purge removes. They are
// ended or retired by the horizon, and so is the end of their chain of successors. No record
// that stays names them, and none of them can be restored by an erasure of that end: it does
// so for a merged entry that is not ended, unless one was superseded or deleted on the way.
func Condemn(relics []Relic) (ids []string) {
	retiredFor := map[string][]*Relic{}
	for i := range relics {
		r := &relics[i]
		retiredFor[r.For] = append(retiredFor[r.For], r)
	}
	// The chains whose end is over, each relic behind its successor.
	type link struct {
		*Relic
		merged bool // all the way to an end that was neither superseded nor deleted
	}
	var chains []link
	for _, end := range retiredFor[""] {
		if end.Ended || end.Retired {
			chains = append(chains, link{end, end.State == Live})
		}
	}
	for i := 0; i < len(chains); i++ {
		for _, r := range retiredFor[chains[i].ID] {
			chains = append(chains, link{r, chains[i].merged && r.State == Merged})
		}
	}
	named := map[string]bool{} // by one that stays
	for _, r := range slices.Backward(chains) {
		if (r.Ended || r.Retired && !r.merged) && !named[r.ID] {
			ids = append(ids, r.ID)
		} else {
			named[r.For] = true
		}
	}
	return ids
}
