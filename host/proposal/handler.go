package proposal

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Handler serves /v1/host/sample/proposals and what is below (RFC 0096):
//
//	GET    …/proposals?state=&kind=   {"proposals": […]}
//	GET    …/proposals/{id}           a Proposal, as all that follow answer
//	PATCH  …/proposals/{id}           {"artifact"?, "title"?, "rationale"?}
//	POST   …/proposals/{id}/apply     {} or {"overrideReason"}
//	POST   …/proposals/{id}/reject    {} or {"reason"}
//	DELETE …/proposals/{id}           archives
//
// Proposals are made by [Store.Create] alone. The handler's fields are not to be changed once it
// serves. A call of Job has memory.PluginTimeout and the request's context; if it panics or takes
// longer, the answer is internal_error.
type Handler struct {
	Store *Store
	// Job returns a job of the caller's tenant, whose redactor holds the tenant's secrets, and
	// who calls with which scopes, as the credentials say. The handler ends the job. A
	// *wire.Error is answered as it says.
	Job func(r *http.Request) (*memory.Job, Caller, error)
	// Wire is of the protocol's version that the handler speaks.
	Wire wire.Encoder

	once   sync.Once
	routes http.Handler
}

// call is a request of a caller about a proposal.
type call struct {
	*http.Request
	id  string
	job *memory.Job
	by  Caller
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		all := h.Wire.Seam("/proposals")
		one := all + "/{id}"
		h.routes = h.Wire.Mux(map[string]func(http.ResponseWriter, *http.Request) error{
			"GET " + all: h.forCaller(h.list), "GET " + one: h.forCaller(h.get), "PATCH " + one: h.forCaller(h.patch), "DELETE " + one: h.forCaller(h.archive),
			"POST " + one + "/apply": h.forCaller(h.apply), "POST " + one + "/reject": h.forCaller(h.reject),
		})
	})
	h.routes.ServeHTTP(w, r)
}

// forCaller answers by a job of the caller's tenant.
func (h *Handler) forCaller(answer func(call) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx := r.Context()
		c, err := hostcall.Call(ctx, "the source of jobs", memory.PluginTimeout, func(ctx context.Context) (c call, err error) {
			c.job, c.by, err = h.Job(r.WithContext(ctx))
			return c, err
		})
		if err == nil && c.job == nil {
			err = memory.ErrInternal.In(pkg, "Handler.Job returned no job", nil)
		}
		if err != nil {
			return err
		}
		defer c.job.End(ctx) // events that the sink has not taken yet are relayed later
		c.Request, c.id = r, r.PathValue("id")
		body, err := answer(c)
		if err != nil {
			return err
		}
		return wire.Reply(w, http.StatusOK, body)
	}
}

func (h *Handler) list(c call) (any, error) {
	list, q := []Proposal{}, c.URL.Query()
	for p, err := range h.Store.List(c.Context(), c.job, State(q.Get("state")), events.ArtifactKind(q.Get("kind"))) {
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return map[string]any{"proposals": list}, nil
}

func (h *Handler) get(c call) (any, error) { return h.Store.Get(c.Context(), c.job, c.id) }

func (h *Handler) archive(c call) (any, error) {
	return h.Store.Archive(c.Context(), c.job, c.id, c.by)
}

func (h *Handler) patch(c call) (any, error) {
	var body struct {
		Artifact  json.RawMessage `json:"artifact"`
		Title     *string         `json:"title"`
		Rationale *string         `json:"rationale"`
	}
	if err := readBody(c.Request, &body); err != nil {
		return nil, err
	}
	return h.Store.Revise(c.Context(), c.job, c.id, Revision{Artifact: body.Artifact, Title: body.Title, Rationale: body.Rationale})
}

func (h *Handler) apply(c call) (any, error) {
	var body struct {
		OverrideReason string `json:"overrideReason"`
	}
	if err := readBody(c.Request, &body); err != nil {
		return nil, err
	}
	return h.Store.Apply(c.Context(), c.job, c.id, c.by, body.OverrideReason)
}

func (h *Handler) reject(c call) (any, error) {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := readBody(c.Request, &body); err != nil {
		return nil, err
	}
	return h.Store.Reject(c.Context(), c.job, c.id, c.by, body.Reason)
}

// readBody reads a body, which may be absent.
func readBody(r *http.Request, body any) error {
	text := bufio.NewReader(r.Body)
	if _, err := text.Peek(1); err == io.EOF { // a length is not always told
		return nil
	}
	r.Body = io.NopCloser(text)
	return wire.Read(r, 2*MaxArtifactBytes+6*MaxRationaleBytes, body)
}
