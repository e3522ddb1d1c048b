package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// system is something that answers questions about one memory.
type system struct {
	name string
	ask  asker
}

// slot names a pair of scores: the questions' variant, their half of the data set, and a group of them,
// which is all, a category or a language.
type slot struct {
	variant string
	heldOut bool
	group   string
}

// pair is the scores of both sides for the same questions.
type pair struct{ ours, bleve score }

// miss is a question of which ours did not find all evidence among the first ten, as written.
type miss struct {
	question    *dataset.Question
	ours, bleve []string
}

// measured is what one run of the program finds out.
type measured struct {
	scores  map[slot]*pair
	misses  []miss
	systems []string // in the order of the report
	took    map[string][]time.Duration
}

const bleveName = "bleve/v2, in memory"

// measure asks all questions of all stores, in both views, and of bleve; with other words, unless expand is nil,
// in live memory only, once they are stored. It fails if two stores or views do not give the same list.
func measure(ctx context.Context, memories []*dataset.Memory, stores []*store, expand *expander) (*measured, error) {
	r := &measured{scores: map[slot]*pair{}, took: map[string][]time.Duration{}}
	for _, m := range memories {
		if err := r.memory(ctx, m, stores, expand); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *measured) memory(ctx context.Context, m *dataset.Memory, stores []*store, expand *expander) error {
	var ours []system
	for _, s := range stores {
		live, err := s.live(ctx, m)
		if err != nil {
			return err
		}
		ours = append(ours, system{s.name + ", live", live})
		if expand != nil {
			if err := expand.keep(ctx, s.bank, len(m.Entries)); err != nil {
				return err
			}
			continue
		}
		aged, err := s.aged(ctx, m)
		if err != nil {
			return err
		}
		ours = append(ours, system{s.name + ", a run's view", aged})
	}
	index, err := newBleveIndex(m)
	if err != nil {
		return err
	}
	defer index.close()

	for i := range m.Questions {
		q := &m.Questions[i]
		for _, v := range variants {
			text := v.text(q)
			answer, err := sameAnswer(ctx, ours, text)
			if err != nil {
				return fmt.Errorf("question %s, %s: %w", q.ID, v.name, err)
			}
			peer, err := index.ask(ctx, text)
			if err != nil {
				return err
			}
			r.count(v.name, q, answer, peer)
		}
	}
	// Now that all of them have built what they build, the questions are asked again and timed.
	for _, s := range append(ours, system{bleveName, index.ask}) {
		if !slices.Contains(r.systems, s.name) {
			r.systems = append(r.systems, s.name)
		}
		for _, q := range m.Questions {
			start := time.Now()
			if _, err := s.ask(ctx, q.Text); err != nil {
				return err
			}
			r.took[s.name] = append(r.took[s.name], time.Since(start))
		}
	}
	return nil
}

// sameAnswer is the answer of all systems, or an error that names the two which differ.
func sameAnswer(ctx context.Context, systems []system, text string) ([]string, error) {
	var first []string
	for i, s := range systems {
		answer, err := s.ask(ctx, text)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = answer
		} else if !slices.Equal(answer, first) {
			return nil, fmt.Errorf("%s gives %q and %s gives %q", systems[0].name, first, s.name, answer)
		}
	}
	return first, nil
}

func (r *measured) count(variant string, q *dataset.Question, ours, peer []string) {
	for _, group := range groupsOf(q) {
		at := slot{variant, q.HeldOut, group}
		if r.scores[at] == nil {
			r.scores[at] = &pair{}
		}
		r.scores[at].ours.add(q, ours)
		r.scores[at].bleve.add(q, peer)
	}
	if variant == variants[0].name && recallAt(depth, q, ours) < 1 {
		r.misses = append(r.misses, miss{q, ours, peer})
	}
}

// groupsOf are the groups in which a question is counted.
func groupsOf(q *dataset.Question) []string {
	groups := []string{everything, q.Category}
	if q.Lang != "" {
		groups = append(groups, "language "+q.Lang)
	}
	return groups
}

const everything = "all"
