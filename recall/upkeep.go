package recall

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
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
	wordsOnly *Ranker // that reads no vectors
	bank      *memory.Bank

	mu      sync.Mutex
	next    memory.Scope               // the ref behind which the next round goes on
	imaged  map[memory.Scope]string    // the newest view of a ref whose image is as it should be
	resting map[memory.Scope]time.Time // until when the image of a ref is not written again
	known   map[memory.Scope]string    // the newest view of a ref all of which has vectors
	left    int                        // how many entries this round may embed
	written int                        // how many entries of images were written in this round
	down    bool                       // the model has failed in this round
}

// round looks at the next refs.
func (p *upkeep) round(ctx context.Context) (err error) {
	model, err := p.modelOf()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if model != "" {
		in, span := p.bank.Engines().Begin(ctx, telemetry.Embed)
		ctx = in
		defer span.Done(&err)
		defer func() { span.Add(telemetry.Derived.Of(roundEntries - p.left)) }()
	}
	p.left, p.written, p.down = roundEntries, 0, false
	var failed []error
	looked := 0
	for at, err := range p.bank.Engines().Scopes(ctx, p.next) {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if at.Ref != "" {
			failed = append(failed, p.keepImage(ctx, at))
			if model != "" {
				failed = append(failed, p.embedRef(ctx, at))
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
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

// pass does something by a job of the tenant.
func (p *upkeep) pass(ctx context.Context, id, tenant string, do func(*memory.Job) error) error {
	if p.cfg.Redactor == nil { // no word of an entry is written
		return p.bank.Pass(ctx, memory.JobConfig{ID: id, Tenant: tenant, Redactor: wordless{}}, do)
	}
	secrets, err := hostcall.Call(ctx, theSource, memory.PluginTimeout, func(ctx context.Context) (memory.Redactor, error) { return p.cfg.Redactor(ctx, tenant) })
	if err != nil {
		return hostFailed(ctx, theSource, err)
	}
	return p.bank.Pass(ctx, memory.JobConfig{ID: id, Tenant: tenant, Redactor: secrets}, do)
}

// wordless is the redactor of a pass that writes numbers and digests only.
type wordless struct{}

func (wordless) Redact(text string) (string, error)        { return text, nil }
func (wordless) RedactDerived(text string) (string, error) { return text, nil }
