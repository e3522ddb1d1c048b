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
	// Archive is the address of the archive, for the output of an earlier distillation.
	Archive string
}

// input is what a pass reads.
type input struct {
	entries []memory.Entry // the sources, redacted, newest first
	sources []Source       // the same, as a summarizer sees them
	tokens  int            // of the sources, in a distillation
	left    int            // sources beyond the limit of one pass
	outputs []memory.Entry // of earlier passes, whether sources or not, newest first
}

// archiveOf returns the address of the archive that an entry names; empty if it names none.
func archiveOf(e *memory.Entry) string {
	for _, t := range e.Tags {
		if address, ok := strings.CutPrefix(t, memory.ArchivePrefix); ok && e.Compacted() {
			return address
		}
	}
	return ""
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
		if p.budget > 0 {
			p.tokens += p.Tokenizer.Count(s.Text)
		}
	}
	return nil
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
	return selected, hostcall.Failed(context.Background(), part, err, internal)
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
	slices.SortFunc(p.entries, func(a, b memory.Entry) int { return a.Compare(&b) }) // newest first (M5)
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
