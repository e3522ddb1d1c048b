package crashload

import (
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// checkMutations looks for everything that a mutation was to make: all of it if it was
// acknowledged, and all or nothing otherwise.
func (v *verifier) checkMutations() {
	v.made = map[*operation]bool{}
	for _, m := range v.mutations {
		held, told, kept := 0, 0, 0
		for _, p := range m.Puts {
			rec, there := v.records[p.Located]
			if there && !rec.Erased && sumOfEntry(&rec.Entry) != p.Sum {
				v.wrong(m, "its entry says something else now")
			}
			if there {
				held++
			}
		}
		for _, d := range m.Events {
			if v.deliveries[d.name()] != nil {
				told++
			}
		}
		for _, x := range m.Swaps {
			if d := v.documents[nameOf(&x.Document)]; x.Class == driver.Content && d.Rev > x.Rev && sameLabels(x.Of, d.Of) {
				kept++
			}
		}
		v.made[m] = m.outcome == done || m.unknown() && held+told+kept > 0
		switch {
		case m.outcome == refused && held > 0:
			v.wrong(m, "%d of its entries are there, although it was refused", held)
		case !v.made[m]:
		case held < len(m.Puts):
			v.wrong(m, "%d of its %d entries are there: half of it is lost", held, len(m.Puts))
		case told < len(m.Events):
			v.wrong(m, "an event of it is lost")
		case m.unknown() && slices.ContainsFunc(m.Swaps, func(x driver.DocumentSwap) bool { return v.unmade(m, x) }):
			v.wrong(m, "a document of it is not there: half of it is lost")
		}
		for _, x := range m.Ends {
			rec, there := v.records[x.Located]
			if v.made[m] && there && rec.State == driver.Live && !v.restored[x.Located] && !m.out.Missed {
				v.wrong(m, "an entry is live that it ended: half of it is lost")
			}
		}
	}
}
