package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Most of what the kit proves it proves by generated sequences. A sequence has some plans, and makes
// random moves in them: what the dice of a move choose depends on what the state of the plan allows,
// so that most moves succeed. Each move is taken on the reference too, and audits compare what can be
// read. A generation is a case of that kind. It differs from others in these dimensions:
//
//   - plans: how many there are, what they and all in them are called and hold, when it is made,
//     and how many entries, documents and events each name of one means (dimensions.go)
//   - topics: which moves are offered
//   - sequences and steps: how many there are, and how often an audit looks
//   - settle: what happens to the store between steps: it is opened again, killed, or has a second handle
//
// The first sequence that fails is shrunk to the shortest one that does.
type generation struct {
	name, says string
	needs      []Offer
	topics     []topic
	plans      func(w *world, i int) []*plan // of sequence i
	sequences  [2]int                        // with -short, and usually
	steps      int                           // up to so many for each plan
	audited    int                           // one step in so many is audited
	shared     bool                          // sequences share a store, and have tenants of their own
	settle     func(w *world)                // happens at one step in two
}

// generate makes cases of generations.
func generate(all ...generation) (cases []testCase) {
	for _, g := range all {
		cases = append(cases, testCase{g.name, g.says, g.needs, func(w *world) { w.explore(&g) }})
	}
	return cases
}

// shrinkTries is how often a sequence is tried with less steps.
const shrinkTries = 1000

// step is one random move. A sequence still makes sense without some of its steps.
type step struct {
	sequence, plan int
	seed           uint64 // of its dice
	fill           string // puts the entries of that name instead
}

func (w *world) explore(g *generation) {
	var before []step // of the sequences that have used the store
	for i := range w.size(g.sequences[0], g.sequences[1]) {
		rng := rand.New(rand.NewPCG(w.seed, w.part+uint64(i)))
		plans := len(g.plans(w, i))
		var steps []step
		for k := range plans { // each begins with some entries
			for _, name := range members[:3] {
				steps = append(steps, step{sequence: i, plan: k, fill: name})
			}
		}
		length := g.steps
		if g.shared {
			length = 1 + rng.IntN(length)
		}
		for range plans * length {
			steps = append(steps, step{sequence: i, plan: rng.IntN(plans), seed: rng.Uint64()})
		}
		if failed := w.playSteps(g, steps, !g.shared && i > 0); failed != nil {
			played := steps[:w.played]
			shortest(w, i, failed, func(s []step) *failure { return w.playSteps(g, s, true) }, played, slices.Concat(before, played))
		}
		if g.shared {
			before = append(before, steps...)
		}
	}
	w.unmirrored() // each sequence was audited
}

// shortest ends the case of a sequence that has failed, with the shortest part of it that fails on a fresh store. If
// the sequence itself does not, it is looked for in what the store has had before as well.
func shortest[S any](w *world, sequence int, failed *failure, play func([]S) *failure, steps, all []S) {
	if w.config.unshrunk {
		panic(failed)
	}
	told, shrunk := w.steps, steps
	most := w.watch.calls + w.size(50_000, 500_000) // a slow store bears no more
	fails := func(s []S) bool { return w.watch.calls < most && play(s) != nil }
	w.thorough = true
	for _, steps := range [][]S{steps, all} {
		if fails(steps) {
			shrunk = shrink(steps, shrinkTries, fails)
			break
		}
	}
	if again := play(shrunk); again != nil {
		failed = again
	} else {
		w.steps = told
	}
	failed.came += fmt.Sprintf("\n(seed %d, sequence %d, shrunk from %d steps)", w.seed, sequence, len(steps))
	panic(failed)
}

// playSteps plays steps, on a fresh store if it is to, and returns the failure, if there is one.
func (w *world) playSteps(g *generation, steps []step, fresh bool) *failure {
	return w.attempt(func() {
		if fresh {
			w.restart()
		} else {
			w.begin()
			w.ref, w.held, w.lent = newReference(), nil, false
		}
		w.handles = nil
		plans, moves := map[int][]*plan{}, w.movesOf(g.topics)
		for k, s := range steps {
			w.played = k + 1
			if plans[s.sequence] == nil {
				plans[s.sequence] = g.plans(w, s.sequence)
			}
			p := plans[s.sequence][s.plan]
			p.dice = rand.New(rand.NewPCG(s.seed, 0))
			if s.fill != "" {
				if w.level == LevelVersioned && s.sequence%4 == 0 {
					w.version(p.Tenant) // that of nothing, too
				}
				p.fill(s.fill)
				continue
			}
			p.step(moves)
			if w.level == LevelVersioned && p.oneIn(3) {
				w.version(p.Tenant)
			}
			if g.settle != nil && (k == len(steps)-1 || p.oneIn(2)) {
				g.settle(w)
			}
			if g.audited > 0 && p.oneIn(g.audited) {
				w.auditTenant(p.Tenant, w.instants(p.Tenant)[:1])
			}
		}
		if g.shared {
			for tenant := range sorted(w.ref.tenants) {
				w.auditTenant(tenant, w.instants(tenant))
			}
			if w.level == LevelVersioned {
				w.auditHorizons()
			}
		} else {
			w.audit()
		}
	})
}

// shrink removes steps, long stretches first, as long as the rest still fails. It tries so many times
// at most.
func shrink[S any](steps []S, tries int, fails func([]S) bool) []S {
	for size := len(steps) / 2; size > 0; {
		removed := false
		for i := 0; i+size <= len(steps); tries-- {
			if tries == 0 {
				return steps
			}
			shorter := slices.Concat(steps[:i], steps[i+size:])
			if fails(shorter) {
				steps, removed = shorter, true
			} else {
				i += size
			}
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	return steps
}
