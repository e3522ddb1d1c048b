package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/openwop/agentmemory/distill"
)

// dialogueRows say which share of what is asked about dialogues is in a summary of 10, 20 and 40
// per cent of their tokens: that of distill.Extractive against turns in random order (the mean of
// twenty), and against one turn of each session after the other. The share is that of the turns
// which hold an answer, by tokens, the mean over dialogues. The file that AGENTMEMORY_DIALOGUES
// names is one that bench/recall/convert has made; without it there are no rows. Of its
// dialogues every other one is unseen: distill.Extractive was made without them.
func dialogueRows() []row {
	file := os.Getenv("AGENTMEMORY_DIALOGUES")
	if file == "" {
		return nil
	}
	var rows []row
	for half, name := range []string{"seen", "unseen"} {
		for _, peer := range []string{"random", "sessions"} {
			for _, share := range []int{10, 20, 40} {
				rows = append(rows, row{fmt.Sprintf("distill/dialogues/%s/%d", name, share), peer, func() (sides, error) {
					all, err := readDialogues(file)
					if err != nil {
						return sides{}, err
					}
					return sides{share: func() (ours, theirs float64) {
						n := 0.0
						for i, d := range all {
							if i%2 == half {
								n++
								ours += d.extractive(share)
								theirs += d.turns(share, peer == "sessions")
							}
						}
						return ours / n, theirs / n
					}}, nil
				}})
			}
		}
	}
	return rows
}

type utterance struct {
	ID      string    `json:"entry"`
	At      time.Time `json:"at"`
	Speaker string    `json:"speaker"`
	Text    string    `json:"text"`
}

// dialogue is what was said, oldest first, and the turns that answer a question.
type dialogue struct {
	said    []utterance
	answers map[string]bool
}

func readDialogues(name string) ([]*dialogue, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []*dialogue
	byRef := map[string]*dialogue{}
	for dec := json.NewDecoder(bufio.NewReader(file)); dec.More(); {
		var line struct {
			utterance
			Ref      string   `json:"ref"`
			Evidence []string `json:"evidence"`
		}
		if err := dec.Decode(&line); err != nil {
			return nil, err
		}
		d := byRef[line.Ref]
		if d == nil {
			d = &dialogue{answers: map[string]bool{}}
			byRef[line.Ref] = d
			all = append(all, d)
		}
		for _, id := range line.Evidence {
			d.answers[id] = true
		}
		if line.ID != "" {
			line.Text = line.Speaker + ": " + line.Text
			d.said = append(d.said, line.utterance)
		}
	}
	for _, d := range all {
		slices.SortStableFunc(d.said, func(a, b utterance) int { return a.At.Compare(b.At) })
	}
	return all, nil
}

// budget is a share of the dialogue's tokens.
func (d *dialogue) budget(share int) (tokens int) {
	for _, t := range d.said {
		tokens += distill.Estimator{}.Count(t.Text)
	}
	return tokens * share / 100
}

// kept is the share of the answers, in per cent, of which so many tokens are left.
func (d *dialogue) kept(tokens map[string]int) (share float64) {
	for _, t := range d.said {
		if d.answers[t.ID] {
			share += min(1, float64(tokens[t.ID])/float64(distill.Estimator{}.Count(t.Text)))
		}
	}
	return 100 * share / float64(len(d.answers))
}

func (d *dialogue) extractive(share int) float64 {
	req := distill.Request{
		MaxTokens: d.budget(share), MaxBytes: 1 << 20, Count: distill.Estimator{}.Count,
		Redact: func(s string) (string, error) { return s, nil },
	}
	for _, t := range slices.Backward(d.said) {
		req.Sources = append(req.Sources, distill.Source{ID: t.ID, Text: t.Text, Weight: 1, CreatedAt: t.At})
	}
	items, err := distill.Extractive{}.Summarize(context.Background(), req)
	must(err)
	left := map[string]int{}
	for _, it := range items {
		for _, id := range it.Sources {
			left[id] += distill.Estimator{}.Count(it.Text)
		}
	}
	return d.kept(left)
}

// turns takes turns in random order, or one of each session after the other. A session begins an
// hour after the last turn.
func (d *dialogue) turns(share int, bySession bool) (kept float64) {
	order, place := slices.Clone(d.said), map[string]int{}
	for i, t := range order {
		if i > 0 && t.At.Sub(order[i-1].At) < time.Hour {
			place[t.ID] = place[order[i-1].ID] + 1
		}
	}
	times := 20
	if bySession {
		times = 1
		slices.SortStableFunc(order, func(a, b utterance) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	}
	for seed := range times {
		if !bySession {
			rng := rand.New(rand.NewPCG(uint64(seed), 39))
			rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		left, room := map[string]int{}, d.budget(share)
		for _, t := range order {
			if n := (distill.Estimator{}.Count(t.Text)); n < room {
				room -= n + 1
				left[t.ID] = n
			}
		}
		kept += d.kept(left) / float64(times)
	}
	return kept
}
