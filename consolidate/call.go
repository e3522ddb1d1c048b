package consolidate

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// call calls a part of the host that may block, and waits for it no longer than
// Config.Timeout. If the pass holds a lease that may end soon after, it renews it first.
func call[T any](ctx context.Context, p *pass, part string, f func(context.Context) (T, error)) (T, error) {
	if p.lease.Open && time.UnixMilli(p.lease.Until).Sub(p.job.Now()) < p.cfg.Timeout*3/2 {
		if err := p.hold(ctx); err != nil {
			return *new(T), err
		}
	}
	value, err := hostcall.Call(ctx, part, p.cfg.Timeout, f)
	return value, hostcall.Failed(ctx, part, err, internal)
}

// inline calls a part of the host in place.
func inline[T any](part string, f func() T) (T, error) {
	value, err := hostcall.Inline(part, func() (T, error) { return f(), nil })
	return value, hostcall.Failed(context.Background(), part, err, internal)
}

// copies returns entries that share nothing with those given, for a part of the host to do
// with as it likes.
func copies(entries []memory.Entry) []memory.Entry {
	out := slices.Clone(entries)
	for i := range out {
		e := &out[i]
		e.Tags, e.Subjects, e.Sources = slices.Clone(e.Tags), slices.Clone(e.Subjects), slices.Clone(e.Sources)
	}
	return out
}
