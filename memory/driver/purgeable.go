package driver

import (
	"slices"
	"time"
)

// Purgeable returns the records that a purge at the instant at removes. A record goes if it was
// erased, has expired, or was retired by the horizon, as retired reports, and the record at the end
// of its chain of successors was too. It stays if
//
//   - it is merged, neither erased nor expired, and erasing the end of its chain would restore it;
//   - a record that stays has it as its For.
//
// Purgeable reads only the ID and ExpiresAt of an entry. The caller may leave out records that are
// neither retired nor erased nor expired.
func (s *Stored) Purgeable(retired func(*Record) bool, at time.Time) (gone []Located) {
	over := func(r *Record) bool { return r.Erased || !r.Entry.LiveAt(at) }
	// The chains whose end can go, each record behind its successor.
	type link struct {
		*Record
		restorable bool // by an erasure of the end of its chain
	}
	var chains []link
	byFor := map[Located][]*Record{}
	for _, r := range s.Entries {
		if r.For != "" {
			byFor[Located{r.Scope, r.For}] = append(byFor[Located{r.Scope, r.For}], &r)
		} else if over(&r) || retired(&r) {
			chains = append(chains, link{&r, r.State == Live})
		}
	}
	for i := 0; i < len(chains); i++ {
		end := chains[i]
		for _, r := range byFor[end.Located()] {
			chains = append(chains, link{r, end.restorable && r.State == Merged})
		}
	}
	named := map[Located]bool{} // by one that stays
	for _, r := range slices.Backward(chains) {
		place := r.Located()
		if (over(r.Record) || retired(r.Record) && !r.restorable) && !named[place] {
			gone = append(gone, place)
		} else {
			named[Located{r.Scope, r.For}] = true
		}
	}
	return gone
}
