package inmem

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// partSize is how many records the last part of an index has when another is begun.
const partSize = 896

// index finds the records of a scope by id. Each of its parts has a range of ids. Ids that
// a bank issues ascend, so that a new one goes into the last part, which is small and at
// hand, and not to a random place of a large map.
type index struct {
	parts []part
	size  int
	top   *record // no record had a greater id
}

// part has the records of the ids from first on, up to where the next part begins.
type part struct {
	first string // empty in the first part
	recs  map[string]*record
}

func newIndex() index {
	return index{parts: []part{{recs: map[string]*record{}}}, top: &record{entry: &driver.Entry{}}}
}

// at returns the number of the part in which an id is or belongs.
func (x *index) at(id string) int {
	return sort.Search(len(x.parts), func(n int) bool { return x.parts[n].first > id }) - 1
}

// find returns nil if there is no record of that id.
func (x *index) find(id string) *record { return x.parts[x.at(id)].recs[id] }

// add takes in the record of an id that has none.
func (x *index) add(id string, r *record) {
	if id > x.top.entry.ID {
		if len(x.parts[len(x.parts)-1].recs) >= partSize {
			x.parts = append(x.parts, part{strings.Clone(id), map[string]*record{}})
		}
		x.top = r
	}
	x.parts[x.at(id)].recs[id] = r
	x.size++
}

// remove takes out the record of an id that has one.
func (x *index) remove(id string) {
	n := x.at(id)
	delete(x.parts[n].recs, id)
	x.size--
	if n > 0 && len(x.parts[n].recs) == 0 {
		x.parts = slices.Delete(x.parts, n, n+1)
	}
}

// all yields every record, in no order. The body of the loop may remove the one at hand.
func (x *index) all() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, p := range slices.Clone(x.parts) {
			for _, r := range p.recs {
				if !yield(r) {
					return
				}
			}
		}
	}
}
