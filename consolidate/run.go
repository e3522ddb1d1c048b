package consolidate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// digest adds up the hashes of ids, in any order.
type digest struct {
	n    int
	a, b uint64
}

func (d *digest) add(id string, sign int) {
	d.n += sign
	d.a += uint64(sign) * xxhash.Sum64String(id)
	d.b += uint64(sign) * xxhash.Sum64String(id+"\x00")
}

// key is the digest with the versions of all that decided (C2).
func (p *pass) key() (string, error) {
	planner, err := inline("the planner", p.planner().Version)
	merger, embedder := "", ""
	if p.cfg.Merger != nil && err == nil {
		merger, err = inline("the merger", p.cfg.Merger.Version)
		merger = fmt.Sprintf("%v %s", p.cfg.Score, merger)
	}
	if p.cfg.Embedder != nil && err == nil {
		embedder, err = inline("the embedder", p.cfg.Embedder.Version)
	}
	return fmt.Sprintf("3 %d %016x%016x ", p.sum.n, p.sum.a, p.sum.b) +
		hash(planner, merger, embedder, p.cfg.SlotVersion, p.selection(), p.o.RedactorVersion), err
}

func (p *pass) selection() string { return p.o.Selection.Tag + "\x00" + p.o.Selection.Version }

// run is a pass that holds its lease.
func (p *pass) run(ctx context.Context) (err error) {
	if err := p.readCorpus(ctx); err != nil {
		return err
	}
	// A pass that goes on after an error counts what it did before.
	p.result.InputCount = p.sum.n + p.lease.retired() - p.lease.Derived
	p.countCommitted()

	last, err := p.job.Document(ctx, p.ref, digestKind, hash(p.selection()))
	if err != nil {
		return err
	}
	key, err := p.key()
	if err != nil {
		return err
	}
	if string(last.Value) == key {
		p.result.Unchanged = true
	} else if err := p.planAndApply(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if key, err = p.key(); err != nil { // of what the pass leaves
		return err
	}
	rw := memory.Rewrite{Announce: p.announce}
	if p.result.Unchanged && p.lease.Repeated && p.lease.retired() == 0 {
		rw.Announce = nil // a retry of a pass that was over: its event is known
	}
	last.Value = []byte(key)
	_, err = p.commit(ctx, rw, func(s *state) {
		*s = state{Pass: s.Pass}
	}, driver.DocumentSwap{Document: last})
	if errors.Is(err, errStale) {
		return memory.ErrConflict.In(pkg, "the digest of the scope was changed", err)
	}
	return err
}

// announce is the event of the pass (C6). Its id is that of the pass and no other: a crash leaves
// the fence as it was, and a later pass of the same job id has another one.
func (p *pass) announce([]memory.Entry) []events.Record {
	ev := events.MemoryConsolidated{
		MemoryRef:   p.ref,
		InputCount:  int64(p.result.InputCount),
		OutputCount: int64(p.result.OutputCount),
		Trigger:     p.o.Trigger,
	}
	if len(p.lease.IDs) == p.lease.retired() {
		ev.MergedIDs = p.lease.IDs
	}
	return []events.Record{{ID: "consolidated_" + hash(p.job.ID(), p.ref, strconv.FormatInt(p.lease.Fence, 10)), Payload: ev}}
}

// readCorpus reads the selected entries of the ref.
func (p *pass) readCorpus(ctx context.Context) error {
	p.eligible, p.sum = nil, digest{}
	read := 0
	for e, err := range p.job.Scan(ctx, p.ref) {
		if err != nil {
			return err
		}
		if read++; read&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.progress(Reading, read, 0); err != nil {
				return err
			}
		}
		selected, err := p.o.Selection.selects(e)
		if err != nil {
			return err
		}
		if !selected {
			continue
		}
		p.sum.add(e.ID, 1)
		if !e.Compacted() {
			p.eligible = append(p.eligible, e)
		}
	}
	if err := p.progress(Reading, read, 0); err != nil {
		return err
	}
	return ctx.Err()
}

func (p *pass) progress(phase Phase, done, total int) error {
	if p.o.Progress == nil {
		return nil
	}
	_, err := inline("the progress", func() struct{} { p.o.Progress(Progress{phase, done, total}); return struct{}{} })
	return err
}

// makePlan asks the planner.
func (p *pass) makePlan(ctx context.Context) (Plan, error) {
	p.entries = make(map[string]*memory.Entry, len(p.eligible))
	for i := range p.eligible {
		p.entries[p.eligible[i].ID] = &p.eligible[i]
	}
	if err := p.progress(Planning, 0, len(p.eligible)); err != nil {
		return Plan{}, err
	}
	var plan Plan
	var err error
	if rules, ok := p.planner().(Rules); ok {
		// It needs no deadline, and can keep apart what was undone while it plans.
		if plan, err = rules.plan(ctx, p.eligible, p.apart); err == nil && p.cfg.Merger != nil {
			err = p.candidates(ctx, rules, &plan)
		}
	} else {
		given := ownAll(p.eligible) // what is checked afterwards is ours
		plan, err = call(ctx, p.Consolidator, "the planner", func(ctx context.Context) (Plan, error) {
			return p.planner().Plan(ctx, given)
		})
		if err == nil && plan.size() > 4*maxAnswer(p.eligible) {
			err = internal("the planner's plan is too large", nil)
		}
	}
	if err != nil {
		return Plan{}, err
	}
	return plan, p.progress(Planning, len(p.eligible), len(p.eligible))
}

// candidates adds to the plan what the merger is to be asked about: groups of similar
// entries among those that the plan leaves and that declare no slot.
func (p *pass) candidates(ctx context.Context, rules Rules, plan *Plan) error {
	gone := map[string]bool{}
	for _, m := range plan.Merge {
		for _, id := range m.Retire {
			gone[id] = true
		}
	}
	left := make([]memory.Entry, 0, len(p.eligible)-len(gone))
	for _, e := range p.eligible {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if gone[e.ID] {
			continue
		}
		slots, err := rules.slots(e)
		if err != nil {
			return err
		}
		if len(slots) == 0 {
			left = append(left, e)
		}
	}
	o := SimilarOptions{Score: p.cfg.Score}
	if p.cfg.Embedder != nil {
		for part := range slices.Chunk(left, embedded) {
			vectors, err := p.embed(ctx, part)
			if err != nil {
				return err
			}
			o.Vectors = append(o.Vectors, vectors...)
		}
	}
	found, err := Similar(ctx, left, o)
	if err != nil {
		return err
	}
	for _, c := range found {
		if p.apart.anyApart(c.IDs...) {
			continue
		}
		plan.Merge = append(plan.Merge, Merge{Retire: c.IDs, Reason: fmt.Sprintf("%.2f similar, for the merger to decide", c.Score)})
	}
	return nil
}

// embedded is how many texts are given to the embedder at once.
const embedded = 256

// embed asks for the vectors of some entries.
func (p *pass) embed(ctx context.Context, entries []memory.Entry) ([][]float32, error) {
	if err := p.renew(ctx); err != nil {
		return nil, err
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Content
	}
	vectors, err := call(ctx, p.Consolidator, "the embedder", func(ctx context.Context) ([][]float32, error) {
		return p.cfg.Embedder.Embed(ctx, texts)
	})
	if err == nil && len(vectors) != len(entries) {
		return nil, internal("the embedder gave another number of vectors", nil)
	}
	return vectors, err
}

// planAndApply does the work of a pass, group by group.
func (p *pass) planAndApply(ctx context.Context) error {
	var err error
	if p.apart, err = readUndone(ctx, p.job, p.ref); err != nil {
		return err
	}
	plan, err := p.makePlan(ctx)
	if err != nil {
		return err
	}
	if plan, p.result.Refused, err = p.check(ctx, plan); err != nil {
		return err
	}
	total := len(plan.Merge) + len(plan.Supersede)
	for i, m := range plan.Merge {
		if err := p.merge(ctx, m); err != nil {
			return err
		}
		if err := p.progress(Applying, i+1, total); err != nil {
			return err
		}
	}
	for i, s := range plan.Supersede {
		if err := p.retireAll(ctx, memory.Superseded, s.By, s.Retire); err != nil {
			return err
		}
		if err := p.progress(Applying, len(plan.Merge)+i+1, total); err != nil {
			return err
		}
	}
	return nil
}

// step bounds the entries that one mutation retires in favour of one that stays.
const step = 64

// retireAll retires entries in favour of one that stays, a step at a time.
func (p *pass) retireAll(ctx context.Context, to driver.State, keep string, ids []string) error {
	for part := range slices.Chunk(ids, step) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rw := memory.Rewrite{Expect: []string{keep}}
		for _, id := range part {
			rw.Retire = append(rw.Retire, memory.Retire{ID: id, State: to, For: keep})
		}
		if err := p.apply(ctx, rw, to, keep, part); err != nil {
			return err
		}
	}
	return nil
}

// apply commits one group with its line in the journal.
func (p *pass) apply(ctx context.Context, rw memory.Rewrite, to driver.State, keep string, ids []string) error {
	journal, err := p.journal(group{to, keep, ids})
	if err != nil {
		return err
	}
	made, err := p.commit(ctx, rw, func(s *state) {
		s.Derived += len(rw.Derive)
		if to == memory.Superseded {
			s.Superseded += len(ids)
		} else {
			s.Merged += len(ids)
		}
		if s.retired() <= MaxMergedIDs {
			s.IDs = slices.Concat(s.IDs, ids)
		} else {
			s.IDs = nil
		}
	}, journal)
	if errors.Is(err, errStale) {
		p.result.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.sum.add(id, -1)
	}
	p.countCommitted()
	for _, e := range made.Entries {
		selected, err := p.o.Selection.selects(e)
		if err != nil {
			return err
		}
		if selected {
			p.sum.add(e.ID, 1)
		}
	}
	return nil
}

// countCommitted sets the result to what the pass has committed, before an error too.
func (p *pass) countCommitted() {
	done := p.lease.state
	p.result.Merged, p.result.Superseded, p.result.Derived = done.Merged, done.Superseded, done.Derived
	p.result.OutputCount = p.result.InputCount - done.retired() + done.Derived
}
