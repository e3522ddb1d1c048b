package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

func modelLaw() law {
	return law{name: "MODEL", number: "M1-M10", says: "random operations of several tenants agree with a model", cases: append(slices.Concat(sequenceCases(), loopCases()), []testCase{
		{"random", "random mutations, deliveries, purges and reads agree with a model, over handles and reopenings", nil,
			func(w *world) { w.explore(w.size(8, 40, 300), nil) }},
	}...)}
}

// sequenceLength is how many steps a random sequence has.
const sequenceLength = 80

// explore plays random sequences, each on a fresh store. The first that fails is
// shrunk to the shortest one that does, and that one's failure is the case's. If settle
// is set, it is called behind one step in three, and everything is compared then.
func (w *world) explore(sequences int, settle func()) {
	m := &model{world: w, settle: settle}
	m.moves = w.modelMoves(m)
	for i := range sequences {
		rng := rand.New(rand.NewPCG(w.seed, w.part+uint64(i)))
		steps := make([]step, sequenceLength)
		for k := range steps {
			steps[k] = step{rng.IntN(len(modelScopes)), rng.IntN(len(m.moves)), make([]int, 1+rng.IntN(5)), rng.IntN(3) == 0}
			for j := range steps[k].parts {
				steps[k].parts[j] = rng.IntN(1 << 20)
			}
		}
		if m.playAll(steps) == nil {
			continue
		}
		steps = shrink(steps, func(s []step) bool { return m.playAll(s) != nil })
		failed := m.playAll(steps)
		if failed == nil {
			failed = &failure{"the same answer every time", "a failure that does not show again"}
		}
		failed.came += fmt.Sprintf("\n(seed %d, sequence %d, shrunk from %d steps)", w.seed, i, sequenceLength)
		panic(failed)
	}
	w.unmirrored() // each sequence was audited, and its stores are closed
	if missed := w.unreached(); settle == nil && w.level == LevelVersioned && len(missed) > 0 {
		w.remark = "no case reached: " + strings.Join(missed, ", ")
	}
}

// playAll plays the steps on a fresh store and returns the failure, if there is one.
func (m *model) playAll(steps []step) (failed *failure) {
	m.world.play(func() {
		m.restart()
		m.handles, m.plans, m.sparing = nil, nil, m.config.Short
		for i, s := range modelScopes {
			m.plans = append(m.plans, &plan{world: m.world, Scope: s, variant: i})
		}
		for i, s := range steps {
			m.play(s)
			if m.settle != nil && (s.settles || i == len(steps)-1) {
				m.settle()
				m.handles = nil // they may be of another state than the store that was gone on with
				m.audit()
				if m.level != LevelAdapter {
					m.usesWhatTheReferenceSays(m.plans[s.plan].Scope)
				}
			}
		}
		m.audit()
	}, &failed)
	return failed
}

// shrink removes steps, long stretches first, as long as the rest still fails.
func shrink(steps []step, fails func([]step) bool) []step {
	for size := len(steps) / 2; size > 0; {
		removed := false
		for i := 0; i+size <= len(steps); {
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
