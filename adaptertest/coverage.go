package adaptertest

import (
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// stateOf says what is to be counted of a record.
func (w *world) stateOf(s driver.Scope, id string) string {
	r := w.ref.tenant(s.Tenant).find(s.Ref, id)
	switch {
	case r == nil:
		return "absent"
	case r.Erased:
		return "erased"
	case r.State != driver.Live:
		return r.State.String()
	case !r.Entry.LiveAt(w.now):
		return "expired"
	case len(r.lives) > 1:
		return "restored"
	}
	return "live"
}

// count notes that a step meets a state. Goroutines that use a store at once have no
// reference.
func (w *world) count(part string, s driver.Scope, id string) {
	if w.ref != nil {
		w.found.reached.Store(part+" of "+w.stateOf(s, id), true)
	}
}

// countParts notes which states the parts of a mutation meet.
func (w *world) countParts(m *driver.Mutation) {
	for part, places := range map[string][]driver.Located{"expect live": m.Live, "restore": m.Restore, "erase": m.Erase} {
		for _, l := range places {
			w.count(part, l.Scope, l.ID)
		}
	}
	for _, p := range m.Put {
		w.count("put", p.Scope, p.Entry.ID)
	}
	for _, x := range m.Retire {
		w.count("retire", x.Scope, x.ID)
		if x.For != "" {
			w.count("succeed", x.Scope, x.For)
		}
	}
	for _, x := range m.Documents {
		for _, id := range x.Of {
			w.count("make a document", x.Scope, id)
		}
	}
}

// unreached remarks which parts of steps met a state in no case.
func (r *Report) unreached() string {
	var missed []string
	for _, part := range []string{"put", "delete", "expect live", "retire", "succeed", "restore", "erase", "make a document"} {
		for _, state := range []string{"absent", "live", "expired", "deleted", "merged", "superseded", "erased", "restored"} {
			if _, met := r.reached.Load(part + " of " + state); !met {
				missed = append(missed, part+" of "+state)
			}
		}
	}
	if len(missed) == 0 {
		return ""
	}
	return fmt.Sprintf("no case reached %d states: %s", len(missed), strings.Join(missed[:min(len(missed), 8)], ", "))
}
