package distill

import (
	"context"
	"sync"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// checkedTokenizer is the host's tokenizer for one attempt of a pass. After a call that failed it calls
// no more: the attempt checks err before it relies on a count.
type checkedTokenizer struct {
	Tokenizer
	ctx context.Context // of the attempt; a summarizer that outlives it counts no more

	mu     sync.Mutex
	failed error
}

const theTokenizer = "the tokenizer"

// checkTokenizer returns the runner with a [checkedTokenizer] for an attempt, and a function that
// returns why the tokenizer failed.
func (r *Runner) checkTokenizer(ctx context.Context) (*Runner, func() error) {
	if _, own := r.cfg.Tokenizer.(Estimator); own {
		return r, func() error { return nil }
	}
	c := &checkedTokenizer{Tokenizer: r.cfg.Tokenizer, ctx: ctx}
	within := *r
	within.cfg.Tokenizer = c
	return &within, c.err
}

func (c *checkedTokenizer) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

func (c *checkedTokenizer) recordError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = hostFailed(c.ctx, theTokenizer, err)
	}
}

// Count counts nothing once a call has failed.
func (c *checkedTokenizer) Count(text string) int {
	if c.err() != nil {
		return 0
	}
	n, err := hostcall.Call(c.ctx, theTokenizer, memory.PluginTimeout, func(context.Context) (int, error) { return c.Tokenizer.Count(text), nil })
	c.recordError(err)
	return n
}

// Name is called in place.
func (c *checkedTokenizer) Name() string {
	name, err := hostcall.Inline(theTokenizer, func() (string, error) { return c.Tokenizer.Name(), nil })
	c.recordError(err)
	return name
}
