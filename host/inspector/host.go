package inspector

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
)

// verdict is a dimension or a behaviour of the host.
type verdict struct {
	Name   string `json:"name"`
	Holds  bool   `json:"holds"`
	Why    string `json:"why"`
	Source string `json:"source,omitempty"`
}

func (h *Handler) host(q *request) (any, error) {
	model := cmp.Or(h.Model, &capability.Model{})
	var dimensions, behaviours []verdict
	for _, s := range model.Statuses() {
		dimensions = append(dimensions, verdict{s.Name, s.Satisfied, s.Why, s.Source})
	}
	for _, s := range []capability.Status{model.Consolidation(), model.Commitments()} {
		behaviours = append(behaviours, verdict{s.Name, s.Satisfied, s.Why, s.Source})
	}
	shows := []string{}
	for part, there := range map[string]bool{
		"agents": h.Agents != nil, "commitments": h.Commitments != nil, "runs": h.Runs != nil,
		"view": h.Token != nil, "events": h.Log != nil, "waiting": h.Waiting != nil,
	} {
		if there {
			shows = append(shows, part)
		}
	}
	slices.Sort(shows)
	holds, why := model.Profile()
	return map[string]any{
		"tenant": q.tenant, "now": h.Bank.Now(), "shows": shows, "dimensions": dimensions, "behaviours": behaviours,
		"profile": verdict{Name: "openwop-memory", Holds: holds, Why: why},
	}, nil
}

func (h *Handler) agents(q *request) (any, error) {
	if h.Agents == nil {
		return nil, h.missing("agents")
	}
	agents, err := callHost(q, "the source of agents", func(ctx context.Context) ([]Agent, error) { return h.Agents(ctx, q.tenant) })
	return map[string]any{"agents": append([]Agent{}, agents...)}, err
}

// commitmentDoc is a commitment as the page shows it. It names its entry and does not quote it.
type commitmentDoc struct {
	ID         string `json:"id"`
	Unreadable bool   `json:"unreadable,omitempty"`
	Ref        string `json:"ref,omitempty"`
	MemoryID   string `json:"memoryId,omitempty"`
	Condition  string `json:"condition,omitempty"`
	Arm        string `json:"arm,omitempty"`
	State      string `json:"state,omitempty"`
	Final      bool   `json:"final"`
	Reason     string `json:"reason,omitempty"`
	ArmedAt    int64  `json:"armedAt,omitempty"` // this and what follows in milliseconds since 1970
	Due        int64  `json:"due,omitempty"`
	FiredUpTo  int64  `json:"firedUpTo,omitempty"`
	EndedAt    int64  `json:"endedAt,omitempty"`
	Fired      int    `json:"fired"`
	RunID      string `json:"runId,omitempty"`
	// GivenUp is how often the firing that was given up last was tried, and GivenUpFor its instant.
	GivenUp    int   `json:"givenUp,omitempty"`
	GivenUpFor int64 `json:"givenUpFor,omitempty"`
}

// mostCommitments bounds what one answer shows.
const mostCommitments = 1000

func (h *Handler) commitments(q *request) (any, error) {
	if h.Commitments == nil {
		return nil, h.missing("commitments")
	}
	type page struct {
		docs []commitmentDoc
		more bool
	}
	found, err := callHost(q, theCommitments, func(ctx context.Context) (p page, err error) {
		p.docs, p.more, err = listed(h.Commitments(ctx, q.tenant))
		return p, err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"commitments": found.docs, "more": found.more, "now": h.Bank.Now().UnixMilli()}, nil
}

const theCommitments = "the source of commitments"

// listed are the first commitments of a tenant, and whether there are more.
func listed(all iter.Seq2[commitment.Commitment, error]) (docs []commitmentDoc, more bool, err error) {
	docs = []commitmentDoc{}
	for c, err := range all {
		if err != nil && c.ID == "" {
			return nil, false, err
		}
		if len(docs) == mostCommitments {
			return docs, true, nil
		}
		if err != nil {
			docs = append(docs, commitmentDoc{ID: c.ID, Unreadable: true})
			continue
		}
		d := commitmentDoc{
			ID: c.ID, Ref: c.Ref, MemoryID: c.MemoryID, Condition: string(c.Arm.Condition()), Arm: waitsFor(c.Arm),
			State: string(c.State), Final: c.State.Final(), Reason: string(c.Reason), ArmedAt: c.ArmedAt.UnixMilli(), Fired: c.Fired, RunID: c.RunID,
			GivenUp: c.GivenUp.Tries,
		}
		if !c.Due.IsZero() {
			d.Due = c.Due.UnixMilli()
		}
		if c.Fired > 0 && !c.Mark.IsZero() {
			d.FiredUpTo = c.Mark.UnixMilli()
		}
		if !c.GivenUp.Instant.IsZero() {
			d.GivenUpFor = c.GivenUp.Instant.UnixMilli()
		}
		if !c.EndedAt.IsZero() {
			d.EndedAt = c.EndedAt.UnixMilli()
		}
		docs = append(docs, d)
	}
	return docs, false, nil
}

// waitsFor says in a few words what an arm waits for.
func waitsFor(a commitment.Arm) string {
	switch {
	case a.Predicate != "":
		return "when " + a.Predicate
	case a.Every > 0:
		return "every " + a.Every.String()
	case a.Spec != "":
		return a.Spec
	}
	return "at one instant"
}
