package distill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// noTime asks for no condition.
var noTime time.Time

// product is what a pass publishes.
type product struct {
	text     string
	archive  Digest        // zero of a compaction
	existing *memory.Entry // the entry that has it already
	in       *input
	o        Options
	expires  time.Time
	account  *events.Distillation
	passes   []byte // what passCell held when the pass began
}

// commit publishes the entry with its event and retires the sources, all at once.
func (r *Runner) commit(ctx context.Context, job *memory.Job, ref string, p product) (memory.Entry, error) {
	ids := p.in.ids()
	rw := memory.Rewrite{Announce: func(stored []memory.Entry) []memory.Announcement {
		out := p.existing
		if out == nil {
			out = &stored[0]
		}
		return []memory.Announcement{p.announce(job, ref, out, ids)}
	}}
	if p.existing != nil {
		rw.Expect = append(ids, p.existing.ID)
		for _, id := range p.in.retire {
			switch p.o.Sources {
			case ExpireSources:
				rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: memory.Merged, For: p.existing.ID})
			case RemoveSources:
				rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: memory.Deleted})
			}
		}
		_, err := job.Rewrite(ctx, ref, rw)
		return *p.existing, err
	}

	d := memory.Derived{Sources: ids, Draft: memory.Draft{Content: p.text, ExpiresAt: p.expires}}
	if p.o.WithSources && !p.in.expires.IsZero() && (d.ExpiresAt.IsZero() || p.in.expires.Before(d.ExpiresAt)) {
		d.ExpiresAt = p.in.expires
	}
	var err error
	if d.Tags, err = p.tags(job); err != nil {
		return memory.Entry{}, err
	}
	switch p.o.Sources {
	case ExpireSources:
		d.Merges = p.in.retire
	case RemoveSources:
		for _, id := range p.in.retire {
			rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: memory.Deleted})
		}
	}
	rw.Derive = []memory.Derived{d}
	if !p.archive.IsZero() {
		rw.Cells = []memory.Cell{{Name: passCell, Old: p.passes, New: nextPass(p.passes)}}
	}
	stored, err := job.Rewrite(ctx, ref, rw)
	if err != nil {
		return memory.Entry{}, err
	}
	return stored[0], nil
}

// tags are the provenance of the entry. A reader has to find them as they are, so
// one that the redactor would change is refused.
func (p *product) tags(job *memory.Job) ([]string, error) {
	tags := []string{tagOf(job.ID())}
	if !p.archive.IsZero() {
		tags = append(tags, archiveTag+p.archive.String())
	}
	for _, t := range tags {
		clean, err := job.Redact(t)
		if err != nil {
			return nil, err
		}
		if clean != t {
			return nil, leaks("a provenance tag holds a secret")
		}
	}
	if p.o.Tag != "" {
		tags = append(tags, p.o.Tag)
	}
	return tags, nil
}

// announce is memory.compacted (RFC 0012 §B). Its id is the same however often a
// pass is tried.
func (p *product) announce(job *memory.Job, ref string, out *memory.Entry, ids []string) memory.Announcement {
	payload := events.MemoryCompacted{
		MemoryRef: ref, OutputID: out.ID, SourceCount: int64(len(ids)), Trigger: p.o.Trigger,
		ByteSize: int64(len(out.Content)), Distillation: p.account,
	}
	if len(ids) <= events.MaxListedSources {
		payload.SourceIDs = ids
	}
	sum := sha256.Sum256([]byte(job.ID() + "\x00" + ref + "\x00" + out.ID))
	return memory.Announcement{ID: "evt_" + hex.EncodeToString(sum[:16]), Payload: payload}
}
