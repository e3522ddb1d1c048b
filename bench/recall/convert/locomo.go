package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// locomoSample is one conversation of LoCoMo. Its conversation is an object with the lists
// "session_1", "session_2" and so on, and the time of each under "session_1_date_time".
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	// Observations are what a model has noted down of the sessions, by speaker: a sentence, and the turn or
	// the turns that it is about.
	Observations map[string]map[string][][2]any `json:"observation"`
	Questions    []struct {
		Text     string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type locomoTurn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"` // of a picture that was shared
}

// locomoCategories are the names of the numbers in the file, as LoCoMo's own evaluation reads them.
var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

const (
	locomoUnanswerable = 5
	locomoTime         = "3:04 pm on 2 January, 2006"
)

// turnID finds ids of turns in the evidence of a question, where some strings hold several, or a
// colon or a zero too many.
var turnID = regexp.MustCompile(`D:?(\d+):(\d+)`)

type locomoLeftOut struct{ unanswerable, withoutEvidence, unknownTurns int }

func (l locomoLeftOut) String() string {
	return fmt.Sprintf("left out: %d questions without an answer (category 5), %d without evidence; evidence that names no turn: %d times",
		l.unanswerable, l.withoutEvidence, l.unknownTurns)
}

func convertLoCoMo(r io.Reader, w *dataset.Writer) (fmt.Stringer, error) {
	var left locomoLeftOut
	err := eachOf(r, func(s locomoSample) error {
		m := &dataset.Memory{Ref: s.ID}
		for n := 1; ; n++ {
			name := "session_" + strconv.Itoa(n)
			if s.Conversation[name] == nil && s.Conversation[name+"_date_time"] == nil {
				break
			}
			if s.Conversation[name] == nil {
				continue // some conversations have times of sessions that are not there
			}
			if err := addSession(m, s.Conversation[name], s.Conversation[name+"_date_time"]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if len(m.Entries) == 0 {
			return errors.New("the conversation has no turns")
		}
		noted := s.notes()
		turns := map[string]bool{}
		for i, e := range m.Entries {
			turns[e.ID], m.Entries[i].Other = true, strings.Join(noted[e.ID], " ")
		}
		for n, q := range s.Questions {
			if q.Category == locomoUnanswerable {
				left.unanswerable++
				continue
			}
			category, known := locomoCategories[q.Category]
			if !known {
				return fmt.Errorf("question %d: category %d is not known", n+1, q.Category)
			}
			var evidence []string
			for _, text := range q.Evidence {
				for _, id := range turnIDs(text) {
					if !turns[id] {
						left.unknownTurns++
					} else if !slices.Contains(evidence, id) {
						evidence = append(evidence, id)
					}
				}
			}
			if evidence == nil {
				left.withoutEvidence++
				continue
			}
			m.Questions = append(m.Questions, dataset.Question{
				ID: fmt.Sprintf("%s-q%d", s.ID, n+1), Ref: s.ID, Lang: "en", Category: category, Evidence: evidence, Text: q.Text,
			})
		}
		return w.Memory(m)
	})
	return left, err
}

// notes returns the observations about each turn.
func (s *locomoSample) notes() map[string][]string {
	notes := map[string][]string{}
	for _, session := range slices.Sorted(maps.Keys(s.Observations)) {
		for _, speaker := range slices.Sorted(maps.Keys(s.Observations[session])) {
			for _, o := range s.Observations[session][speaker] {
				for _, id := range turnIDs(fmt.Sprint(o[1])) {
					notes[id] = append(notes[id], fmt.Sprint(o[0]))
				}
			}
		}
	}
	return notes
}

// addSession adds the turns of a session. They are a second apart, so that their order stays.
func addSession(m *dataset.Memory, session, when json.RawMessage) error {
	var turns []locomoTurn
	if err := json.Unmarshal(session, &turns); err != nil {
		return err
	}
	var text string
	if err := json.Unmarshal(when, &text); err != nil {
		return err
	}
	at, err := time.Parse(locomoTime, text)
	if err != nil {
		return err
	}
	for i, t := range turns {
		if t.Caption != "" {
			t.Text = strings.TrimSpace(t.Text + " [shares " + t.Caption + "]")
		}
		if t.Text == "" {
			continue
		}
		m.Entries = append(m.Entries, dataset.Entry{
			ID: t.ID, Ref: m.Ref, At: at.Add(time.Duration(i) * time.Second), Speaker: t.Speaker, Text: t.Text,
		})
	}
	return nil
}

func turnIDs(text string) []string {
	var ids []string
	for _, found := range turnID.FindAllStringSubmatch(text, -1) {
		session, _ := strconv.Atoi(found[1])
		turn, _ := strconv.Atoi(found[2])
		ids = append(ids, fmt.Sprintf("D%d:%d", session, turn))
	}
	return ids
}
