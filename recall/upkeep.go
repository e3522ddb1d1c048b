package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Bounds of the work of a round.
const (
	roundVectors = 4096    // entries that are embedded, so that it does not hold up others
	roundWords   = 64      // entries that a model says in other words, which takes seconds for each
	roundRefs    = 64      // that are looked at
	roundWrites  = 1 << 17 // entries of images that are written
)

// upkeep is what the ranker does in the rounds of a bank: it writes images, and embeds what has no
// vector yet.
type upkeep struct {
	*Ranker
	bank *memory.Bank

	mu      sync.Mutex
	next    memory.Scope // the ref behind which the next round goes on
	done    map[memory.Scope]progress
	left    map[string]int // by kind, for how many entries this round may still have it made
	made    int            // for how many it had, of all kinds
	written int            // how many entries of images were written in this round
	down    bool           // a model has failed in this round
}

// progress is what is known of a ref.
type progress struct {
	imaged  string    // the newest view whose image is as it should be
	resting time.Time // until when the image is not written again
	made    string    // the newest view of which models have made what they make
}

// round looks at the next refs.
func (p *upkeep) round(ctx context.Context) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.made, p.written, p.down = map[string]int{}, 0, 0, false
	for _, m := range p.makers {
		p.left[m.kind] = m.round
	}
	if len(p.makers) > 0 {
		in, span := p.bank.Engines().Begin(ctx, telemetry.Embed)
		ctx = in
		defer span.Done(&err)
		defer func() { span.Add(telemetry.Derived.Of(p.made)) }()
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
		full := p.made > 0 && !p.mayMake() && !p.down
		if !full { // or the next round goes on with this ref
			p.next = at
		}
		if looked++; full || p.down || looked == roundRefs || p.written >= roundWrites {
			return errors.Join(failed...)
		}
	}
	p.next = memory.Scope{}
	return errors.Join(failed...)
}

// mayMake reports whether the round may have any model make more.
func (p *upkeep) mayMake() bool {
	return slices.ContainsFunc(p.makers, func(m maker) bool { return p.left[m.kind] > 0 })
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
	err = errors.Join(err, p.makeAll(ctx, v, name, &done))
	p.done[at] = done
	return err
}

// swap changes documents of a ref in one mutation, and returns their revisions.
func swap(ctx context.Context, job *memory.Job, ref string, swaps []driver.DocumentSwap) ([]int64, error) {
	done, err := job.Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps }})
	return done.Revs, err
}

// makeAll has the models make what a ref has not, and removes what former models made.
func (p *upkeep) makeAll(ctx context.Context, v *memory.View, name string, done *progress) error {
	if name != "" && done.made == name {
		return nil
	}
	limits, count, missing := maps.Clone(p.left), 0, map[string][]memory.Entry{}
	old, err := p.former(ctx, v, done.made)
	for _, m := range p.makers {
		found, failed := p.missing(ctx, v, m.kind, done.made)
		missing[m.kind], count, err = found, count+len(found), errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	if count+len(old) > 0 {
		secrets, err := p.secretsOf(ctx, v.Scope().Tenant)
		if err != nil {
			return err
		}
		err = p.bank.Pass(ctx, memory.JobConfig{ID: "recall-embedding", Tenant: v.Scope().Tenant, Redactor: secrets}, func(job *memory.Job) error {
			return p.makeMissing(ctx, job, v, missing, old)
		})
		if errors.Is(err, memory.ErrConflict) {
			return nil // an entry was erased, or another process was faster: the next round looks again
		}
		if err != nil {
			return err
		}
	}
	more := slices.ContainsFunc(p.makers, func(m maker) bool {
		limit := limits[m.kind]
		return limit == 0 || len(missing[m.kind]) == limit && p.left[m.kind] < limit
	})
	if !more {
		done.made = name
	}
	return nil
}

// makeMissing removes old documents and has the models make those of entries, by kind.
func (p *upkeep) makeMissing(ctx context.Context, job *memory.Job, v *memory.View, missing map[string][]memory.Entry, old []driver.DocumentSwap) error {
	for swaps := range slices.Chunk(old, 256) {
		if _, err := swap(ctx, job, v.Scope().Ref, swaps); err != nil {
			return err
		}
	}
	for _, m := range p.makers {
		for entries := range slices.Chunk(missing[m.kind], m.batch) {
			swaps, err := p.makeBatch(ctx, job, v, m, entries)
			if err == nil && len(swaps) > 0 {
				p.left[m.kind] -= len(swaps) - 1
				p.made += len(swaps) - 1
				within, cancel := context.WithTimeout(ctx, settling/2)
				_, err = swap(within, job, v.Scope().Ref, swaps)
				cancel()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// makeBatch has a model make what some entries have not, and returns its documents.
func (p *upkeep) makeBatch(ctx context.Context, job *memory.Job, v *memory.View, m maker, entries []memory.Entry) ([]driver.DocumentSwap, error) {
	top, h, err := headAt(ctx, v, m.kind)
	if err != nil {
		return nil, err
	}
	var texts, ids []string
	for i := range entries {
		text, err := job.Redact(ctx, entries[i].Content)
		if err == nil && text != "" {
			texts, ids = append(texts, text), append(ids, entries[i].ID)
		}
		if err != nil && !errors.Is(err, memory.ErrSecretLeakage) {
			return nil, err
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	values, err := m.make(ctx, texts, &h)
	if err != nil {
		p.down = true
		return nil, err
	}
	h.batches++
	top.Value = fmt.Append(nil, h.batches, " ", h.dimensions)
	swaps := []driver.DocumentSwap{{Document: top}}
	since := stamp(p.bank.Now().Add(settling).UnixMilli())
	for i, value := range values {
		value, err := job.Redact(ctx, since+value)
		if err != nil {
			return nil, err
		}
		swaps = append(swaps, driver.DocumentSwap{Document: driver.Document{
			Scope: v.Scope(), Class: driver.Content, Kind: m.kind, Key: ids[i], Group: strconv.Itoa(h.batches),
			Of: []string{ids[i]}, Value: []byte(value),
		}})
	}
	return swaps, nil
}

// missing returns entries that have no document of a kind, as many as the round may have made: of those that
// were touched since the view of a name, or of all.
func (p *upkeep) missing(ctx context.Context, v *memory.View, kind, since string) (missing []memory.Entry, err error) {
	touched, all := []string{""}, true // the empty key is every key
	if since != "" {
		_, later, _, err := v.Differs(ctx, since)
		if err != nil && !errors.Is(err, memory.ErrSnapshotUnavailable) {
			return nil, err
		}
		if ids := slices.Concat(later.Put, later.Restored); err == nil && len(ids) < p.left[kind] {
			touched, all = ids, false
		}
	}
	has := map[string]bool{}
	for _, key := range touched {
		for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: kind, Key: key, Bare: true}) {
			if err != nil {
				return nil, err
			}
			has[d.Key] = true
		}
	}
	if !all {
		return v.Get(ctx, slices.DeleteFunc(touched, func(id string) bool { return has[id] }))
	}
	for e, err := range v.Entries(ctx) {
		if err != nil || len(missing) == p.left[kind] {
			return missing, err
		}
		if !has[e.ID] {
			missing = append(missing, e)
		}
	}
	return missing, nil
}

// former returns the removal of what former models have made of a ref, which is looked for once.
func (p *upkeep) former(ctx context.Context, v *memory.View, since string) (old []driver.DocumentSwap, err error) {
	for _, model := range p.cfg.Former {
		for _, kind := range []string{vectorKind + mark(model), wordsKind + mark(model)} {
			if since != "" || slices.ContainsFunc(p.makers, func(m maker) bool { return m.kind == kind }) {
				continue
			}
			for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: kind, Bare: true}) {
				if err != nil {
					return nil, err
				}
				old = append(old, driver.DocumentSwap{Document: d, Act: driver.Remove})
			}
		}
	}
	return old, nil
}
