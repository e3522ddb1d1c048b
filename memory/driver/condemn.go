package driver

// Relic is a record of a scope that a purge looks at. Records that are neither over
// nor retired can be left out.
type Relic struct {
	ID   string
	For  string // the id of its successor, if it has one
	Over bool   // by itself nothing can show it any more: erased, expired, or retired by the horizon
}

// Condemn returns the ids of those relics, all of one scope, that a purge removes: they are
// over, the end of their chain of successors is too, and no record that stays names them.
func Condemn(relics []Relic) []string {
	index := make(map[string]int, len(relics))
	for i, r := range relics {
		index[r.ID] = i
	}
	ends := make([]int8, len(relics)) // of the chain: 0 unknown, 1 over, 2 not
	gone := make([]bool, len(relics))
	for i, r := range relics {
		gone[i] = r.Over && endsOver(relics, index, ends, i)
	}
	for i := range relics {
		if gone[i] {
			continue
		}
		for next, held := index[relics[i].For]; held && gone[next]; next, held = index[relics[next].For] {
			gone[next] = false
		}
	}
	var ids []string
	for i, r := range relics {
		if gone[i] {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// endsOver reports whether the last of the successors of relic i is over. One that is
// not among the relics is not.
func endsOver(relics []Relic, index map[string]int, ends []int8, i int) bool {
	chain := []int{i}
	end := ends[i]
	for end == 0 {
		r := &relics[chain[len(chain)-1]]
		next, held := index[r.For]
		switch {
		case r.For == "" && r.Over:
			end = 1
		case r.For == "" || !held:
			end = 2
		default:
			chain = append(chain, next)
			end = ends[next]
		}
	}
	for _, c := range chain {
		ends[c] = end
	}
	return end == 1
}
