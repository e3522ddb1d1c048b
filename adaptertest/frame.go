package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// The frame in which all kinds of stores are proven: S are the stores, W is what
// their cases work in.

// proof is what a configuration asks the kit to prove.
type proof[S, W any] struct {
	config  string // the name of the configuration
	create  func(ctx context.Context) (S, error)
	again   func(ctx context.Context, s S) (S, error) // nil if nothing outlives the store
	require []Offer
	seed    uint64
	laws    []lawOf[W]
	enter   func(st *stage[S]) W
	// inspect finds what a store offers beside being durable; nil is nothing.
	inspect func(s S, found *findings) error
	// climbs tells that there are levels which such a store can reach.
	climbs bool
}

// lawOf is a group of cases under one law.
type lawOf[W any] struct {
	name   string
	number string // of the project's laws
	says   string
	cases  []caseOf[W]
}

// caseOf is one proof. Its run function uses the world, and stops at the first thing
// that is wrong.
type caseOf[W any] struct {
	name   string
	proves string
	needs  []Offer
	run    func(w W)
}

// caseTimeout ends a case whose store does not answer. No store comes near it.
const caseTimeout = time.Minute

// run proves the store by one subtest for each case.
func (p *proof[S, W]) run(t *testing.T) {
	t.Helper()
	found, err := p.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range found.missing(p.require) {
		t.Errorf("the store does not offer %s, which is required: %s", missing, found.reason(missing))
	}
	report := newReport(p.seed, p.require, found)
	for _, l := range p.laws {
		t.Run(l.name, func(t *testing.T) {
			for _, c := range l.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Helper()
					t.Attr("law", l.name)
					t.Attr("number", l.number)
					result := p.runCase(t.Context(), found, &l, &c)
					report.add(l.name, l.number, l.says, result)
					switch result.Status {
					case Broken:
						t.Error("\n" + result.Failure)
					case NotOffered:
						t.Skip(result.Reason)
					}
				})
			}
		})
	}
	report.finish(p.climbs)
	t.Log("\n" + report.String())
}

// everything lets all cases through.
func everything(string) bool { return true }

// check proves the store by the cases that wanted lets through, by their names
// "LAW/case".
func (p *proof[S, W]) check(ctx context.Context, wanted func(name string) bool) (*Report, error) {
	found, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	report := newReport(p.seed, p.require, found)
	defer report.finish(p.climbs)
	for _, l := range p.laws {
		for _, c := range l.cases {
			if !wanted(l.name + "/" + c.name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return report, err
			}
			report.add(l.name, l.number, l.says, p.runCase(ctx, found, &l, &c))
		}
	}
	return report, nil
}

// findings are what a store offers, and why not for the rest.
type findings struct {
	offers  []Offer
	reasons map[Offer]string
	remarks []string
	traits  memory.Traits
}

func (f *findings) offer(o Offer, ok bool, reason string) {
	if ok {
		f.offers = append(f.offers, o)
	} else {
		f.reasons[o] = reason
	}
}

func (f *findings) missing(wanted []Offer) []Offer {
	return slices.DeleteFunc(slices.Clone(wanted), func(o Offer) bool { return slices.Contains(f.offers, o) })
}

func (f *findings) reason(o Offer) string {
	if reason, known := f.reasons[o]; known {
		return reason
	}
	return "the kit does not know this ability"
}

// look opens a store to see what it offers.
func (p *proof[S, W]) look(ctx context.Context) (found *findings, err error) {
	if p.create == nil {
		return nil, fmt.Errorf("adaptertest: %s.New is not set", p.config)
	}
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("adaptertest: opening a store panicked: %v", r)
		}
	}()
	store, err := p.create(ctx)
	if err != nil {
		return nil, fmt.Errorf("adaptertest: %s.New failed: %w", p.config, err)
	}
	if any(store) == nil {
		return nil, fmt.Errorf("adaptertest: %s.New gave no store", p.config)
	}
	defer closeStore(store)
	found = &findings{reasons: map[Offer]string{}}
	if p.inspect != nil {
		if err := p.inspect(store, found); err != nil {
			return nil, err
		}
	}
	if p.again == nil {
		found.offer(Durable, false, p.config+".Reopen is not set")
		found.offer(Shared, false, p.config+".Reopen is not set")
		return found, nil
	}
	found.offer(Durable, true, "")
	second, err := p.again(ctx, store)
	switch {
	case err == nil:
		defer closeStore(second)
		found.offer(Shared, true, "")
	case errors.Is(err, memory.ErrNotProvided):
		found.offer(Shared, false, "only one process at a time can have its data open")
	default:
		return nil, fmt.Errorf("adaptertest: %s.Reopen failed: %w", p.config, err)
	}
	return found, nil
}

// runCase runs one case on a store of its own.
func (p *proof[S, W]) runCase(ctx context.Context, found *findings, l *lawOf[W], c *caseOf[W]) Case {
	result := Case{Name: c.name, Proves: c.proves, Status: Proven, level: levelOf(c.needs)}
	if missing := found.missing(c.needs); len(missing) > 0 {
		result.Status = NotOffered
		result.Reason = fmt.Sprintf("needs %s: %s", missing[0], found.reason(missing[0]))
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	h := fnv.New64a()
	io.WriteString(h, l.name+"/"+c.name)
	st := &stage[S]{
		script: &script{ctx: ctx, found: found, now: epoch, seed: p.seed, part: h.Sum64()},
		config: p.config, create: p.create, again: p.again,
	}
	st.rng = rand.New(rand.NewPCG(st.seed, st.part))

	ended := make(chan *failure, 1)
	go func() {
		var failed *failure
		defer func() { ended <- failed }()
		st.play(func() {
			w := p.enter(st)
			st.fresh()
			c.run(w)
		}, &failed)
	}()
	var failed *failure
	select {
	case failed = <-ended:
	case <-ctx.Done():
		failed = &failure{expected: "an answer", came: "none before the context was done: the store hangs"}
	}
	if failed != nil {
		result.Status = Broken
		result.Failure = st.text(fmt.Sprintf("%s/%s (%s): %s", l.name, c.name, l.number, c.proves), failed)
	}
	return result
}
