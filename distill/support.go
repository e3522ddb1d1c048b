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
	sources   []judged
	at        map[string]int // the place of a source, by id
	whole     *citation
	citations map[string]*citation // by the places of their sources
	room      int                  // bytes of sources that are cited yet; beyond, a line is held to all sources
}

// judged is a source, line by line.
type judged struct {
	id   string
	size int
	rows []row
}

// row is a line of a source.
type row struct {
	day      string // the one that it begins with, or of writing, as the head of a line
	text     string
	relative bool // it has a day, or may have one
}

// citation is the sources that lines were made from.
type citation struct {
	sources  []*judged
	days     []string                  // see daysOf
	said     map[string][]string       // lines by their day; all of them under ""
	supports map[string]*facts.Support // by day, as they are asked for
}

func newJudge(ctx context.Context, req Request) (*judge, error) {
	j := &judge{at: map[string]int{}, citations: map[string]*citation{}}
	places := make([]int, len(req.Sources))
	for i := range req.Sources {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s := &req.Sources[i]
		j.at[s.ID], places[i] = i, i
		j.sources = append(j.sources, judged{s.ID, len(s.Text), rowsOf(s)})
		j.room += 4 * len(s.Text)
	}
	j.whole = j.newCitation(places)
	return j, nil
}

func (j *judge) newCitation(places []int) *citation {
	c := &citation{said: map[string][]string{}, supports: map[string]*facts.Support{}}
	for _, i := range places {
		c.sources = append(c.sources, &j.sources[i])
		for _, r := range j.sources[i].rows {
			c.said[""], c.said[r.day] = append(c.said[""], r.text), append(c.said[r.day], r.text)
		}
	}
	c.days = daysOf(c.sources)
	return c
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

// cited are the sources that a line was made from, of which none means all.
func (j *judge) cited(ids []string) *citation {
	places, size := make([]int, len(ids)), 0
	for k, id := range ids {
		places[k] = j.at[id]
		size += j.sources[places[k]].size
	}
	key := fmt.Sprint(places)
	c := j.citations[key]
	switch {
	case len(ids) == 0 || c == nil && size > j.room:
		return j.whole
	case c == nil:
		j.room -= size
		c = j.newCitation(places)
		j.citations[key] = c
	}
	return c
}

// line returns a line as it is stored, with the day that it is relative to; "" if the sources do not say it, or if it is
// relative and they are of several days. One that says its day is held to the lines of that day.
func (c *citation) line(ctx context.Context, text string) (string, error) {
	head, said := facts.CutDay(text)
	support, err := c.support(ctx, head)
	if err != nil || support.Unsupported(said) != "" {
		return "", err
	}
	if head != "" {
		return text, nil
	}
	when := facts.ReadWhen(said)
	switch {
	case !when.DependsOnDay():
		return said, nil
	case len(c.days) == 1:
		return c.days[0] + said, nil
	case when.Relative || len(c.days) == 0:
		return "", nil
	}
	return between(c.days) + said, nil
}

// support reads what the sources say, with a head only those lines that are of its day.
func (c *citation) support(ctx context.Context, head string) (*facts.Support, error) {
	if s := c.supports[head]; s != nil {
		return s, nil
	}
	s, err := facts.NewSupport(ctx, c.said[head])
	c.supports[head] = s
	return s, err
}

// daysOf are the days of the lines of some sources that are relative to one, of all lines if none is, in their order.
func daysOf(sources []*judged) (days []string) {
	for _, relative := range []bool{true, false} {
		for _, s := range sources {
			for _, r := range s.rows {
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
	last := ""
	for _, d := range days { // of which one may be a first and a last itself
		last = max(last, d[len(d)-len(facts.ISODay)-len(": "):])
	}
	return days[0][:len(facts.ISODay)] + "/" + last
}

// supported returns the lines of an answer that the sources say, each with its day, as far as they keep to the limits.
// In place of the lines that it refuses, and counts, stand passages of the sources that no other line is made from. If
// no line of the answer is left, it returns none.
func supported(ctx context.Context, req Request, items []Item) (kept []Item, refused int, err error) {
	j, err := newJudge(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	lost := map[*citation]bool{} // the sources of what was refused
	for _, it := range items {
		c := j.cited(it.Sources)
		for line := range linesOf(it.Text) {
			text, err := c.line(ctx, line)
			if err != nil {
				return nil, 0, err
			}
			if text != "" {
				kept = append(kept, Item{it.Sources, text})
				continue
			}
			refused++
			lost[c] = true
		}
	}
	if kept, err = fitted(ctx, req, kept); err != nil {
		return nil, 0, err
	}
	if kept = rejoined(kept); len(kept) == 0 || refused == 0 {
		return kept, refused, nil
	}
	wanted := map[string]bool{}
	for c := range lost {
		for _, s := range c.sources {
			wanted[s.id] = true
		}
	}
	instead, err := extract(ctx, req, kept, wanted)
	if err != nil {
		return nil, 0, err
	}
	kept, err = fitted(ctx, req, append(kept, instead...))
	return kept, refused, err
}

// rejoined makes one item of the lines that follow each other and were one: they share their list of sources.
func rejoined(lines []Item) (items []Item) {
	for i, it := range lines {
		if ids := it.Sources; i > 0 && len(ids) > 0 && len(lines[i-1].Sources) > 0 && &ids[0] == &lines[i-1].Sources[0] {
			items[len(items)-1].Text += "\n" + it.Text
			continue
		}
		items = append(items, it)
	}
	return items
}

// extract returns passages of some sources, without those of which a line was kept, for the room that the lines leave.
func extract(ctx context.Context, req Request, kept []Item, wanted map[string]bool) ([]Item, error) {
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
