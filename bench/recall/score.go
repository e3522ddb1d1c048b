package main

import (
	"slices"
	"time"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// depth is how many entries a question asks for.
const depth = 10

// score adds up how well questions were answered.
type score struct {
	questions                 int
	recall5, recall10, first1 float64
}

// add counts one question, whose answer is a list of ids, best first.
func (s *score) add(q *dataset.Question, answer []string) {
	s.questions++
	s.recall5 += recallAt(5, q, answer)
	s.recall10 += recallAt(10, q, answer)
	if len(answer) > 0 && slices.Contains(q.Evidence, answer[0]) {
		s.first1++
	}
}

// percent is the mean over the questions of one of the score's sums.
func (s *score) percent(sum float64) float64 { return 100 * sum / float64(max(s.questions, 1)) }

// recallAt is the part of a question's evidence that is among the first k of the answer.
func recallAt(k int, q *dataset.Question, answer []string) float64 {
	found := 0
	for _, id := range answer[:min(k, len(answer))] {
		if slices.Contains(q.Evidence, id) {
			found++
		}
	}
	return float64(found) / float64(len(q.Evidence))
}

// percentile is the duration below which the part p of the durations lies.
func percentile(p float64, durations []time.Duration) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}
