package inspector

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

var errNoRun = &wire.Error{Kind: memory.CodeNotFound, Message: "there is no such run"}

func (h *Handler) runs(q *request) (any, error) {
	if h.Runs == nil {
		return nil, h.missing("runs")
	}
	runs, err := callHost(q, "the source of runs", func(ctx context.Context) ([]Run, error) { return h.Runs(ctx, q.tenant) })
	return map[string]any{"runs": append([]Run{}, runs...)}, err
}

// token is the one that a request gives, or that of the run that it names.
func (h *Handler) token(q *request) (memory.Token, error) {
	if token := q.param("token"); token != "" {
		return memory.Token(token), nil
	}
	run := q.param("run")
	switch {
	case run == "":
		return "", wire.Invalid("run", "it is required")
	case h.Token == nil:
		return "", h.missing("runs' views")
	}
	token, err := callHost(q, "the source of tokens", func(ctx context.Context) (memory.Token, error) { return h.Token(ctx, q.tenant, run) })
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return "", errNoRun
	case err == nil && token == "":
		return "", &wire.Error{Kind: memory.CodeSnapshotUnavailable, Message: "the host has no token of this run"}
	}
	return token, err
}

// view lists a ref as a run saw it and as it is now, in one list, newest first. An entry says which of
// the two it is in, and one that only the run saw says what became of it.
func (h *Handler) view(q *request) (any, error) {
	ref, o := q.param("ref"), q.page
	token, err := h.token(q)
	if err != nil {
		return nil, err
	}
	then, err := h.Bank.AsOf(q, q.tenant, token)
	if err != nil {
		return nil, err
	}
	saw, err := then.List(q, ref, o)
	if err != nil {
		return nil, err
	}
	live, err := h.Bank.Reader(q.tenant).List(q, ref, o)
	if err != nil {
		return nil, err
	}
	all, out := append(slices.Clone(saw), live...), map[string]any{}
	slices.SortFunc(all, newestFirst)
	all = slices.CompactFunc(all, func(a, b memory.Entry) bool { return a.ID == b.ID })
	if len(all) >= o.Limit {
		all = all[:o.Limit]
		out["next"] = all[o.Limit-1].Cursor()
	}
	docs := []entryDoc{}
	var gone []string
	for _, e := range all {
		is := func(other memory.Entry) bool { return other.ID == e.ID }
		d := document(e)
		d.In = &presence{slices.ContainsFunc(saw, is), slices.ContainsFunc(live, is)}
		if !d.In.Live {
			gone = append(gone, e.ID)
		}
		docs = append(docs, d)
	}
	outcomes, err := h.Bank.Lineage(q, q.tenant, ref, gone...)
	if err != nil {
		return nil, err
	}
	for i, d := range docs {
		if outcome, known := outcomes[d.ID]; known && !d.In.Live {
			docs[i].State, docs[i].For = outcome.State.String(), outcome.Head.ID
		}
	}
	out["entries"] = docs
	return out, nil
}

// newestFirst is the order of lists.
func newestFirst(a, b memory.Entry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// events answers with a page of a run's log, or follows it where the client takes a stream.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, q *request) error {
	if h.Log == nil {
		return h.missing("events")
	}
	run := q.param("run")
	first, err := callHost(q, "the log", func(ctx context.Context) ([]events.RunEvent, error) { return h.Log.Read(ctx, q.tenant, run, 0, 1) })
	if err != nil {
		return err
	}
	if len(first) == 0 {
		return errNoRun
	}
	return h.Wire.Events(w, r, h.Log, q.tenant, run, "")
}
