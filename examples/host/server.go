package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
)

// scopeActivate is what a caller must hold to apply a proposal (RFC 0049).
const scopeActivate = "proposals:activate"

// handler has the routes.
func (h *host) handler(o options) http.Handler {
	// An empty token opens nothing.
	tenant := wire.Bearer(map[string]string{o.token: tenantA, o.tenantB: tenantB, o.approver: tenantA})
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(w http.ResponseWriter, r *http.Request, tenant string) error) {
		mux.Handle(pattern, h.wire.Handle(func(w http.ResponseWriter, r *http.Request) error {
			t, err := tenant(r)
			if err != nil {
				return err
			}
			return serve(w, r, t)
		}))
	}
	mux.Handle("GET /.well-known/openwop", h.wire.Handle(func(w http.ResponseWriter, _ *http.Request) error {
		return wire.Reply(w, http.StatusOK, h.model)
	}))
	agents := &inventory.Handler{Host: h.model, Wire: h.wire, Tenant: tenant, Agents: func(context.Context) ([]inventory.Agent, error) { return h.agents, nil }}
	mux.Handle(h.wire.Path("/agents"), agents)
	mux.Handle(h.wire.Path("/agents/"), agents)
	files := &workspace.Handler{Workspace: h.files, Wire: h.wire, Job: func(r *http.Request) (*memory.Job, error) {
		t, err := tenant(r)
		if err != nil {
			return nil, err
		}
		return h.job(t, "host-workspace")
	}}
	mux.Handle(h.wire.Path("/host/workspace/files"), files)
	mux.Handle(h.wire.Path("/host/workspace/files/"), files)
	proposals := &proposal.Handler{Store: h.proposals, Wire: h.wire, Job: func(r *http.Request) (*memory.Job, proposal.Caller, error) {
		t, err := tenant(r)
		if err != nil {
			return nil, proposal.Caller{}, err
		}
		by := proposal.Caller{Principal: t}
		if o.approver != "" && strings.HasSuffix(r.Header.Get("Authorization"), " "+o.approver) {
			by.Scopes = []string{scopeActivate}
		}
		job, err := h.job(t, "host-proposals")
		return job, by, err
	}}
	mux.Handle(h.wire.Seam("/proposals"), proposals)
	mux.Handle(h.wire.Seam("/proposals/"), proposals)

	page := h.inspector(tenant)
	mux.Handle("/{$}", page)
	mux.Handle("/inspector/", page)

	handle("POST "+h.wire.Path("/runs"), h.postRun)
	handle("GET "+h.wire.Path("/runs/{id}"), h.getRun)
	handle("GET "+h.wire.Path("/runs/{id}/events"), h.getEvents)
	// {idFork} is an id and ":fork", which a pattern of ServeMux cannot tell apart.
	handle("POST "+h.wire.Path("/runs/{idFork}"), h.postFork)
	if o.seams {
		h.addSeams(handle)
	}
	return h.wire.Routes(mux)
}

func (h *host) postRun(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		WorkflowID string          `json:"workflowId"`
		Inputs     json.RawMessage `json:"inputs"`
		AgentID    string          `json:"agentId"`
		Options    json.RawMessage `json:"options"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	doc, err := h.start(r.Context(), tenant, "", body.WorkflowID, memory.RunConfig{}, nil)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, map[string]any{"runId": doc.RunID, "status": doc.Status})
}

func (h *host) getRun(w http.ResponseWriter, r *http.Request, tenant string) error {
	doc, err := h.find(r.Context(), tenant, r.PathValue("id"))
	if errors.Is(err, memory.ErrNotFound) {
		return errNoRun
	}
	if err != nil {
		return err
	}
	doc.Start, doc.End, doc.Refs = "", "", nil
	return wire.Reply(w, http.StatusOK, doc)
}

func (h *host) postFork(w http.ResponseWriter, r *http.Request, tenant string) error {
	id, ok := strings.CutSuffix(r.PathValue("idFork"), ":fork")
	if !ok {
		return errNoRun
	}
	var body struct {
		FromSeq int64  `json:"fromSeq"`
		Mode    string `json:"mode"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	doc, err := h.fork(r.Context(), tenant, id, body.FromSeq, body.Mode)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, map[string]any{"runId": doc.RunID, "status": doc.Status, "sourceRunId": id, "mode": body.Mode})
}

// getEvents answers with a page of a run's log, or follows it where the client takes a stream.
func (h *host) getEvents(w http.ResponseWriter, r *http.Request, tenant string) error {
	id, from := r.PathValue("id"), int64(0)
	for _, asked := range []string{r.URL.Query().Get("fromSeq"), r.Header.Get("Last-Event-ID")} {
		if asked == "" {
			continue
		}
		n, err := strconv.ParseInt(asked, 10, 64)
		if err != nil || n < 0 || n > events.MaxInteger {
			return wire.Invalid("fromSeq", "it is not a number from 0")
		}
		from = n
	}
	if r.Header.Get("Last-Event-ID") != "" {
		from++
	}
	first, err := h.log.Read(r.Context(), tenant, id, 0, 1)
	if err != nil {
		return err
	}
	if len(first) == 0 {
		return errNoRun
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return h.wire.Stream(w, r, h.log, tenant, id, from)
	}
	page, err := h.log.Read(r.Context(), tenant, id, from, 1000)
	if err != nil {
		return err
	}
	docs := []json.RawMessage{}
	for _, ev := range page {
		raw, err := h.wire.RunEvent(ev)
		if err != nil {
			return err
		}
		docs = append(docs, raw)
	}
	return wire.Reply(w, http.StatusOK, map[string]any{"events": docs})
}
