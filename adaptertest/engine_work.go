package adaptertest

import (
	"errors"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The work of engines.
var (
	consolidateWork = work{[]Offer{Transactor}, true, func(h *worker, s driver.Scope, x int) error {
		engine, err := consolidate.New(consolidate.Config{})
		h.w.must(err)
		h.w.did("consolidate %s", describeScope(s))
		job := h.job(h.pass, s.Tenant)
		if _, err := engine.Run(h.w.ctx, job, s.Ref, consolidate.Options{}); err != nil {
			return err
		}
		return job.End(h.w.ctx)
	}}
	compactWork = work{[]Offer{Transactor}, true, func(h *worker, s driver.Scope, x int) error {
		return h.distill(s, distill.ExpireSources, false)
	}}
	distillWork = work{[]Offer{Transactor}, true, func(h *worker, s driver.Scope, x int) error {
		return h.distill(s, distill.KeepSources, true)
	}}
	armWork = work{[]Offer{Transactor, Scheduler}, false, func(h *worker, s driver.Scope, x int) error {
		return h.ofOne(s, x, "arm", func(e driver.Entry) error {
			a := []commitment.Arm{{At: h.w.now.Add(time.Duration(9+x%9*10) * time.Minute)}, {Every: time.Hour}, {Predicate: "signed"}}[x%3]
			_, err := h.engine().Arm(h.w.ctx, h.job("pass", s.Tenant), commitment.Source{Ref: s.Ref, MemoryID: e.ID}, a)
			return err
		})
	}}
	observeWork = work{[]Offer{Transactor, Scheduler}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("observe a change")
		_, err := h.engine().Observe(h.w.ctx, commitment.Observation{Tenant: s.Tenant, Predicate: "signed", Position: h.w.now.UnixMilli(), State: []byte{byte(x % 3)}, Holds: x%2 == 0})
		return err
	}}
	tickWork = work{[]Offer{Transactor, Scheduler}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("tick")
		engine := h.engine()
		for range 4 {
			if _, err := engine.Tick(h.w.ctx); err != nil {
				return err
			}
			h.w.now = h.w.now.Add(30 * time.Second)
		}
		return nil
	}}
)

// What befalls what is armed.
var (
	outageWork = work{[]Offer{Transactor, Scheduler}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("tick while the queue of runs is down, until what is due is given up")
		h.queue.down = true
		defer func() { h.queue.down = false }()
		engine := h.engine()
		for range 5 {
			if _, err := engine.Tick(h.w.ctx); err != nil {
				return err
			}
			h.w.now = h.w.now.Add(30 * time.Second)
		}
		return nil
	}}
	retryWork = work{[]Offer{Transactor, Scheduler}, true, func(h *worker, s driver.Scope, x int) error {
		h.w.did("retry what was given up for %s", short(s.Tenant))
		for c, err := range h.engine().Commitments(h.w.ctx, s.Tenant) {
			if err == nil && c.GivenUp.Tries > 0 {
				_, err = h.engine().Retry(h.w.ctx, s.Tenant, c.ID)
			}
			if err != nil && !errors.Is(err, driver.ErrConflict) { // a later firing is under way
				return err
			}
		}
		return nil
	}}
	editWork = work{[]Offer{Transactor, Scheduler}, false, func(h *worker, s driver.Scope, x int) error {
		return h.ofOne(s, x, "supersede by one with the same tags, and read them,", func(e driver.Entry) error {
			job := h.job("pass", s.Tenant)
			tags := e.Tags
			if x%2 == 0 {
				tags = []string{"every:1h"}
			}
			d := memory.Draft{Content: e.Content + " (mended)", Tags: tags, Subjects: e.Subjects}
			newer, err := job.Put(h.w.ctx, s.Ref, d)
			if err != nil {
				return err
			}
			_, err = job.Rewrite(h.w.ctx, s.Ref, memory.Rewrite{
				Retire: []memory.Retire{{ID: e.ID, State: memory.Superseded, For: newer.ID}},
			})
			if err != nil {
				return err
			}
			_, err = h.engine().Infer(h.w.ctx, job, s.Ref)
			return err
		})
	}}
)

func (h *worker) distill(s driver.Scope, policy distill.Policy, archive bool) error {
	r, err := distill.New(distill.Config{})
	h.w.must(err)
	h.w.did("distill %s, with an archive: %t", describeScope(s), archive)
	job, opts := h.job(h.pass, s.Tenant), distill.Options{Sources: policy}
	if archive {
		_, err = r.Distill(h.w.ctx, job, s.Ref, opts)
	} else {
		_, err = r.Compact(h.w.ctx, job, s.Ref, opts)
	}
	if err != nil {
		return err
	}
	return job.End(h.w.ctx)
}
