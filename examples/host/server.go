package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
)

const (
	// scopeActivate is what a caller must hold to apply a proposal (RFC 0049).
	scopeActivate = "proposals:activate"
	// requestTime is how long a request may take to arrive, with its body, and idleTime how long a
	// connection may wait for the next one.
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
	// answerTime is how long an answer may take. Polls and streams end by themselves.
	answerTime = time.Minute
)

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: requestTime, IdleTimeout: idleTime}
}

// bounded gives a request its time: for the work, and for a client that is slow to read.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * answerTime)) // a recorder has none
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// handler serves both versions of the protocol, and a page for people.
func (h *host) handler(o options) http.Handler {
	// An empty token opens nothing.
	tenant := wire.Bearer(map[string]string{o.token: tenantA, o.tenantB: tenantB, o.approver: tenantA})
	mux := http.NewServeMux()
	page := h.inspector(tenant)
	mux.Handle("/{$}", bounded(page))
	mux.Handle("/inspector/", bounded(page))
	mux.Handle("/inspector/events", page) // a stream may last
	mux.Handle("/", wire.Majors{V1: h.routes(wire.V1, o, tenant), V2: h.routes(wire.V2, o, tenant), Default: wire.Version(o.major)})
	return mux
}

// api is the host in one version of the protocol.
type api struct {
	*host
	wire.Encoder
	options
	tenant func(*http.Request) (string, error)
	mux    *http.ServeMux
}

// routes are the host's paths in a version.
func (h *host) routes(v wire.Version, o options, tenant func(*http.Request) (string, error)) http.Handler {
	a := &api{h, wire.Encoder{Version: v, Log: h.logger}, o, tenant, http.NewServeMux()}
	a.mux.Handle("GET /.well-known/openwop", a.Handle(a.getDiscovery))
	agents := &inventory.Handler{Host: h.model, Wire: a.Encoder, Tenant: tenant, Agents: func(context.Context) ([]inventory.Agent, error) { return h.agents, nil }}
	a.mount(a.Path("/agents"), agents)
	if v == wire.V1 || o.seams {
		a.mount(a.Files(""), &workspace.Handler{Workspace: h.files, Wire: a.Encoder, Job: a.fileJob})
		a.mount(a.Seam("/proposals"), &proposal.Handler{Store: h.proposals, Wire: a.Encoder, Job: a.proposalJob})
	}
	a.mux.Handle("POST "+a.Path("/runs"), bounded(a.serve(a.postRun)))
	a.mux.Handle("GET "+a.Path("/runs/{id}"), bounded(a.serve(a.getRun)))
	a.mux.Handle("GET "+a.Path("/runs/{id}/events"), a.serve(a.getEvents))
	a.mux.Handle("GET "+a.Path("/runs/{id}/events/poll"), a.serve(a.pollEvents))
	// {idFork} is an id and ":fork", which a pattern of ServeMux cannot tell apart.
	a.mux.Handle("POST "+a.Path("/runs/{idFork}"), bounded(a.serve(a.postFork)))
	if v == wire.V2 {
		a.mux.Handle("GET /host/effect-seams", bounded(a.serve(a.getEffectSeams)))
	}
	if o.seams {
		a.addSeams()
	}
	return a.Routes(a.mux)
}

// mount serves a path and what is below it.
func (a *api) mount(path string, h http.Handler) {
	a.mux.Handle(path, bounded(h))
	a.mux.Handle(path+"/", bounded(h))
}

// serve answers for the tenant of the caller.
func (a *api) serve(answer func(w http.ResponseWriter, r *http.Request, tenant string) error) http.Handler {
	return a.Handle(func(w http.ResponseWriter, r *http.Request) error {
		tenant, err := a.tenant(r)
		if err != nil {
			return err
		}
		return answer(w, r, tenant)
	})
}

func (a *api) fileJob(r *http.Request) (*memory.Job, error) {
	tenant, err := a.tenant(r)
	if err != nil {
		return nil, err
	}
	return a.job(tenant, "host-workspace")
}

func (a *api) proposalJob(r *http.Request) (*memory.Job, proposal.Caller, error) {
	tenant, err := a.tenant(r)
	if err != nil {
		return nil, proposal.Caller{}, err
	}
	by := proposal.Caller{Principal: tenant}
	if a.approver != "" && strings.HasSuffix(r.Header.Get("Authorization"), " "+a.approver) {
		by.Scopes = []string{scopeActivate}
	}
	job, err := a.job(tenant, "host-proposals")
	return job, by, err
}

// postRun starts a run and answers when it has ended.
func (a *api) postRun(w http.ResponseWriter, r *http.Request, tenant string) error {
	body, err := a.ReadRun(r)
	if err != nil {
		return err
	}
	b := beginning{workflow: body.WorkflowID, request: body.Digest, inputs: body.Inputs, options: body.RunOptions, secrets: map[string]string{}}
	for _, s := range body.RunSecrets {
		b.secrets[strings.TrimPrefix(s.Ref, runRef)] = s.Value
	}
	if body.Key != "" {
		b.id = runID("request", body.Key)
		switch first, err := a.find(r.Context(), tenant, b.id); {
		case err == nil && first.Request != b.request:
			return &wire.Error{Kind: wire.CodeKeyMismatch, Message: "the key is that of another request"}
		case err == nil:
			w.Header().Set("OpenWOP-Idempotent-Replay", "true")
		}
	}
	doc, err := a.start(r.Context(), tenant, b)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, a.Accepted(tenant, doc.RunID))
}

// named returns the run that a path names.
func (a *api) named(r *http.Request, tenant, segment string) (*runDoc, error) {
	id, err := a.ParseRunID(tenant, segment)
	if err != nil {
		return nil, err
	}
	return a.find(r.Context(), tenant, id)
}

func (a *api) getRun(w http.ResponseWriter, r *http.Request, tenant string) error {
	doc, err := a.named(r, tenant, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return wire.ReplyTagged(w, r, a.Snapshot(tenant, doc.Run, doc.Workspace))
}

func (a *api) getEvents(w http.ResponseWriter, r *http.Request, tenant string) error {
	doc, err := a.named(r, tenant, r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.Events(w, r, a.log, tenant, doc.RunID, doc.Status)
}

func (a *api) pollEvents(w http.ResponseWriter, r *http.Request, tenant string) error {
	doc, err := a.named(r, tenant, r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.Poll(w, r, a.log, tenant, doc.RunID, doc.Status)
}

func (a *api) postFork(w http.ResponseWriter, r *http.Request, tenant string) error {
	segment, ok := strings.CutSuffix(r.PathValue("idFork"), ":fork")
	if !ok {
		return errNoRun
	}
	body, err := a.ReadFork(r)
	if err != nil {
		return err
	}
	source, err := a.named(r, tenant, segment)
	if err != nil {
		return err
	}
	doc, err := a.fork(r.Context(), tenant, source, *body.FromSeq, body.Mode)
	if err != nil {
		return err
	}
	out := a.Accepted(tenant, doc.RunID)
	out["sourceRunId"], out["fromSeq"], out["mode"] = a.RunID(tenant, source.RunID), *body.FromSeq, body.Mode
	return wire.Reply(w, http.StatusCreated, out)
}
