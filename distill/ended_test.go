package distill_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// steps is a context that ends at the nth look at it.
type steps struct {
	context.Context
	end   context.CancelFunc
	looks atomic.Int64
	n     int64
	work  *atomic.Int64
	last  int64 // the work at the last look
	gap   int64 // the most work between two looks
}

func newSteps(n int64, work *atomic.Int64) *steps {
	ctx, end := context.WithCancel(context.Background())
	return &steps{Context: ctx, end: end, n: n, work: work, last: work.Load()}
}

func (s *steps) Err() error {
	now := s.work.Load()
	s.gap, s.last = max(s.gap, now-s.last), now
	if s.looks.Add(1) == s.n {
		s.end()
	}
	return s.Context.Err()
}

// busy is a redactor that counts the bytes that it is given.
type busy struct{ bytes *atomic.Int64 }

func (b busy) Inline() bool { return true }

func (b busy) Redact(text string) (string, error) {
	b.bytes.Add(int64(len(text)))
	return text, nil
}

func (b busy) RedactDerived(text string) (string, error) { return b.Redact(text) }

// TestD1_TheContextEndsAPassPromptly looks at how often a pass looks at its context: for each
// source and each of its facts in every phase, so that none goes on after the context has ended.
func TestD1_TheContextEndsAPassPromptly(t *testing.T) {
	const sources, facts, size = 30, 100, 100
	h := newHost(t)
	for i := range sources {
		var text strings.Builder
		for j := range facts {
			fmt.Fprintf(&text, "Fact %d of %d is %s.\n", j, i, strings.Repeat("x", size))
		}
		h.put(text.String())
	}
	r := h.runner()
	work := new(atomic.Int64)
	pass := func(n int64, o distill.Options) (*steps, error) {
		ctx := newSteps(n, work)
		defer ctx.end()
		job, err := h.bank.Background(memory.JobConfig{ID: fmt.Sprint("pass ", n), Tenant: tenant, Redactor: busy{work}})
		require.NoError(t, err)
		_, err = r.Distill(ctx, job, ref, o)
		return ctx, err
	}
	const budget = 128_000
	whole, err := pass(math.MaxInt64, distill.Options{TokenBudget: budget})
	require.NoError(t, err)
	looks := whole.looks.Load()
	require.Greater(t, looks, int64(3*sources+3*facts*sources/2), "looks at the context")
	const most = 4 * memory.DefaultMaxEntryBytes // the summary, which is redacted as a whole, and in its archive
	require.Less(t, whole.gap, int64(most), "bytes between two looks")
	ends := int64(20)
	if testing.Short() {
		ends = 4
	}
	for k := range ends {
		n := 1 + looks*k/ends
		ended, err := pass(n, distill.Options{TokenBudget: budget - 1})
		require.ErrorIs(t, err, context.Canceled, "at look %d of %d, %d looks", n, looks, ended.looks.Load())
		require.Less(t, work.Load()-ended.last, int64(most), "bytes after look %d", n)
		require.Less(t, ended.looks.Load(), n+100, "looks after look %d", n)
	}
}
