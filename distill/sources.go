package distill

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Source is an entry as a summarizer sees it: redacted again by the job's redactor
// (RFC 0012 §D).
type Source struct {
	ID        string
	Text      string
	Tags      []string
	CreatedAt time.Time
	// Weight is how many entries say it: 1, and one more for each that was merged
	// into this one.
	Weight int
	// Archive is set for the output of an earlier distillation.
	Archive Digest
}

// input is what a pass reads.
type input struct {
	entries []memory.Entry // the sources, redacted, newest first
	sources []Source       // the same, as a summarizer sees them
	tokens  int            // of the sources, in a distillation
	left    int            // sources beyond the limit of one pass
	leftOut []string       // sources that were not chosen, newest first
	outputs []memory.Entry // of earlier passes, whether sources or not, newest first
}

// archiveOf returns the address of the archive that an entry names; zero if it names none.
func archiveOf(e *memory.Entry) (address Digest) {
	for _, t := range e.Tags {
		if text, ok := strings.CutPrefix(t, memory.ArchivePrefix); ok && e.Compacted() {
			address, _ = ParseDigest(text)
			break
		}
	}
	return address
}

// gather reads the sources of a pass at one version (D1).
func (p *pass) gather(ctx context.Context) error {
	for e, err := range p.job.Scan(ctx, p.ref) {
		if err != nil {
			return err
		}
		if e.Compacted() {
			p.outputs = append(p.outputs, e)
			continue
		}
		if takes, err := p.o.selects(e); err != nil {
			return err
		} else if takes {
			p.entries = append(p.entries, e)
		}
	}
	if p.budget == 0 && p.MaxInputEntries > 0 {
		p.left = max(0, len(p.entries)-p.MaxInputEntries)
		p.entries = p.entries[p.left:] // the oldest: the newer ones have a next time
	}
	weights, err := p.corroborations(ctx)
	if err != nil {
		return err
	}
	if p.o.Recursive {
		if err := p.takeOutputs(); err != nil {
			return err
		}
	}
	redact := redacting(ctx, p.job)
	for i := range p.entries {
		e := &p.entries[i]
		s := Source{ID: e.ID, CreatedAt: e.CreatedAt, Weight: 1, Archive: archiveOf(e)}
		if !e.Compacted() { // which says again what others said
			s.Weight += weights[e.ID]
		}
		if e.Content, err = redact(e.Content); err != nil {
			return err
		}
		for k, t := range e.Tags {
			if e.Tags[k], err = redact(t); err != nil {
				return err
			}
		}
		s.Text, s.Tags = e.Content, e.Tags
		p.sources = append(p.sources, s)
	}
	if p.budget == 0 {
		return nil
	}
	return p.fit(ctx)
}

// selects reports whether an entry is a source.
func (o *Options) selects(e memory.Entry) (bool, error) {
	if o.Tag != "" && !slices.Contains(e.Tags, o.Tag) {
		return false, nil
	}
	if o.Select == nil {
		return true, nil
	}
	const part = "the selection"
	e.Tags, e.Subjects, e.Sources = slices.Clone(e.Tags), slices.Clone(e.Subjects), slices.Clone(e.Sources) // the host's own
	selected, err := hostcall.Inline(part, func() (bool, error) { return o.Select(e), nil })
	return selected, hostFailed(context.Background(), part, err)
}

// takeOutputs makes earlier outputs sources. One that was made from outputs says nothing that is
// not there, as long as all of its sources are: taking it in would make another archive each time.
func (p *pass) takeOutputs() error {
	taken, outputs := map[string]bool{}, map[string]bool{}
	for _, e := range p.entries {
		taken[e.ID] = true
	}
	for _, e := range p.outputs {
		outputs[e.ID] = true
	}
	isOutput := func(id string) bool { return outputs[id] }
	isNotTaken := func(id string) bool { return !taken[id] }
	for _, e := range slices.Backward(p.outputs) { // oldest first
		takes, err := p.o.selects(e)
		if err != nil {
			return err
		}
		if takes && (!slices.ContainsFunc(e.Sources, isOutput) || slices.ContainsFunc(e.Sources, isNotTaken)) {
			taken[e.ID] = true
			p.entries = append(p.entries, e)
		}
	}
	slices.SortFunc(p.entries, func(a, b memory.Entry) int {
		if a.Before(&b) {
			return -1
		}
		return 1
	})
	return nil
}

// corroborations counts, for each entry, those that were merged into it, directly or not.
func (p *pass) corroborations(ctx context.Context) (map[string]int, error) {
	into := map[string]string{}
	var merged []string
	for rec, err := range p.job.History(ctx, p.ref) {
		if err != nil {
			return nil, err
		}
		if rec.State == memory.Merged {
			into[rec.Entry.ID] = rec.For
			if !rec.Erased {
				merged = append(merged, rec.Entry.ID)
			}
		}
	}
	weights := map[string]int{}
	for _, id := range merged {
		for next := into[id]; next != ""; id, next = next, into[next] {
			if after := into[next]; after != "" {
				into[id] = after // the next one has less far to go
			}
		}
		weights[id]++
	}
	return weights, nil
}

// fit counts the sources. With Options.Fit it keeps those that leave room in the budget for a
// summary of them: at most three quarters of it, or else a single one that needs more.
func (p *pass) fit(ctx context.Context) error {
	candidates := make([]candidate, len(p.sources))
	for i, s := range p.sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		candidates[i] = candidate{s.Text, s.Weight, p.Tokenizer.Count(s.Text)}
		p.tokens += candidates[i].cost
	}
	if !p.o.Fit {
		return nil
	}
	need := make([]int, len(p.sources)) // by each alone, with its smallest passage; 0 if it says nothing
	required := 0                       // by the one that needs least
	for i := range p.sources {
		one := p.request(ctx, 0)
		one.Sources = p.sources[i : i+1]
		least, err := minimum(ctx, one)
		if err != nil {
			return err
		}
		if least > 0 {
			need[i] = candidates[i].cost + least
		}
		if least > 0 && (required == 0 || need[i] < required) {
			required = need[i]
		}
	}
	taken := make([]bool, len(p.sources))
	p.tokens = 0
	err := choose(ctx, candidates, func(i int) (bool, bool) {
		with := p.tokens + candidates[i].cost
		taken[i] = need[i] > 0 && p.tokens+need[i] <= p.budget && (p.tokens == 0 || with <= p.budget-p.budget/4)
		if taken[i] {
			p.tokens = with
		}
		return taken[i], true
	})
	if err != nil {
		return err
	}
	if p.tokens == 0 && required > 0 {
		return &BudgetError{Budget: p.budget, MinimumRequired: required}
	}
	entries, sources := p.entries, p.sources
	p.entries, p.sources = nil, nil
	for i, s := range sources {
		if taken[i] {
			p.entries, p.sources = append(p.entries, entries[i]), append(p.sources, s)
		} else {
			p.leftOut = append(p.leftOut, s.ID)
		}
	}
	return nil
}
