package recall

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Bounds of the work of a round.
const (
	roundRefs   = 64      // that are looked at
	roundWrites = 1 << 17 // entries of images that are written
)

// upkeep is what the ranker does in the rounds of a bank: it writes images, and embeds what has no
// vector yet.
type upkeep struct {
	*Ranker
	bank *memory.Bank

	mu      sync.Mutex
	next    memory.Scope // the ref behind which the next round goes on
	done    map[memory.Scope]progress
	left    int  // how many entries this round may embed
	written int  // how many entries of images were written in this round
	down    bool // the model has failed in this round
}

// progress is what is known of a ref.
type progress struct {
	imaged   string    // the newest view whose image is as it should be
	resting  time.Time // until when the image is not written again
	embedded string    // the newest view all of which has vectors
}

// round looks at the next refs.
func (p *upkeep) round(ctx context.Context) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.written, p.down = roundEntries, 0, false
	if p.model != "" {
		in, span := p.bank.Engines().Begin(ctx, telemetry.Embed)
		ctx = in
		defer span.Done(&err)
		defer func() { span.Add(telemetry.Derived.Of(roundEntries - p.left)) }()
	}
	var failed []error
	looked := 0
	for at, err := range p.bank.Engines().Scopes(ctx, p.next) {
		if err == nil && at.Ref != "" {
			failed = append(failed, p.ref(ctx, at))
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if p.left <= 0 && !p.down {
			return errors.Join(failed...) // the next round goes on with this ref
		}
		p.next = at
		if looked++; p.down || looked == roundRefs || p.written >= roundWrites {
			return errors.Join(failed...)
		}
	}
	p.next = memory.Scope{}
	return errors.Join(failed...)
}

// ref does what one ref needs.
func (p *upkeep) ref(ctx context.Context, at memory.Scope) error {
	v, name, err := p.bank.Engines().View(ctx, at.Tenant, at.Ref)
	if errors.Is(err, memory.ErrForbidden) {
		return nil // it cannot be read
	}
	if err != nil {
		return err
	}
	done := p.done[at]
	err = p.keepImage(ctx, v, name, &done)
	if p.model != "" {
		err = errors.Join(err, p.embedRef(ctx, v, name, &done))
	}
	p.done[at] = done
	return err
}

// swap changes documents of a ref in one mutation, and returns their revisions.
func swap(ctx context.Context, job *memory.Job, ref string, swaps []driver.DocumentSwap) ([]int64, error) {
	done, err := job.Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps }})
	return done.Revs, err
}
