package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/distill"
)

// coverageRows say which share of the marked facts of a corpus is in a summary of a number of
// tokens: that of distill.Extractive against entries in random order (the mean of a hundred)
// and against the newest. Both peers take whole entries and pass over what does not fit.
//
// The corpora are the files of testdata/coverage: an entry a line, the oldest first. Seen and
// unseen are notes of an agent in six languages, and the two of styles are dialogues,
// changelogs, minutes, mail and logs in nine. What stands between [[ and ]] is a fact; it is
// kept if the summary holds it word for word. distill.Extractive was made with the seen files
// at hand only.
func coverageRows() []row {
	var rows []row
	for _, file := range []string{"seen", "unseen", "styles_seen", "styles_unseen"} {
		c := readCoverage(file)
		better := sync.OnceValue(c.better)
		for _, peer := range []string{"random", "newest"} {
			for _, budget := range coverageBudgets {
				rows = append(rows, row{fmt.Sprintf("distill/coverage/%s/%d", file, budget), peer, func() (sides, error) {
					return sides{check: better, share: func() (ours, theirs float64) {
						if peer == "newest" {
							return c.extractive(budget), c.newest(budget)
						}
						return c.extractive(budget), c.random(budget)
					}}, nil
				}})
			}
		}
	}
	return rows
}

var coverageBudgets = []int{250, 500, 1000, 2000}

//go:embed testdata/coverage
var coverageFiles embed.FS

// coverage is a corpus with marked facts.
type coverage struct{ entries, facts []string }

var markedFact = regexp.MustCompile(`\[\[(.*?)\]\]`)

func readCoverage(file string) coverage {
	data, err := coverageFiles.ReadFile("testdata/coverage/" + file + ".txt")
	must(err)
	var c coverage
	for line := range strings.Lines(string(data)) {
		for _, m := range markedFact.FindAllStringSubmatch(line, -1) {
			c.facts = append(c.facts, m[1])
		}
		c.entries = append(c.entries, strings.NewReplacer("[[", "", "]]", "", "\n", "").Replace(line))
	}
	return c
}

// better reports an error unless the summaries keep at least as many facts as a random choice
// at every budget, and 1.15 times as many in the mean.
func (c coverage) better() error {
	mean := 0.0
	for _, budget := range coverageBudgets {
		ratio := c.extractive(budget) / c.random(budget)
		if mean += ratio / float64(len(coverageBudgets)); ratio < 1 {
			return fmt.Errorf("at %d tokens %.2f of what a random choice keeps", budget, ratio)
		}
	}
	if mean < 1.15 {
		return fmt.Errorf("%.2f of what a random choice keeps in the mean", mean)
	}
	return nil
}

// kept is the share of the facts that a text holds, in per cent.
func (c coverage) kept(text string) float64 {
	n := 0
	for _, f := range c.facts {
		if strings.Contains(text, f) {
			n++
		}
	}
	return 100 * float64(n) / float64(len(c.facts))
}

func (c coverage) extractive(budget int) float64 {
	req := distill.Request{
		MaxTokens: budget, MaxBytes: 1 << 20, Count: distill.Estimator{}.Count,
		Redact: func(s string) (string, error) { return s, nil },
	}
	for i, e := range slices.Backward(c.entries) {
		req.Sources = append(req.Sources, distill.Source{
			ID: fmt.Sprintf("mem_%04d", i), Text: e, Weight: 1, CreatedAt: storeStart.Add(time.Duration(i) * time.Hour),
		})
	}
	items, err := distill.Extractive{}.Summarize(context.Background(), req)
	must(err)
	var text []string
	for _, it := range items {
		text = append(text, it.Text)
	}
	return c.kept(strings.Join(text, "\n"))
}

func (c coverage) newest(budget int) float64 {
	order := slices.Clone(c.entries)
	slices.Reverse(order)
	return c.kept(asFits(order, budget))
}

func (c coverage) random(budget int) float64 {
	const times = 100
	sum := 0.0
	for seed := range uint64(times) {
		order := slices.Clone(c.entries)
		rand.New(rand.NewPCG(seed, 17)).Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		sum += c.kept(asFits(order, budget))
	}
	return cmp.Or(sum/times, 1e-9)
}

// asFits takes entries in their order as long as they fit.
func asFits(order []string, budget int) string {
	var taken []string
	separator := distill.Estimator{}.Count("\n")
	for _, e := range order {
		if n := (distill.Estimator{}.Count(e)) + separator; n <= budget {
			budget -= n
			taken = append(taken, e)
		}
	}
	return strings.Join(taken, "\n")
}
