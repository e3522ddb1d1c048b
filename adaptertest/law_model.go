package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

func modelLaw() law {
	l := law{name: "MODEL", number: "M1-M10", says: "random operations of several tenants agree with a model"}
	for _, m := range []struct {
		name, says string
		needs      []Offer
		ops        []string
	}{
		{"adapter", "random puts, deletes and lists of several tenants agree with a model", nil, adapterOps},
		{"transactor", "random mutations agree with a model, over handles and reopenings", []Offer{Transactor}, slices.Concat(adapterOps, transactorOps)},
		{"versioned", "random mutations, held versions and purges agree with a model", []Offer{Transactor, Versioned},
			slices.Concat(adapterOps, transactorOps, versionedOps)},
	} {
		l.cases = append(l.cases, testCase{m.name, m.says, m.needs, func(w *world) { w.explore(m.ops) }})
	}
	return l
}

// step is one random operation. Its numbers mean whatever the operation makes of
// them when it is played, so that a sequence still makes sense without some of its
// steps.
type step struct {
	op string
	n  [8]int
}

// explore plays random sequences, each on a fresh store. The first that fails is
// shrunk to the shortest one that does, and that one's failure is the case's.
func (w *world) explore(ops []string) {
	m := &model{world: w, reached: map[string]int{}}
	for i := range w.size(6, 24, 200) {
		rng := rand.New(rand.NewPCG(w.seed, w.part+uint64(i)))
		steps := make([]step, 60)
		for k := range steps {
			steps[k].op = ops[rng.IntN(len(ops))]
			for j := range steps[k].n {
				steps[k].n[j] = rng.IntN(1 << 20)
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
		failed.came += fmt.Sprintf("\n(seed %d, sequence %d, shrunk from 60 steps)", w.seed, i)
		panic(failed)
	}
	if missed := m.unreached(); len(missed) > 0 {
		w.remark = "no sequence reached: " + strings.Join(missed, ", ")
	}
}

// playAll plays the steps on a fresh store and returns the failure, if there is one.
func (m *model) playAll(steps []step) (failed *failure) {
	m.world.play(func() {
		m.restart()
		m.handles, m.fresh = nil, 0
		for _, s := range steps {
			m.play(s)
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
