package recall

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Bounds of the work of a round.
const (
	roundRefs   = 64      // that are looked at
	roundWrites = 1 << 17 // entries of images that are written
)

// When an image is written: of a ref that is worth one, if so much has changed since, or it is so
// old that a purge could make its view unavailable. One that was removed is written again once
// it has not taken more than a part of the time.
const (
	imageAge   = time.Hour
	imageShare = 20
)

var ( // which tests make smaller
	imageMin    = 256  // entries
	imageLag    = 256  // changes
	pageEntries = 8192 // of an image
)

// upkeep is what the ranker does in the rounds of a bank: it writes images, and embeds what has no
// vector yet.
type upkeep struct {
	*Ranker
	bank *memory.Bank

	mu      sync.Mutex
	next    memory.Scope             // the ref behind which the next round goes on
	imaged  map[memory.Scope]*imaged // what is known of images
	known   map[memory.Scope]string  // the newest view of a ref all of which has vectors
	left    int                      // how many entries this round may embed
	written int                      // how many entries of images were written in this round
	down    bool                     // the model has failed in this round
}

// imaged is what an upkeep knows of the image of a ref.
type imaged struct {
	name  string    // of the newest view when it was looked at
	after time.Time // it is not written before
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

// keepImage writes the image of a ref, if it is worth it.
func (p *upkeep) keepImage(ctx context.Context, at memory.Scope) error {
	v, name, err := p.bank.Engines().View(ctx, at.Tenant, at.Ref)
	switch {
	case errors.Is(err, memory.ErrForbidden), err == nil && name == "":
		return nil // nobody can read it, or the store does not tell what has changed
	case err != nil:
		return err
	}
	known := p.imaged[at]
	if known == nil {
		known = &imaged{}
		p.imaged[at] = known
	}
	if known.name == name || time.Now().Before(known.after) {
		return nil
	}
	due, err := p.imageIsDue(ctx, v)
	if due && err == nil {
		began := time.Now()
		err = p.pass(ctx, "recall-image", at.Tenant, func(job *memory.Job) error { return p.writeImage(ctx, job, at) })
		known.after = time.Now().Add(imageShare * time.Since(began))
		_, name, _ = v.Newest(ctx)
	}
	if errors.Is(err, memory.ErrConflict) || errors.Is(err, memory.ErrSecretLeakage) {
		return nil // something was erased, another process writes it, or an id is taken for a secret
	}
	if err == nil {
		known.name = name
	}
	return err
}

// imageIsDue reports whether a ref needs another image.
func (p *upkeep) imageIsDue(ctx context.Context, v *memory.View) (due bool, err error) {
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind, Key: headKey}) {
		if err != nil {
			return false, err
		}
		h := headOf(d.Value)
		if h.newer() {
			return false, nil
		}
		if !h.readable() {
			break
		}
		_, later, _, err := v.Differs(ctx, h.View)
		if errors.Is(err, memory.ErrSnapshotUnavailable) {
			return true, nil
		}
		changes := len(later.Put) + len(later.Retired) + len(later.Restored)
		return changes >= imageLag || p.bank.Now().Sub(time.UnixMilli(h.Written)) > imageAge, err
	}
	entries := 0
	for _, err := range v.Entries(ctx) {
		if entries++; err != nil || entries == imageMin {
			return err == nil, err
		}
	}
	return false, nil
}

// writeImage brings the image of a ref up to date, or writes all of it.
func (p *upkeep) writeImage(ctx context.Context, job *memory.Job, at memory.Scope) error {
	w := imaging{bank: p.bank, job: job, scope: at, next: newIndex(at)}
	if err := w.begin(ctx); err != nil {
		return err
	}
	v, _, err := p.bank.Engines().View(ctx, at.Tenant, at.Ref)
	if err != nil {
		return err
	}
	v, name, err := v.Newest(ctx)
	if err != nil {
		return err
	}
	fresh, gone, err := w.former(ctx, v)
	if err != nil {
		return err
	}
	for e, err := range fresh {
		if err == nil {
			err = w.add(ctx, &e)
		}
		if err != nil {
			return err
		}
		p.written++
	}
	return w.end(ctx, name, gone)
}
