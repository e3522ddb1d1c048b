package driver

import (
	"slices"
	"time"
)

// Purgeable returns the ids of those records, all of one scope, that a purge at the instant at
// removes: records that were erased, have expired, or were retired by the horizon, as retired
// says, if the end of their chain of successors is one of these too. A merged record that is
// neither erased nor expired stays if erasing the end of its chain would restore it, and so does
// every record that one which stays names. Of an entry the ID and ExpiresAt are looked at.
// Records that are neither retired nor over can be left out.
func Purgeable(recs []Record, retired func(*Record) bool, at time.Time) (ids []string) {
	over := func(r *Record) bool { return r.Erased || !r.Entry.LiveAt(at) }
	byFor := map[string][]*Record{}
	for i := range recs {
		byFor[recs[i].For] = append(byFor[recs[i].For], &recs[i])
	}
	// The chains whose end can go, each record behind its successor.
	type link struct {
		*Record
		restorable bool // by an erasure of the end of its chain
	}
	var chains []link
	for _, end := range byFor[""] {
		if over(end) || retired(end) {
			chains = append(chains, link{end, end.State == Live})
		}
	}
	for i := 0; i < len(chains); i++ {
		for _, r := range byFor[chains[i].Entry.ID] {
			chains = append(chains, link{r, chains[i].restorable && r.State == Merged})
		}
	}
	named := map[string]bool{} // by one that stays
	for _, r := range slices.Backward(chains) {
		if (over(r.Record) || retired(r.Record) && !r.restorable) && !named[r.Entry.ID] {
			ids = append(ids, r.Entry.ID)
		} else {
			named[r.For] = true
		}
	}
	return ids
}
