package main

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/openwop/agentmemory/host/inspector"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
)

// newestRuns are how many runs the page lists.
const newestRuns = 100

// inspector is the page for people at /, and the read-only routes behind it.
func (h *host) inspector(tenant func(*http.Request) (string, error)) *inspector.Handler {
	return &inspector.Handler{
		Bank: h.bank, Tenant: tenant, Model: h.model, Commitments: h.commitments.Commitments, Log: h.log, Waiting: h.waiting,
		Wire: wire.Encoder{Log: h.logger},
		Agents: func(context.Context, string) (agents []inspector.Agent, err error) {
			for _, e := range inventory.Project(h.agents, h.model).Agents {
				agents = append(agents, inspector.Agent{ID: e.ID, Persona: e.Persona, Needs: *e.MemoryShape, Degraded: e.DegradedMemoryDimensions})
			}
			return agents, nil
		},
		Runs: h.newest,
		Token: func(ctx context.Context, tenant, id string) (memory.Token, error) {
			if _, err := h.find(ctx, tenant, id); err != nil {
				return "", err
			}
			points, err := h.points(ctx, tenant, id)
			return points[slices.Max(append(slices.Collect(maps.Keys(points)), 0))], err
		},
	}
}

// newest lists the newest runs of a tenant.
func (h *host) newest(ctx context.Context, tenant string) (runs []inspector.Run, err error) {
	all, err := h.runs(ctx, tenant, func(*runDoc) bool { return true })
	for _, doc := range all {
		runs = append(runs, inspector.Run{ID: doc.RunID, Workflow: doc.WorkflowID, Status: doc.Status, StartedAt: doc.StartedAt})
	}
	slices.SortFunc(runs, func(a, b inspector.Run) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID))
	})
	return runs[:min(len(runs), newestRuns)], err
}
