package consolidate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory"
)

var errNoAnswer = errors.New("it ended without an answer")

// call calls the host's code, and waits for it no longer than its time. Code that panics,
// or does not come back, gives an error; in the latter case its goroutine is left alone.
func call[T any](ctx context.Context, timeout time.Duration, failed string, f func(context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer}
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: fmt.Errorf("panic: %v", r)}
			}
			done <- a
		}()
		a.value, a.err = f(within)
	}()
	var a answer
	select {
	case a = <-done:
	case <-within.Done():
	}
	if err := ctx.Err(); err != nil {
		return *new(T), err
	}
	if a.err == nil {
		a.err = within.Err()
	}
	if a.err != nil {
		return *new(T), &failure{memory.ErrInternal, failed, a.err}
	}
	return a.value, nil
}

// recovered turns a panic of one of the host's functions, such as Config.Slot, into an
// error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = &failure{memory.ErrInternal, "a function of the host panicked", fmt.Errorf("panic: %v", r)}
	}
}

// maxAnswer bounds what a model may answer about entries, in bytes. No merged text needs
// as much.
func maxAnswer(entries []memory.Entry) int {
	n := 1 << 20
	for i := range entries {
		n += len(entries[i].ID) + len(entries[i].Content)
	}
	return n
}

// size is how many bytes the texts of a plan have, and each entry that it names one.
func (p Plan) size() (n int) {
	for _, m := range p.Merge {
		n += len(m.Text) + len(m.Reason) + len(m.Retire)
	}
	for _, s := range p.Supersede {
		n += len(s.Reason) + len(s.Retire)
	}
	return n
}

// renew prolongs the lease, if the pass holds one, so that a call of the host's code has
// all its time.
func (p *pass) renew(ctx context.Context) error {
	if !p.held.Open || time.UnixMilli(p.held.Until).Sub(p.job.Now()) >= p.cfg.Lease/2+p.cfg.Timeout/2 {
		return nil
	}
	_, err := p.commit(ctx, memory.Rewrite{}, func(*state) {})
	return err
}
