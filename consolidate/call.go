package consolidate

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// call calls a part of the host that may block, and waits for it no longer than
// Config.Timeout.
func call[T any](ctx context.Context, c *Consolidator, part string, f func(context.Context) (T, error)) (T, error) {
	value, err := hostcall.Call(ctx, part, c.cfg.Timeout, f)
	return value, hostFailed(ctx, part, err)
}

// inline calls a part of the host in place.
func inline[T any](part string, f func() T) (T, error) {
	value, err := hostcall.Inline(part, func() (T, error) { return f(), nil })
	return value, hostFailed(context.Background(), part, err)
}

// hostFailed is the error of a part of the host; that of the caller's context stays as it is.
func hostFailed(ctx context.Context, part string, err error) error {
	return hostcall.Failed(ctx, part, err, internal)
}

// own is an entry that shares nothing with e, for a part of the host to do with as it likes.
func own(e memory.Entry) memory.Entry {
	e.Tags, e.Subjects, e.Sources = slices.Clone(e.Tags), slices.Clone(e.Subjects), slices.Clone(e.Sources)
	return e
}

func ownAll(entries []memory.Entry) []memory.Entry {
	out := make([]memory.Entry, len(entries))
	for i, e := range entries {
		out[i] = own(e)
	}
	return out
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
	if !p.lease.Open || time.UnixMilli(p.lease.Until).Sub(p.job.Now()) >= p.cfg.Lease/2+p.cfg.Timeout/2 {
		return nil
	}
	_, err := p.commit(ctx, memory.Rewrite{}, func(*state) {})
	return err
}
