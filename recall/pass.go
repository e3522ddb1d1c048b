package recall

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/openwop/agentmemory/memory"
)

// Bounds of the work of a pass.
const (
	roundEntries = 4096 // that are embedded in one round, so that it does not hold up others
	batchEntries = 64   // that are embedded by one call of the model, and stored by one mutation
)

// embedding is the pass that embeds what has no vector yet.
type embedding struct {
	ranker *Ranker
	bank   *memory.Bank

	mu    sync.Mutex
	down  bool                         // the model failed in this round
	next  memory.Scope                 // where the next round goes on
	known map[string]map[string]string // by tenant and ref, the newest view all of which has vectors
}

// Embedding returns a pass that embeds the live entries of all tenants that have no vector of
// the model yet, some thousand in a call, and removes the vectors of Config.Former. A host gives
// it to memory.Bank.Keep; a host that has imported much may call it in a loop of its own
// meanwhile. The store must be a Transactor and list its tenants.
//
// The model sees what the entries say, redacted again by Config.Redactor, and is asked outside
// of any mutation. Each vector is a document that is made of its entry, and so goes with it, in
// the mutation that erases the entry. An entry that the
// redactor refuses gets no vector. If the model panics, hangs, fails or gives what are no
// vectors, the call ends with [memory.ErrInternal], and the next one begins with the ref behind;
// what was stored before is whole. Other trouble with one tenant holds up no other: the errors
// come together at the end. Any number of processes may do it at once.
func (r *Ranker) Embedding(bank *memory.Bank) func(context.Context) error {
	p := &embedding{ranker: r, bank: bank, known: map[string]map[string]string{}}
	return p.round
}

func (p *embedding) round(ctx context.Context) error {
	switch {
	case p.ranker.model() == "":
		return nil
	case p.ranker.cfg.Redactor == nil:
		return errNoRedactor
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed []error
	left, begin := roundEntries, p.next
	p.next, p.down = memory.Scope{}, false // unless this round does not come to the end
	for tenant, err := range p.bank.Tenants(ctx) {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		if tenant < begin.Tenant {
			continue
		}
		after := ""
		if tenant == begin.Tenant {
			after = begin.Ref
		}
		if err := p.tenant(ctx, tenant, after, &left); err != nil {
			failed = append(failed, err)
		}
		if left <= 0 || p.down || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// tenant embeds what one tenant has in its refs from one on.
func (p *embedding) tenant(ctx context.Context, tenant, from string, left *int) (err error) {
	var job *memory.Job
	defer func() {
		if job != nil {
			err = errors.Join(err, job.End(ctx))
		}
	}()
	for ref, err := range p.bank.Refs(ctx, tenant) {
		if err != nil {
			return err
		}
		if ref == "" || ref < from {
			continue
		}
		v, name, err := p.bank.View(ctx, tenant, ref)
		if errors.Is(err, memory.ErrForbidden) {
			continue // nobody can read it
		}
		if err != nil {
			return err
		}
		if known := p.known[tenant][ref]; known == name && name != "" {
			continue
		}
		if job == nil {
			if job, err = p.open(ctx, tenant); err != nil {
				return err
			}
		}
		if err := p.ref(ctx, job, v, name, left); err != nil {
			if p.down { // the next round begins with others
				p.next = memory.Scope{Tenant: tenant, Ref: ref + "\x00"}
			}
			return err
		}
		if *left <= 0 {
			p.next = v.Scope()
			return nil
		}
	}
	return nil
}

func (p *embedding) open(ctx context.Context, tenant string) (*memory.Job, error) {
	secrets, err := ask(ctx, "the source of redactors", func(ctx context.Context) (memory.Redactor, error) { return p.ranker.cfg.Redactor(ctx, tenant) })
	if err != nil {
		return nil, err
	}
	return p.bank.Background(memory.JobConfig{ID: "recall-embedding", Tenant: tenant, Redactor: secrets})
}

// ref embeds what one ref has.
func (p *embedding) ref(ctx context.Context, job *memory.Job, v *memory.View, name string, left *int) error {
	tenant, ref := v.Scope().Tenant, v.Scope().Ref
	missing, err := p.missing(ctx, job, v, p.known[tenant][ref], *left)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(missing, batchEntries) {
		err := p.batch(ctx, job, ref, batch)
		if errors.Is(err, memory.ErrConflict) {
			name = "" // memory has moved: the next round looks again
			continue
		}
		if err != nil {
			return err
		}
	}
	if *left -= len(missing); *left > 0 && name != "" {
		if p.known[tenant] == nil {
			p.known[tenant] = map[string]string{}
		}
		p.known[tenant][ref] = name
	}
	return nil
}

// missing returns entries that have no vector, at most limit: of those that were touched since
// the view of a name, or of all. Before it looks at all, it removes the vectors of former
// models.
func (p *embedding) missing(ctx context.Context, job *memory.Job, v *memory.View, since string, limit int) ([]memory.Entry, error) {
	kind := vectorKind + mark(p.ranker.model())
	var missing []memory.Entry
	if since != "" {
		_, later, _, err := v.Differs(ctx, since)
		touched := slices.Concat(later.Put, later.Restored)
		if err == nil && len(touched) < limit {
			var ids []string
			for _, id := range touched {
				d, err := job.Document(ctx, v.Scope().Ref, kind, id)
				if err != nil {
					return nil, err
				}
				if d.Rev == 0 {
					ids = append(ids, id)
				}
			}
			return v.Get(ctx, ids)
		}
		if err != nil && !errors.Is(err, memory.ErrSnapshotUnavailable) {
			return nil, err
		}
	}
	for _, model := range p.ranker.cfg.Former {
		if err := p.remove(ctx, job, v.Scope().Ref, model); err != nil {
			return nil, err
		}
	}
	has := map[string]bool{}
	for d, err := range v.Documents(ctx, memory.DocumentQuery{Kind: kind, Bare: true}) {
		if err != nil {
			return nil, err
		}
		has[d.Key] = true
	}
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		if !has[e.ID] {
			missing = append(missing, e)
		}
		if len(missing) == limit {
			break
		}
	}
	return missing, nil
}

// batch embeds some entries of a ref and stores their vectors by one mutation. It fails with
// [memory.ErrConflict] if one of them was erased meanwhile, or another process was faster.
func (p *embedding) batch(ctx context.Context, job *memory.Job, ref string, entries []memory.Entry) error {
	model := p.ranker.model()
	top, err := job.Document(ctx, ref, headKind, mark(model))
	if err != nil {
		return err
	}
	h, err := headOf(top)
	if err != nil {
		return err
	}
	var texts, ids []string
	for i := range entries {
		text, err := job.Redact(entries[i].Content)
		if err == nil && text != "" {
			texts, ids = append(texts, text), append(ids, entries[i].ID)
		}
		if err != nil && !errors.Is(err, memory.ErrSecretLeakage) {
			return err
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := p.ranker.embed(ctx, texts, h.Dimensions)
	if err != nil {
		p.down = true
		return err
	}
	h = head{Format: 1, Batches: h.Batches + 1, Dimensions: len(vectors[0].coords)}
	if top.Value, err = json.Marshal(h); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, settling/2)
	defer cancel()
	_, err = job.Rewrite(within, ref, memory.Rewrite{Documents: func([]memory.Entry) []memory.DocumentSwap {
		swaps := []memory.DocumentSwap{{Document: top}}
		since := job.Now().Add(settling).UnixMilli()
		for i, v := range vectors {
			v.since = since
			d := memory.Document{Scope: top.Scope, Class: memory.Content, Kind: vectorKind + mark(model), Key: ids[i], Group: strconv.Itoa(h.Batches), Of: []string{ids[i]}}
			d.Value = v.stored()
			swaps = append(swaps, memory.DocumentSwap{Document: d})
		}
		return swaps
	}})
	return err
}

// remove removes the vectors of a former model from a ref.
func (p *embedding) remove(ctx context.Context, job *memory.Job, ref, model string) error {
	if model == p.ranker.model() {
		return nil
	}
	var old []memory.DocumentSwap
	for _, q := range []memory.DocumentQuery{{Kind: vectorKind + mark(model), Bare: true}, {Kind: headKind, Key: mark(model), Bare: true}} {
		for d, err := range job.Documents(ctx, ref, q) {
			if err != nil {
				return err
			}
			old = append(old, memory.DocumentSwap{Document: d, Act: memory.Remove})
		}
	}
	for some := range slices.Chunk(old, 256) {
		_, err := job.Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []memory.DocumentSwap { return some }})
		if err != nil && !errors.Is(err, memory.ErrConflict) { // another process does the same
			return err
		}
	}
	return nil
}
