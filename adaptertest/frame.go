package adaptertest

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// law is a group of cases under one law.
type law struct {
	name   string
	number string // of the project's laws
	says   string
	cases  []testCase
}

// testCase is one proof. Its run function uses the world, and stops at the first thing
// that is wrong.
type testCase struct {
	name   string
	proves string
	needs  []Offer
	run    func(w *world)
}

// countsResources tells cases beside which no other may run.
func (c *testCase) countsResources() bool { return strings.HasPrefix(c.name, "resources-") }

// A case ends that makes no call for a stepTimeout, since its store does not answer, or that makes
// more than caseCalls, since its store has no end. How long all of them take together is no law.
const (
	stepTimeout = 50 * time.Second
	caseCalls   = 20_000_000
)

// graceTime is how long a store has to answer a call whose context is done.
const graceTime = 10 * time.Second

// noAnswer is what begins the text of what comes of a store that may still be at work.
const noAnswer = "none before the context was done: the store hangs"

// runCase runs one case on a store of its own.
func (cfg Config) runCase(ctx context.Context, found *Report, l *law, c *testCase) Case {
	result := Case{Name: c.name, Proves: c.proves, Status: Proven, level: levelOf(c.needs)}
	if missing := found.missing(c.needs); len(missing) > 0 {
		result.Status = NotOffered
		result.missing = missing[0]
		result.Reason = fmt.Sprintf("needs %s: %s", missing[0], found.reason(missing[0]))
		return result
	}
	levels := found.levelsFrom(result.level)
	w, failed := cfg.play(ctx, found, l, c, levels[len(levels)-1])
	for _, lower := range levels[:len(levels)-1] { // which step is to blame?
		if failed == nil {
			break
		}
		if below, worse := cfg.play(ctx, found, l, c, lower); worse != nil {
			w, failed, levels = below, worse, []Level{lower}
			break
		}
	}
	if failed != nil {
		result.Status, result.level = Broken, levels[len(levels)-1]
		result.operation = w.lastStep() + failed.kind()
		result.indirect = !strings.HasPrefix(failed.came, noAnswer) && w.ref == nil
		result.Failure = w.text(fmt.Sprintf("%s/%s (%s): %s", l.name, c.name, l.number, c.proves), failed)
	}
	return result
}

// play runs one case up to a level, on a store of its own.
func (cfg Config) play(ctx context.Context, found *Report, l *law, c *testCase, level Level) (*world, *failure) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alarm := time.AfterFunc(stepTimeout, cancel)
	defer alarm.Stop()
	h := fnv.New64a()
	io.WriteString(h, l.name+"/"+c.name)
	w := &world{script: &script{ctx: ctx, stop: cancel, alarm: alarm, found: found, now: epoch, seed: cfg.Seed, part: h.Sum64()}, config: cfg, level: level}
	w.rng = rand.New(rand.NewPCG(w.seed, w.part))

	ended := make(chan *failure, 1)
	go func() {
		var failed *failure
		defer func() { ended <- failed }()
		w.play(func() {
			w.fresh()
			c.run(w)
			w.audit()
		}, &failed)
	}()
	select {
	case failed := <-ended:
		return w, failed
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer cancel()
	select {
	case failed := <-ended:
		return w, failed
	case <-grace.Done():
		return w, &failure{expected: "an answer", came: noAnswer + " in " + w.watch.hanging()}
	}
}

// restart begins the case anew on a fresh store.
func (w *world) restart() {
	w.begin()
	w.fresh()
}
