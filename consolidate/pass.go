package consolidate

import (
	"context"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// pass is one pass under way.
type pass struct {
	*Consolidator
	job *memory.Job
	ref string
	o   Options

	lease    state
	entries  map[string]*memory.Entry // those that may be changed
	eligible []memory.Entry           // the same, newest first
	undone   undone
	left     digest // what the pass leaves
	result   Result
}

// digest is what a pass leaves: the value of a document, one for each Options.Tag (C2). The entries
// of the corpus are those that the ref held in the state, without what the pass put and retired.
type digest struct {
	corpus
	State   string `json:"state"` // that the pass read; empty if the store does not tell what changes
	Put     int    `json:"put"`
	Retired int    `json:"retired"`
	Expires int64  `json:"expires"` // the first instant at which one of them expires; 0 for never
}

// corpus is the entries that a pass leaves, and what decided about them.
type corpus struct {
	By    string `json:"by"` // names the versions of all that decided
	Count int    `json:"count"`
	Sum   uint64 `json:"sum"` // of the hashes of the ids, in any order
}

func (c *corpus) add(id string, sign int) {
	c.Count += sign
	c.Sum += uint64(sign) * xxhash.Sum64String(id)
}

// versions names all that decides.
func (p *pass) versions() (string, error) {
	planner, err := inline("the planner", p.cfg.Planner.Version)
	merger := ""
	if p.cfg.Merger != nil && err == nil {
		merger, err = inline("the merger", p.cfg.Merger.Version)
	}
	return hash("1", planner, merger, fmt.Sprint(p.cfg.Score), p.o.RedactorVersion), err
}

// run makes the pass. An unchanged corpus costs one transaction.
func (p *pass) run(ctx context.Context) error {
	over, err := p.readLease(ctx)
	if err != nil {
		return err
	}
	doc, err := p.job.Document(ctx, p.ref, digestKind, hash(p.o.Tag))
	if err != nil {
		return err
	}
	var last digest
	if err := decode(doc, &last); err != nil {
		return err
	}
	view, state, err := p.job.View(ctx, p.ref)
	if err != nil {
		return err
	}
	by, err := p.versions()
	if err != nil {
		return err
	}
	if p.left = last; last.By != by || !p.isUntouched(ctx, view, last) {
		p.left = digest{corpus: corpus{By: by}}
		if err := p.readCorpus(ctx, view); err != nil {
			return err
		}
	}
	p.left.State, p.left.Put, p.left.Retired = state, 0, 0
	p.result.Unchanged = p.left.corpus == last.corpus
	p.result.InputCount = p.left.Count + p.lease.retired() - p.lease.Derived // of a pass that goes on
	if over && p.result.Unchanged {
		return ctx.Err() // its event is known
	}
	if !p.result.Unchanged {
		err = p.planAndApply(ctx)
	}
	p.result.Merged, p.result.Superseded, p.result.Derived = p.lease.Merged, p.lease.Superseded, p.lease.Derived
	p.result.OutputCount = p.result.InputCount - p.lease.retired() + p.lease.Derived
	if err == nil {
		err = p.end(ctx, doc)
	}
	if err != nil && p.lease.Open {
		p.release(ctx)
	}
	return err
}

// isUntouched reports whether the store tells that the last pass has put and retired all that was
// touched since it read, and that nothing has expired.
func (p *pass) isUntouched(ctx context.Context, view *memory.View, last digest) bool {
	if last.State == "" || last.Expires != 0 && last.Expires <= p.job.Now().UnixMilli() {
		return false
	}
	_, touched, _, err := view.Differs(ctx, last.State) // fails if versions between were purged
	return err == nil && len(touched.Put) == last.Put && len(touched.Retired) == last.Retired && len(touched.Restored)+len(touched.Erased) == 0
}

// readCorpus reads the entries of the ref that Options.Tag selects.
func (p *pass) readCorpus(ctx context.Context, view *memory.View) error {
	read := 0
	for e, err := range view.Entries(ctx) {
		if err == nil && read&0xfff == 0 {
			err = p.progress(ctx, Reading, read, 0)
		}
		if err != nil {
			return err
		}
		read++
		if p.o.Tag != "" && !slices.Contains(e.Tags, p.o.Tag) {
			continue
		}
		p.left.add(e.ID, 1)
		if at := e.ExpiresAt; !at.IsZero() && (p.left.Expires == 0 || at.UnixMilli() < p.left.Expires) {
			p.left.Expires = at.UnixMilli()
		}
		if !e.Compacted() {
			p.eligible = append(p.eligible, e)
		}
	}
	return ctx.Err()
}

// progress reports how far the pass is. It fails with the context's error.
func (p *pass) progress(ctx context.Context, phase Phase, done, total int) error {
	if p.o.Progress == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := inline("the progress", func() struct{} { p.o.Progress(Progress{phase, done, total}); return struct{}{} })
	return err
}

// plan makes a plan that breaks no rule.
func (p *pass) plan(ctx context.Context) (plan Plan, err error) {
	if p.undone, err = readUndone(ctx, p.job, p.ref); err != nil {
		return nil, err
	}
	p.entries = make(map[string]*memory.Entry, len(p.eligible))
	for i := range p.eligible {
		p.entries[p.eligible[i].ID] = &p.eligible[i]
	}
	if err := p.progress(ctx, Planning, 0, len(p.eligible)); err != nil {
		return nil, err
	}
	if rules, ok := p.cfg.Planner.(Rules); ok { // it needs no deadline
		if plan, err = rules.Plan(ctx, p.eligible); err == nil && p.cfg.Merger != nil {
			plan, err = p.addCandidates(ctx, plan)
		}
	} else {
		given := copies(p.eligible) // what is checked afterwards is ours
		plan, err = call(ctx, p, "the planner", func(ctx context.Context) (Plan, error) { return p.cfg.Planner.Plan(ctx, given) })
		plan = slices.Clone(plan)
	}
	if err != nil {
		return nil, err
	}
	return p.check(ctx, plan)
}

// addCandidates adds to the plan what the merger is to be asked about: groups of similar
// entries among those that the plan leaves and that declare no slot.
func (p *pass) addCandidates(ctx context.Context, plan Plan) (Plan, error) {
	gone := map[string]bool{}
	for _, g := range plan {
		for _, id := range g.Retire {
			gone[id] = true
		}
	}
	var left []memory.Entry
	for i := range p.eligible {
		if e := &p.eligible[i]; !gone[e.ID] && len(slotsOf(e)) == 0 {
			left = append(left, *e)
		}
	}
	found, err := Similar(ctx, left, p.cfg.Score)
	for _, c := range found {
		plan = append(plan, Group{Retire: c.IDs, Reason: fmt.Sprintf("%.2f similar, for the merger to decide", c.Score)})
	}
	return plan, err
}

// planAndApply takes the lease and does the work of a pass, group by group.
func (p *pass) planAndApply(ctx context.Context) error {
	if err := p.hold(ctx); err != nil {
		return err
	}
	plan, err := p.plan(ctx)
	if err != nil {
		return err
	}
	for i := range plan {
		err := p.apply(ctx, &plan[i])
		if err == nil {
			err = p.progress(ctx, Applying, i+1, len(plan))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end remembers what the pass leaves, and announces it (C6). The id of the event is that of
// this pass and no other: the revision of the digest that it found tells passes of one job id
// apart.
func (p *pass) end(ctx context.Context, found driver.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ev := events.MemoryConsolidated{
		MemoryRef:   p.ref,
		InputCount:  int64(p.result.InputCount),
		OutputCount: int64(p.result.OutputCount),
		Trigger:     p.o.Trigger,
	}
	if len(p.lease.IDs) <= MaxMergedIDs {
		ev.MergedIDs = p.lease.IDs
	}
	id := "consolidated_" + hash(p.job.ID(), p.ref, p.o.Tag, fmt.Sprint(found.Rev))
	found.Value = encode(p.left)
	_, err := p.commit(ctx, memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{ID: id, Payload: ev}}
	}}, state{Pass: p.job.ID()}, driver.DocumentSwap{Document: found})
	return err
}
