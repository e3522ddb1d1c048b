package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// longMemEvalQuestion is one question of LongMemEval with the sessions in which its answer is to be
// found. Dates and sessions stand in the same order.
type longMemEvalQuestion struct {
	ID       string   `json:"question_id"`
	Type     string   `json:"question_type"`
	Text     string   `json:"question"`
	Dates    []string `json:"haystack_dates"`
	Sessions [][]struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		HasAnswer bool   `json:"has_answer"`
	} `json:"haystack_sessions"`
}

const longMemEvalTime = "2006/01/02 (Mon) 15:04"

type longMemEvalLeftOut struct{ abstentions, unmarked int }

func (l longMemEvalLeftOut) String() string {
	return fmt.Sprintf("left out: %d questions about what was never said (_abs), %d without a turn that is marked as evidence", l.abstentions, l.unmarked)
}

func convertLongMemEval(r io.Reader, w *dataset.Writer) (fmt.Stringer, error) {
	var left longMemEvalLeftOut
	err := eachOf(r, func(q longMemEvalQuestion) error {
		if strings.HasSuffix(q.ID, "_abs") {
			left.abstentions++
			return nil
		}
		if len(q.Dates) != len(q.Sessions) {
			return fmt.Errorf("question %s has %d dates for %d sessions", q.ID, len(q.Dates), len(q.Sessions))
		}
		m := &dataset.Memory{Ref: q.ID}
		var evidence []string
		for s, session := range q.Sessions {
			at, err := time.Parse(longMemEvalTime, q.Dates[s])
			if err != nil {
				return fmt.Errorf("question %s: %w", q.ID, err)
			}
			for t, turn := range session {
				if turn.Content == "" {
					continue
				}
				e := dataset.Entry{
					ID: fmt.Sprintf("%d:%d", s, t), Ref: q.ID, At: at.Add(time.Duration(t) * time.Second), Speaker: turn.Role, Text: turn.Content,
				}
				m.Entries = append(m.Entries, e)
				if turn.HasAnswer {
					evidence = append(evidence, e.ID)
				}
			}
		}
		if evidence == nil {
			left.unmarked++
			return nil
		}
		m.Questions = []dataset.Question{{ID: q.ID, Ref: q.ID, Lang: "en", Category: q.Type, Evidence: evidence, Text: q.Text}}
		return w.Memory(m)
	})
	return left, err
}
