package crashload

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/commitment"
	cons "github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
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
		_, err := w.redo(n, p.passOf(w, ctx, n.What))
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
	out, err := w.do(n, p.passOf(w, ctx, n.What))
	if err == nil && n.Subject != "" && w.rng.IntN(3) == 0 {
		return w.forget(ctx, n.Subject)
	}
	if err != nil && out.N != 0 {
		n.N, n.Tenant = out.N, w.tenant
		p.left = append(p.left, n)
	}
	return err
}

func (p *passWorker) passOf(w *worker, ctx context.Context, kind what) func(note) (note, error) {
	return func(n note) (note, error) {
		job, err := w.job(n)
		if err != nil {
			return note{}, err
		}
		if kind == consolidate {
			_, err := w.consolidator.Run(ctx, job, n.Ref, cons.Options{})
			return note{}, err
		}
		_, err = w.distiller.Distill(ctx, job, n.Ref, distill.Options{Sources: distill.ExpireSources})
		return note{}, err
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
	_, err := w.do(note{What: arm, Ref: w.ref("standing")}, func(n note) (note, error) {
		job, err := w.job(n)
		if err != nil {
			return note{}, err
		}
		_, err = w.commitments.Arm(ctx, job, commitment.Source{Ref: n.Ref}, condition)
		return note{}, err
	})
	if err != nil || w.rng.IntN(4) != 0 {
		return err
	}
	_, err = w.do(note{What: observe}, func(n note) (note, error) {
		a.observed++
		state := fmt.Append(nil, n.N)
		_, err := w.commitments.Observe(ctx, w.tenant, predicate, n.N, state, a.observed%2 == 0)
		return note{}, err
	})
	return err
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
	_, err := w.bank.Relay(ctx)
	return err
}
