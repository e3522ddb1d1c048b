package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Entry is a line with an entry.
type Entry struct {
	ID      string    `json:"entry"`
	Ref     string    `json:"ref,omitempty"`
	At      time.Time `json:"at"`
	Speaker string    `json:"speaker,omitempty"`
	Tags    []string  `json:"tags,omitempty"`
	Text    string    `json:"text"`
	Other   string    `json:"other,omitempty"`
}

// Content is what is kept in a memory: the text, after the speaker's name if there is one.
func (e *Entry) Content() string {
	if e.Speaker == "" {
		return e.Text
	}
	return e.Speaker + ": " + e.Text
}

func (e *Entry) check() error {
	if e.ID == "" || e.Text == "" || e.At.IsZero() {
		return errors.New("an entry needs an id, a time and a text")
	}
	return nil
}

// Question is a line with a question.
type Question struct {
	ID       string   `json:"question"`
	Ref      string   `json:"ref,omitempty"`
	Lang     string   `json:"lang,omitempty"`
	Category string   `json:"category"`
	HeldOut  bool     `json:"heldout,omitempty"`
	Evidence []string `json:"evidence"`
	Text     string   `json:"text"`
}

func (q *Question) check() error {
	if q.ID == "" || q.Text == "" || q.Category == "" || len(q.Evidence) == 0 {
		return errors.New("a question needs an id, a category, evidence and a text")
	}
	return nil
}

// Memory is the entries of one ref, with the questions about them, in the order of the file.
type Memory struct {
	Ref       string
	Entries   []Entry
	Questions []Question
}

// Read reads a data set. Memories come in the order of their first lines. An error names the line, or
// the question, that breaks the form.
func Read(r io.Reader) ([]*Memory, error) {
	var memories []*Memory
	byRef := map[string]*Memory{}
	of := func(ref string) *Memory {
		if byRef[ref] == nil {
			byRef[ref] = &Memory{Ref: ref}
			memories = append(memories, byRef[ref])
		}
		return byRef[ref]
	}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, end := lines.ReadString('\n')
		if end != nil && end != io.EOF {
			return nil, end
		}
		if strings.TrimSpace(line) != "" {
			if err := readLine(line, of); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if end == io.EOF {
			break
		}
	}
	for _, m := range memories {
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	return memories, nil
}

// readLine puts an entry or a question into the memory of its ref.
func readLine(line string, of func(ref string) *Memory) error {
	var kind struct{ Entry, Question *string }
	if err := json.Unmarshal([]byte(line), &kind); err != nil {
		return err
	}
	strict := json.NewDecoder(strings.NewReader(line))
	strict.DisallowUnknownFields()
	switch {
	case kind.Entry != nil && kind.Question == nil:
		var e Entry
		if err := strict.Decode(&e); err != nil {
			return err
		}
		if err := e.check(); err != nil {
			return err
		}
		m := of(e.Ref)
		m.Entries = append(m.Entries, e)
	case kind.Question != nil && kind.Entry == nil:
		var q Question
		if err := strict.Decode(&q); err != nil {
			return err
		}
		if err := q.check(); err != nil {
			return err
		}
		m := of(q.Ref)
		m.Questions = append(m.Questions, q)
	default:
		return errors.New(`a line has either an "entry" or a "question"`)
	}
	return nil
}

// check tells whether ids are unique and the evidence is there.
func (m *Memory) check() error {
	entries, questions := map[string]bool{}, map[string]bool{}
	for _, e := range m.Entries {
		if entries[e.ID] {
			return fmt.Errorf("ref %q: entry %q is there twice", m.Ref, e.ID)
		}
		entries[e.ID] = true
	}
	for _, q := range m.Questions {
		if questions[q.ID] {
			return fmt.Errorf("ref %q: question %q is there twice", m.Ref, q.ID)
		}
		questions[q.ID] = true
		named := map[string]bool{}
		for _, id := range q.Evidence {
			if !entries[id] {
				return fmt.Errorf("ref %q: question %q: there is no entry %q", m.Ref, q.ID, id)
			}
			if named[id] {
				return fmt.Errorf("ref %q: question %q names %q twice", m.Ref, q.ID, id)
			}
			named[id] = true
		}
	}
	return nil
}

// Writer writes lines in the order in which they are given.
type Writer struct{ lines *json.Encoder }

// NewWriter returns a writer to w, which it does not buffer.
func NewWriter(w io.Writer) *Writer {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return &Writer{lines}
}

// Memory writes the entries and the questions of a memory. It fails, and writes nothing, if they
// break the form.
func (w *Writer) Memory(m *Memory) error {
	if err := m.check(); err != nil {
		return err
	}
	for i := range m.Entries {
		if err := m.Entries[i].check(); err != nil {
			return fmt.Errorf("ref %q, entry %q: %w", m.Ref, m.Entries[i].ID, err)
		}
	}
	for i := range m.Questions {
		if err := m.Questions[i].check(); err != nil {
			return fmt.Errorf("ref %q, question %q: %w", m.Ref, m.Questions[i].ID, err)
		}
	}
	for _, e := range m.Entries {
		if err := w.lines.Encode(e); err != nil {
			return err
		}
	}
	for _, q := range m.Questions {
		if err := w.lines.Encode(q); err != nil {
			return err
		}
	}
	return nil
}
