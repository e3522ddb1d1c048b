package crashload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Load works on a store until ctx is done, by some ten goroutines, and writes down
// what it does. What the store refuses or fails at is written down too and does not stop
// it, so that it goes on when a server has come back. It returns an error if there is
// something wrong with the load itself.
func (l *Log) Load(ctx context.Context, store driver.Adapter) error {
	h, err := l.host(store)
	if err != nil {
		return err
	}
	begun, err := l.intend(l.journal, note{What: open})
	if err != nil {
		return err
	}
	ops, err := l.journal.operations()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var once sync.Once
	var broken error
	count := 0
	work := func(tenant string, step func(*worker, context.Context) error) {
		w := &worker{
			host: h, tenant: tenant, name: fmt.Sprintf("%d-%d", begun.N, count),
			rng: rand.New(rand.NewPCG(l.seed, uint64(begun.N)<<8+uint64(count))),
		}
		count++
		wg.Go(func() {
			if err := w.loop(ctx, step); err != nil {
				once.Do(func() { broken = err })
				stop()
			}
		})
	}
	for i, tenant := range tenants {
		passes := &passWorker{distills: i == 0}
		for _, op := range ops {
			if (op.What == consolidate || op.What == distil) && op.outcome != done && op.Tenant == tenant {
				passes.left = append(passes.left, op.note)
			}
		}
		work(tenant, (&putWorker{}).step)
		work(tenant, (&batchWorker{}).step)
		work(tenant, passes.step)
		work(tenant, (&armWorker{}).step)
		work(tenant, tick)
	}
	work("", relay)
	wg.Wait()
	return broken
}

// worker is one goroutine of a load.
type worker struct {
	*host
	tenant string
	name   string // not that of any other, in this load or another
	rng    *rand.Rand
	refs   int
}

// loop repeats a step, and waits a little where it fails.
func (w *worker) loop(ctx context.Context, step func(*worker, context.Context) error) error {
	for ctx.Err() == nil {
		err := step(w, ctx)
		if broken := (brokenLoad{}); errors.As(err, &broken) {
			return broken
		}
		if err != nil {
			pause(ctx, 5*time.Millisecond)
		}
	}
	return nil
}

// breath is the unit of what workers wait between two steps, so that each has its share
// of a fast store.
const breath = time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// do is an operation with its lines in the journal, by a job that has its number.
func (w *worker) do(n note, act func(*memory.Job, note) error) error {
	n.Tenant = w.tenant
	return w.perform(w.journal, n, w.byJob(act))
}

func (w *worker) byJob(act func(*memory.Job, note) error) func(note) (note, error) {
	return func(n note) (note, error) {
		job, err := w.job(n)
		if err != nil {
			return note{}, err
		}
		return note{}, act(job, n)
	}
}

// text is what the i-th entry of an operation says. The first is about the subject.
func (w *worker) text(n note, i int) string {
	if i > 0 {
		n.Subject = ""
	}
	return fmt.Sprintf("Note %d.%d: %x", n.N, i, w.rng.Uint64()) + about(n.Subject)
}

const aboutWord = " about "

// about names a subject in a text, so that it can be told whether it was forgotten.
func about(subject string) string {
	if subject == "" {
		return "."
	}
	return aboutWord + subject + "."
}

// subjectOf is what a text is about; empty for nothing.
func subjectOf(text string) string {
	_, rest, _ := strings.Cut(text, aboutWord)
	subject, _, _ := strings.Cut(rest, ".")
	return subject
}

// ref is a new name.
func (w *worker) ref(kind string) string {
	w.refs++
	return fmt.Sprintf("%s-%s-%d", kind, w.name, w.refs)
}
