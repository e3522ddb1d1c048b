package distill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/facts"
)

// judge holds the lines of a summarizer's answer to the sources (C8).
type judge struct {
	sources  []judged
	at       map[string]int // the place of a source, by id
	all      []int
	room     int // bytes of cited sources that are read yet; beyond, a line is held to all sources
	supports map[string]*facts.Support
}

// judged is a source, line by line.
type judged struct {
	size int
	rows []row
}

// row is a line of a source.
type row struct {
	day      string // the one that it begins with, or of writing, as the head of a line
	text     string
	relative bool // it has a day, or may have one
}

func newJudge(ctx context.Context, req Request) (*judge, error) {
	j := &judge{at: map[string]int{}, supports: map[string]*facts.Support{}}
	for i := range req.Sources {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s := &req.Sources[i]
		j.at[s.ID], j.all = i, append(j.all, i)
		j.sources = append(j.sources, judged{len(s.Text), rowsOf(s)})
		j.room += 4 * len(s.Text)
	}
	return j, nil
}

func rowsOf(s *Source) (rows []row) {
	for line := range linesOf(s.Text) {
		own, text := facts.CutDay(line)
		r := row{day: own, text: text, relative: own != ""}
		if own == "" {
			r.day = headOf(s.CreatedAt)
			r.relative = dayOf(text, s.CreatedAt) != ""
		}
		rows = append(rows, r)
	}
	return rows
}

// line returns a line as it is stored, with the day that it is relative to; "" if the sources that it was made from do
// not say it, or if it is relative and they are of several days. One that says its day is held to the lines of that day.
func (j *judge) line(ctx context.Context, it Item) (string, error) {
	cited := j.cited(it.Sources)
	head, said := facts.CutDay(it.Text)
	support, err := j.support(ctx, cited, head)
	if err != nil || support.Unsupported(said) != "" {
		return "", err
	}
	if head != "" {
		return it.Text, nil
	}
	when := facts.ReadWhen(said)
	days := j.days(cited)
	switch {
	case !when.DependsOnDay():
		return said, nil
	case len(days) == 1:
		return days[0] + said, nil
	case when.Relative || len(days) == 0:
		return "", nil
	}
	return between(days) + said, nil
}

// cited are the places of the sources that a line was made from.
func (j *judge) cited(ids []string) (places []int) {
	size := 0
	for _, id := range ids {
		places = append(places, j.at[id])
		size += j.sources[j.at[id]].size
	}
	if len(places) == 0 || size > j.room {
		return j.all
	}
	return places
}

// support reads what some sources say, with a head only those lines that are of its day.
func (j *judge) support(ctx context.Context, cited []int, head string) (*facts.Support, error) {
	key := fmt.Sprint(cited, head)
	if s := j.supports[key]; s != nil {
		return s, nil
	}
	var texts []string
	for _, i := range cited {
		for _, r := range j.sources[i].rows {
			if head == "" || r.day == head {
				texts = append(texts, r.text)
			}
		}
		if len(cited) < len(j.all) {
			j.room -= j.sources[i].size
		}
	}
	s, err := facts.NewSupport(ctx, texts)
	j.supports[key] = s
	return s, err
}

// days are those of the lines of some sources that are relative to one, of all lines if none is, in their order.
func (j *judge) days(cited []int) (days []string) {
	for _, relative := range []bool{true, false} {
		for _, i := range cited {
			for _, r := range j.sources[i].rows {
				if r.relative == relative {
					days = append(days, r.day)
				}
			}
		}
		if len(days) > 0 {
			break
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// between is the head of a line that was written on some days: the first and the last.
func between(days []string) string {
	first, last := days[0], days[len(days)-1]
	return first[:len(facts.ISODay)] + "/" + last[len(last)-len(facts.ISODay)-len(": "):]
}

// supported returns the lines of an answer that the sources say, each with its day, as far as they keep to the limits.
// In place of the lines that it refuses, and counts, stand passages of the sources that no other line is made from. If
// no line of the answer is left, it returns none.
func supported(ctx context.Context, req Request, items []Item) (kept []Item, refused int, err error) {
	j, err := newJudge(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	var lost []string // sources of what was refused
	for _, it := range items {
		text, err := j.line(ctx, it)
		if err != nil {
			return nil, 0, err
		}
		if text != "" {
			kept = append(kept, Item{it.Sources, text})
			continue
		}
		refused++
		lost = append(lost, j.ids(req, it.Sources)...)
	}
	if kept, err = fitted(ctx, req, kept); err != nil || len(kept) == 0 || refused == 0 {
		return kept, refused, err
	}
	instead, err := extract(ctx, req, kept, lost)
	if err != nil {
		return nil, 0, err
	}
	kept, err = fitted(ctx, req, append(kept, instead...))
	return kept, refused, err
}

// ids are the sources that a line was made from; none means all.
func (j *judge) ids(req Request, ids []string) []string {
	if len(ids) > 0 {
		return ids
	}
	all := make([]string, len(req.Sources))
	for i := range req.Sources {
		all[i] = req.Sources[i].ID
	}
	return all
}

// extract returns passages of some sources, without those of which a line was kept, for the room that the lines leave.
func extract(ctx context.Context, req Request, kept []Item, ids []string) ([]Item, error) {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	for _, it := range kept {
		for _, id := range it.Sources {
			delete(wanted, id)
		}
	}
	text := join(kept) + "\n"
	if req.MaxTokens > 0 {
		if req.MaxTokens -= req.Count(text); req.MaxTokens <= 0 {
			return nil, nil
		}
	}
	if req.MaxBytes -= len(text); req.MaxBytes <= 0 {
		return nil, nil
	}
	sources := req.Sources
	req.Sources = nil
	for _, s := range sources {
		if wanted[s.ID] {
			req.Sources = append(req.Sources, s)
		}
	}
	return Extractive{}.Summarize(ctx, req)
}

// linesOf yields the lines of a text that have more than blanks, without the blanks around them.
func linesOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}
