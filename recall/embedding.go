package recall

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Bounds of the work of a pass.
const (
	roundEntries = 4096 // that are embedded in one round, so that it does not hold up others
	batchEntries = 64   // that are embedded by one call of the model, and stored by one mutation
)

// embedRef embeds what one ref has.
func (p *upkeep) embedRef(ctx context.Context, v *memory.View, name string, done *progress) error {
	if name != "" && done.embedded == name {
		return nil
	}
	limit := p.left
	missing, err := p.missing(ctx, v, done.embedded)
	old, failed := p.former(ctx, v, done.embedded)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if len(missing)+len(old) > 0 {
		secrets, err := p.secretsOf(ctx, v.Scope().Tenant)
		if err != nil {
			return err
		}
		err = p.bank.Pass(ctx, memory.JobConfig{ID: "recall-embedding", Tenant: v.Scope().Tenant, Redactor: secrets}, func(job *memory.Job) error {
			return p.embedMissing(ctx, job, v, missing, old)
		})
		if errors.Is(err, memory.ErrConflict) {
			return nil // an entry was erased, or another process was faster: the next round looks again
		}
		if err != nil {
			return err
		}
	}
	if len(missing) < limit || p.left == limit { // there is no more
		done.embedded = name
	}
	return nil
}

// embedMissing removes old documents and embeds entries.
func (p *upkeep) embedMissing(ctx context.Context, job *memory.Job, v *memory.View, missing []memory.Entry, old []driver.DocumentSwap) error {
	for swaps := range slices.Chunk(old, 256) {
		if _, err := swap(ctx, job, v.Scope().Ref, swaps); err != nil {
			return err
		}
	}
	for entries := range slices.Chunk(missing, batchEntries) {
		swaps, err := p.embedBatch(ctx, job, v, entries)
		if err == nil && len(swaps) > 0 {
			p.left -= len(swaps) - 1
			within, cancel := context.WithTimeout(ctx, settling/2)
			_, err = swap(within, job, v.Scope().Ref, swaps)
			cancel()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// embedBatch embeds some entries, and returns the documents of their vectors.
func (p *upkeep) embedBatch(ctx context.Context, job *memory.Job, v *memory.View, entries []memory.Entry) ([]driver.DocumentSwap, error) {
	top, h, err := headAt(ctx, v, p.model)
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
	vectors, err := p.embed(ctx, texts, h.Dimensions)
	if err != nil {
		p.down = true
		return nil, err
	}
	h = head{Format: 1, Batches: h.Batches + 1, Dimensions: len(vectors[0].coords)}
	if top.Value, err = json.Marshal(h); err != nil {
		return nil, err
	}
	swaps := []driver.DocumentSwap{{Document: top}}
	since := p.bank.Now().Add(settling).UnixMilli()
	for i, vec := range vectors {
		vec.since = since
		swaps = append(swaps, driver.DocumentSwap{Document: driver.Document{
			Scope: v.Scope(), Class: driver.Content, Kind: vectorKind + mark(p.model), Key: ids[i], Group: strconv.Itoa(h.Batches),
			Of: []string{ids[i]}, Value: vec.stored(),
		}})
	}
	return swaps, nil
}

// missing returns entries that have no vector, as many as the round may embed: of those that
// were touched since the view of a name, or of all.
func (p *upkeep) missing(ctx context.Context, v *memory.View, since string) (missing []memory.Entry, err error) {
	q := driver.DocumentQuery{Kind: vectorKind + mark(p.model), Bare: true}
	has := map[string]bool{}
	readKeys := func() error {
		for d, err := range v.Documents(ctx, q) {
			if err != nil {
				return err
			}
			has[d.Key] = true
		}
		return nil
	}
	if since != "" {
		_, later, _, err := v.Differs(ctx, since)
		touched := slices.Concat(later.Put, later.Restored)
		if err == nil && len(touched) < p.left {
			for _, q.Key = range touched {
				if err := readKeys(); err != nil {
					return nil, err
				}
			}
			return v.Get(ctx, slices.DeleteFunc(touched, func(id string) bool { return has[id] }))
		}
		if err != nil && !errors.Is(err, memory.ErrSnapshotUnavailable) {
			return nil, err
		}
	}
	if err := readKeys(); err != nil {
		return nil, err
	}
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		if !has[e.ID] {
			missing = append(missing, e)
		}
		if len(missing) == p.left {
			break
		}
	}
	return missing, nil
}

// former returns the removal of what former models have left in a ref, which is looked for
// once.
func (p *upkeep) former(ctx context.Context, v *memory.View, since string) (old []driver.DocumentSwap, err error) {
	for _, model := range p.cfg.Former {
		if since != "" || model == p.model {
			continue
		}
		for _, q := range []driver.DocumentQuery{{Kind: vectorKind + mark(model), Bare: true}, {Kind: headKind, Key: mark(model), Bare: true}} {
			for d, err := range v.Documents(ctx, q) {
				if err != nil {
					return nil, err
				}
				old = append(old, driver.DocumentSwap{Document: d, Act: driver.Remove})
			}
		}
	}
	return old, nil
}
