package distill

import (
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// product is what a pass commits.
type product struct {
	text     string
	in       *input
	o        Options
	answer   *answer       // nil of a compaction
	existing *memory.Entry // the live entry that has the answer already
	expires  time.Time
}

// publish commits the entry of a distillation with its archive, the head of the index and
// the events, and retires the sources, all at once. It renders no index: the head gains the
// digest of one line, whatever the number of the others.
func (r *Runner) publish(ctx context.Context, job *memory.Job, ref string, p product) (memory.Entry, []events.Record, error) {
	rw := p.rewrite()
	if p.existing != nil && p.existing.RunID == job.ID() && len(rw.Retire) == 0 {
		return *p.existing, nil, nil // the pass is asked for again, and has its event
	}
	for before := int64(-1); ; {
		h, err := readHead(ctx, job)
		if err == nil && h.doc.Rev == before {
			err = memory.ErrConflict // and not over the head: the pass begins anew
		}
		if err != nil {
			return memory.Entry{}, nil, err
		}
		adds := p.existing == nil
		rw.Documents = func(stored []memory.Entry) []driver.DocumentSwap {
			if !adds {
				return nil
			}
			line := lineOf(p.answer.address, stored[0])
			return []driver.DocumentSwap{{Document: h.next(h.Lines.xor(line.digest(ref))).doc}, p.answer.swap(stored[0].ID)}
		}
		rw.Announce = func(stored []memory.Entry) (all []events.Record) {
			if adds {
				all = append(all, h.next(h.Lines).announcement())
			}
			return append(all, p.compacted(ref, p.output(stored), &adds))
		}
		made, err := job.Rewrite(ctx, ref, rw)
		if err == nil {
			return p.output(made.Entries), made.Events, nil
		}
		if !errors.Is(err, memory.ErrConflict) {
			return memory.Entry{}, nil, err
		}
		// Another pass may have published meanwhile, on whatever ref. Then it is only the
		// head that has to be read again.
		before = h.doc.Rev
	}
}

func (p *product) output(stored []memory.Entry) memory.Entry {
	if p.existing != nil {
		return *p.existing
	}
	return stored[0]
}

// rewrite is what becomes of entries.
func (p *product) rewrite() memory.Rewrite {
	var rw memory.Rewrite
	ids := p.in.ids()
	if p.o.Sources == RemoveSources {
		for _, id := range p.in.retire {
			rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: memory.Deleted})
		}
	}
	if p.existing != nil {
		rw.Expect = append(ids, p.existing.ID)
		if p.o.Sources == ExpireSources {
			for _, id := range p.in.retire {
				rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: memory.Merged, For: p.existing.ID})
			}
		}
		return rw
	}
	d := memory.Derived{Sources: ids, Compacted: true, Draft: memory.Draft{Content: p.text, ExpiresAt: p.expires}}
	if p.o.WithSources && !p.in.expires.IsZero() && (d.ExpiresAt.IsZero() || p.in.expires.Before(d.ExpiresAt)) {
		d.ExpiresAt = p.in.expires
	}
	if p.o.Tag != "" {
		d.Tags = []string{p.o.Tag}
	}
	if p.answer != nil {
		d.Archive = p.answer.address.String()
	}
	if p.o.Sources == ExpireSources {
		d.Merges = p.in.retire
	}
	rw.Derive = []memory.Derived{d}
	return rw
}

// compacted is memory.compacted (RFC 0012 §B). The bank issues its id: a pass commits once, and
// another one, of the same job too, has an event of its own.
func (p *product) compacted(ref string, out memory.Entry, indexed *bool) events.Record {
	ids := p.in.ids()
	payload := events.MemoryCompacted{
		MemoryRef: ref, OutputID: out.ID, SourceCount: int64(len(ids)), Trigger: p.o.Trigger, ByteSize: int64(len(out.Content)),
	}
	if p.answer != nil {
		payload.Distillation = &events.Distillation{
			TokenBudget: int64(p.answer.archive.Budget), TokensUsed: int64(p.answer.archive.Tokens.used()), IndexUpdated: indexed,
		}
	}
	if len(ids) <= events.MaxListedSources {
		payload.SourceIDs = ids
	}
	return events.Record{Payload: payload}
}
