package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A fork point is a token of a run's view at a position of its log: point n is memory as the run saw it behind
// its first n events. Each is a document of its own, so that a run which is under way has them too, and one
// that was killed. It holds ids and no word, and no client is shown it.
const pointKind = "host/point"

// keepPoint keeps a run's fork point.
func (h *host) keepPoint(ctx context.Context, tenant, run string, n int64, token memory.Token) error {
	return h.pass(ctx, tenant, "host-point", func(job *memory.Job) error {
		d, err := job.Document(ctx, "", pointKind, fmt.Sprintf("%s.%d", run, n))
		if err != nil {
			return err
		}
		d.Class, d.Group, d.Value = driver.Machinery, run, []byte(token)
		_, err = job.Rewrite(ctx, "", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: d}}
		}})
		return err
	})
}

// points returns the fork points of a run.
func (h *host) points(ctx context.Context, tenant, run string) (map[int64]memory.Token, error) {
	points := map[int64]memory.Token{}
	err := h.pass(ctx, tenant, "host-points", func(job *memory.Job) error {
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: pointKind, Group: run}) {
			if err != nil {
				return err
			}
			n, err := strconv.ParseInt(d.Key[strings.LastIndex(d.Key, ".")+1:], 10, 64)
			if err != nil {
				return err
			}
			points[n] = memory.Token(d.Value)
		}
		return nil
	})
	return points, err
}
