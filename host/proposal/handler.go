package proposal

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

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
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, isList, ok := wire.Below(r, h.Wire.Seam("/proposals"))
	rest, move, isMove := strings.Cut(rest, "/")
	id, err := url.PathUnescape(rest)
	ok = ok && err == nil && isList == (id == "") && isMove == (move != "")
	allow := "GET, HEAD, PATCH, DELETE"
	switch {
	case id == "":
		allow = "GET, HEAD"
	case move != "":
		allow = "POST"
	}
	switch {
	case !ok || move != "" && move != "apply" && move != "reject":
		h.Wire.Refuse(w, r, errNotFound)
	case !strings.Contains(", "+allow+",", ", "+r.Method+","):
		h.Wire.RefuseMethod(w, r, allow)
	default:
		h.Wire.Handle(func(w http.ResponseWriter, r *http.Request) error {
			body, err := h.serve(r, id, move)
			if err != nil {
				return err
			}
			return wire.Reply(w, http.StatusOK, body)
		}).ServeHTTP(w, r)
	}
}

func (h *Handler) serve(r *http.Request, id, move string) (any, error) {
	ctx := r.Context()
	type caller struct {
		job *memory.Job
		by  Caller
	}
	asked, err := hostcall.Call(ctx, "the source of jobs", memory.PluginTimeout, func(ctx context.Context) (c caller, err error) {
		c.job, c.by, err = h.Job(r.WithContext(ctx))
		return c, err
	})
	if err == nil && asked.job == nil {
		err = memory.ErrInternal.In(pkg, "Handler.Job returned no job", nil)
	}
	if err != nil {
		return nil, err
	}
	job, by := asked.job, asked.by
	defer job.End(ctx) // events that the sink has not taken yet are relayed later
	switch {
	case id == "":
		list := []Proposal{}
		q := r.URL.Query()
		for p, err := range h.Store.List(ctx, job, State(q.Get("state")), events.ArtifactKind(q.Get("kind"))) {
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
		return map[string]any{"proposals": list}, nil
	case move == "apply":
		var body struct {
			OverrideReason string `json:"overrideReason"`
		}
		if err := readBody(r, &body); err != nil {
			return nil, err
		}
		return h.Store.Apply(ctx, job, id, by, body.OverrideReason)
	case move == "reject":
		var body struct {
			Reason string `json:"reason"`
		}
		if err := readBody(r, &body); err != nil {
			return nil, err
		}
		return h.Store.Reject(ctx, job, id, by, body.Reason)
	case r.Method == http.MethodPatch:
		var body struct {
			Artifact  json.RawMessage `json:"artifact"`
			Title     *string         `json:"title"`
			Rationale *string         `json:"rationale"`
		}
		if err := readBody(r, &body); err != nil {
			return nil, err
		}
		return h.Store.Revise(ctx, job, id, Revision{Artifact: body.Artifact, Title: body.Title, Rationale: body.Rationale})
	case r.Method == http.MethodDelete:
		return h.Store.Archive(ctx, job, id, by)
	}
	return h.Store.Get(ctx, job, id)
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
