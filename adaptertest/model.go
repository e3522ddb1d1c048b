package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// model plays long random sequences of the moves of short ones, in several scopes and
// over several handles of the data. Now and then a scope turns to new entries.
type model struct {
	*world
	handles []driver.Adapter
	settle  func()
	plans   []*plan
	moves   []move
}

// step is one random move. A sequence still makes sense without some of its steps.
type step struct {
	plan, move int
	parts      []int // of a mutation of several
	settles    bool  // what is there is compared behind it
}

// modelScopes are such that a store which confuses tenants or refs shows it.
var modelScopes = []driver.Scope{at("a", "m"), at("a", "n"), at("ab", "m")}

// modelMoves are the moves of a model, the frequent ones several times. A nil move is a
// mutation of several parts.
func (w *world) modelMoves(m *model) []move {
	put := func(name string) move { return move{"put " + name, func(p *plan) { p.puts(p.member(name)) }} }
	puts := []move{put("a"), put("b"), put("c")}
	moves := slices.Concat(plainMoves, plainMoves[5:8], puts, puts, puts, puts, []move{{"turn to new entries", func(p *plan) { p.generation++ }}})
	if w.level == LevelAdapter {
		return moves
	}
	moves = slices.Concat(moves, entryMoves, entryMoves, entryMoves, documentMoves, w.movesOfAll(), []move{{"reopen", func(*plan) { m.reopenAll() }}, {"other handle", func(*plan) { m.turnHandle() }}})
	return slices.Concat(moves, make([]move, 20))
}

func (m *model) play(s step) {
	p := m.plans[s.plan]
	x := m.moves[s.move%len(m.moves)]
	if x.make != nil {
		x.make(p)
	} else {
		var mut driver.Mutation
		for _, part := range s.parts {
			partsOfOne[part%len(partsOfOne)].add(p, &mut)
		}
		m.limit(p.Tenant, &mut, s.parts[0])
		mut.Keep = m.kept != nil && len(mut.Events) > 0 && s.parts[0]/4%2 == 0
		m.tryApply(p.Tenant, mut)
	}
	if m.level == LevelVersioned && s.parts[0]%4 == 0 {
		m.version(p.Tenant)
	}
	if s.settles || !m.config.Short {
		m.auditTenant(p.Tenant, m.instants(p.Tenant)[:1])
	}
}

func (m *model) reopenAll() {
	if len(m.found.missing([]Offer{Durable})) == 0 && len(m.handles) == 0 {
		m.reopen()
	}
}

// turnHandle goes on with another handle of the same data.
func (m *model) turnHandle() {
	if len(m.found.missing([]Offer{Shared})) > 0 {
		return
	}
	if len(m.handles) == 0 {
		m.handles = []driver.Adapter{m.store, m.second()}
	}
	m.did("go on with the other handle")
	m.use(m.handles[1])
	slices.Reverse(m.handles)
}

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
		w.found.reach(part + " of " + w.stateOf(s, id))
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

// unreached are the parts of steps that met a state in none of the cases so far.
func (w *world) unreached() []string {
	var missed []string
	for _, part := range []string{"put", "delete", "expect live", "retire", "succeed", "restore", "erase", "make a document"} {
		for _, state := range []string{"absent", "live", "expired", "deleted", "merged", "superseded", "erased", "restored"} {
			if !w.found.hasReached(part + " of " + state) {
				missed = append(missed, part+" of "+state)
			}
		}
	}
	if len(missed) > 8 {
		missed = append(missed[:8], fmt.Sprint(len(missed)-8, " more"))
	}
	return missed
}
