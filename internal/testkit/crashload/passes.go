package crashload

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/commitment"
	cons "github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// passWorker consolidates and distills, each time a ref that it has filled. First it
// takes up again what an earlier load has left.
type passWorker struct {
	left     []note
	distills bool
}

func (p *passWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, 5*breath)
	if len(p.left) > 0 {
		n := p.left[0]
		p.left = p.left[1:]
		err := w.journal.conclude(n, w.byJob(p.passOf(w, ctx)))
		if err != nil && ctx.Err() == nil {
			p.left = append(p.left, n) // the dead one has the lease still, perhaps
		}
		return err
	}
	n := note{What: consolidate, Ref: w.ref("facts")}
	if p.distills {
		n = note{What: distil, Ref: w.ref("log"), Subject: w.ref("case")}
	}
	p.distills = !p.distills
	for i := range 5 {
		// Some say the same, so that there is something to merge.
		text := fmt.Sprintf("Customer %d prefers to be called on day %d%s", i%3, w.refs, about(n.Subject))
		if _, err := w.putOne(ctx, n.Ref, n.Subject, text); err != nil {
			return err
		}
	}
	err := w.do(n, func(job *memory.Job, numbered note) error {
		n = numbered
		return p.passOf(w, ctx)(job, n)
	})
	switch {
	case err != nil:
		p.left = append(p.left, n)
	case n.Subject != "" && w.rng.IntN(3) == 0:
		err = w.forget(ctx, n.Subject)
	}
	return err
}

func (p *passWorker) passOf(w *worker, ctx context.Context) func(*memory.Job, note) error {
	return func(job *memory.Job, n note) (err error) {
		if n.What == consolidate {
			_, err = w.consolidator.Run(ctx, job, n.Ref, cons.Options{})
		} else {
			_, err = w.distiller.Distill(ctx, job, n.Ref, distill.Options{Sources: distill.ExpireSources})
		}
		return err
	}
}

// armWorker arms commitments for instants soon to come, and at times one that recurs and
// one that waits for what it observes: few, since they fire for ever.
type armWorker struct{ observed int }

const predicate = "door"

func (a *armWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, 15*breath)
	now := w.bank.Now()
	condition := commitment.Arm{At: now.Add(time.Duration(1+w.rng.IntN(3000)) * time.Millisecond)}
	switch w.rng.IntN(40) {
	case 0:
		condition = commitment.Arm{Every: time.Duration(60+w.rng.IntN(60)) * time.Second}
	case 1:
		condition = commitment.Arm{Predicate: predicate}
	}
	err := w.do(note{What: arm}, func(job *memory.Job, _ note) error {
		_, err := w.commitments.Arm(ctx, job, commitment.Source{Ref: w.ref("standing")}, condition)
		return err
	})
	if err != nil || w.rng.IntN(4) != 0 {
		return err
	}
	return w.do(note{What: observe}, func(_ *memory.Job, n note) error {
		a.observed++
		_, err := w.commitments.Observe(ctx, commitment.Observation{Tenant: w.tenant, Predicate: predicate, Position: n.N, State: fmt.Append(nil, n.N), Holds: a.observed%2 == 0})
		return err
	})
}

// tick fires what is due. What it swaps is written down.
func tick(w *worker, ctx context.Context) error {
	defer pause(ctx, breath)
	_, err := w.commitments.Tick(ctx)
	return err
}

// relay gives the events of all to the sink.
func relay(w *worker, ctx context.Context) error {
	defer pause(ctx, 2*breath)
	_, err := w.bank.Maintain(ctx)
	return err
}
