package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// print writes the report.
func (r *measured) print(w io.Writer, file string, memories []*dataset.Memory) {
	entries, questions := 0, 0
	for _, m := range memories {
		entries += len(m.Entries)
		questions += len(m.Questions)
	}
	fmt.Fprintf(w, "This measures retrieval: which entries come first. It does not measure answering.\n\n")
	fmt.Fprintf(w, "%s (refs: %d, entries: %d, questions: %d)\n", file, len(memories), entries, questions)

	for _, heldOut := range []bool{false, true} {
		if r.scores[slot{variants[0].name, heldOut, everything}] == nil {
			continue
		}
		half := "questions that are not held out"
		if heldOut {
			half = "questions that are held out: they are not looked at to improve a ranker"
		}
		fmt.Fprintf(w, "\n%s (%%)\n\n", half)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "\tn\trecall@5\trecall@10\thit@1\t|  bleve recall@5\trecall@10\thit@1\t")
		for _, group := range r.groups(heldOut) {
			r.printRow(table, group, slot{variants[0].name, heldOut, group})
		}
		for _, v := range variants[1:] {
			r.printRow(table, "all, "+v.name, slot{v.name, heldOut, everything})
		}
		table.Flush()
	}

	fmt.Fprintf(w, "\ntime of a question, asked before; all stores and views gave the same lists\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tp50 µs\tp95 µs\t")
	for _, name := range r.systems {
		fmt.Fprintf(table, "%s\t%d\t%d\t\n", name, percentile(0.5, r.took[name]).Microseconds(), percentile(0.95, r.took[name]).Microseconds())
	}
	table.Flush()
}

// printJSON writes the scores of all questions of each half, one JSON object a line, in the form that
// the benchmarks of the module above draw.
func (r *measured) printJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	for _, heldOut := range []bool{false, true} {
		half := "open half"
		if heldOut {
			half = "held-out half"
		}
		for _, v := range variants {
			p := r.scores[slot{v.name, heldOut, everything}]
			if p == nil {
				continue
			}
			for _, kind := range []struct {
				name string
				of   func(*score) float64
			}{
				{"recall@5", func(s *score) float64 { return s.percent(s.recall5) }},
				{"recall@10", func(s *score) float64 { return s.percent(s.recall10) }},
			} {
				line := map[string]any{"name": "retrieval/" + kind.name + ", " + half + ", " + v.name, "peer": bleveName,
					"unit": "%", "ours": kind.of(&p.ours), "theirs": kind.of(&p.bleve), "ratio": kind.of(&p.ours) / kind.of(&p.bleve)}
				if err := out.Encode(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// groups are the groups of a half in the order of the report: all, categories, languages.
func (r *measured) groups(heldOut bool) []string {
	var names []string
	for at := range r.scores {
		if at.heldOut == heldOut && at.variant == variants[0].name {
			names = append(names, at.group)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if rank := groupRank(a) - groupRank(b); rank != 0 {
			return rank
		}
		return strings.Compare(a, b)
	})
	return names
}

func groupRank(group string) int {
	switch {
	case group == everything:
		return 0
	case strings.HasPrefix(group, "language "):
		return 2
	}
	return 1
}

func (r *measured) printRow(w io.Writer, name string, at slot) {
	p := r.scores[at]
	fmt.Fprintf(w, "%s\t%d\t", name, p.ours.questions)
	for _, s := range []*score{&p.ours, &p.bleve} {
		fmt.Fprintf(w, "%.1f\t%.1f\t%.1f\t", s.percent(s.recall5), s.percent(s.recall10), s.percent(s.first1))
	}
	fmt.Fprintln(w)
}

// printMissed lists questions that are not held out, with their evidence and both answers.
func (r *measured) printMissed(w io.Writer) {
	fmt.Fprintln(w, "\nmissed, of the questions that are not held out:")
	for _, m := range r.misses {
		if !m.question.HeldOut {
			fmt.Fprintf(w, "\n%s (%s): %s\n  evidence %v\n  ours     %v\n  bleve    %v\n",
				m.question.ID, m.question.Category, m.question.Text, m.question.Evidence, m.ours, m.bleve)
		}
	}
}
