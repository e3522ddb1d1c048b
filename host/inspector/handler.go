package inspector

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Handler serves the page and its routes. Its fields are not to be changed once it serves; Bank and
// Tenant are required, and a section of the page whose part is nil says that the host does not show it.
// A call of one of its functions has [memory.PluginTimeout] and the request's context; if it panics or
// takes longer, the answer is internal_error.
type Handler struct {
	// Bank is the memory that is looked at.
	Bank *memory.Bank
	// Tenant tells the tenant of a request by its credentials, for example [wire.Bearer]. A
	// *wire.Error is answered as it says; another error, or an empty tenant, with 403 forbidden.
	Tenant func(r *http.Request) (string, error)
	// Model is what the host can do.
	Model *capability.Model
	// Agents returns the agents that a tenant may see.
	Agents func(ctx context.Context, tenant string) ([]Agent, error)
	// Commitments yields the commitments of a tenant; it is the method of a [commitment.Engine].
	Commitments func(ctx context.Context, tenant string) iter.Seq2[commitment.Commitment, error]
	// Runs returns the tenant's newest runs, the newest first.
	Runs func(ctx context.Context, tenant string) ([]Run, error)
	// Token returns what a run of the tenant saw in the end, for inspector/view. A run that the
	// tenant does not have is [memory.ErrNotFound].
	Token func(ctx context.Context, tenant, runID string) (memory.Token, error)
	// Log has the events of the runs.
	Log events.Reader
	// Waiting counts the tenant's events that wait for their sink, up to a limit; it is the method
	// of a store that is a driver.Transactor.
	Waiting func(ctx context.Context, tenant string, limit int) (int, error)
	// Wire is of the protocol's version that the handler speaks.
	Wire wire.Encoder

	once   sync.Once
	routes http.Handler
	usages usages
}

// Agent is an agent of the host, as far as its memory is concerned.
type Agent struct {
	ID      string `json:"agentId"`
	Persona string `json:"persona"`
	// Needs is the memory that its manifest asks for, and Degraded what it has to do without.
	Needs    capability.Shape       `json:"needs"`
	Degraded []capability.Dimension `json:"degraded,omitempty"`
}

// Run is a run of the host in a list.
type Run struct {
	ID        string    `json:"runId"`
	Workflow  string    `json:"workflowId,omitempty"`
	Status    string    `json:"status,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// request is one that may be answered.
type request struct {
	context.Context
	tenant string
	query  url.Values
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.build)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	h.routes.ServeHTTP(w, r)
}

func (h *Handler) build() {
	routes := map[string]func(http.ResponseWriter, *http.Request) error{"GET /{$}": servePage}
	handle := func(route string, serve func(w http.ResponseWriter, r *http.Request, q *request) error) {
		routes["GET /inspector/"+route] = func(w http.ResponseWriter, r *http.Request) error {
			q, err := h.authenticate(r)
			if err != nil {
				return err
			}
			return serve(w, r, q)
		}
	}
	for route, answer := range map[string]func(q *request) (any, error){
		"host": h.host, "agents": h.agents, "refs": h.refs, "entries": h.entries, "recall": h.recall, "lineage": h.lineage, "subject": h.subject,
		"runs": h.runs, "view": h.view, "commitments": h.commitments, "usage": h.usage,
	} {
		handle(route, func(w http.ResponseWriter, _ *http.Request, q *request) error {
			body, err := answer(q)
			if err != nil {
				return err
			}
			return wire.Reply(w, http.StatusOK, body)
		})
	}
	handle("events", h.events)
	h.routes = h.Wire.Mux(routes)
}

// authenticate tells whose request it is.
func (h *Handler) authenticate(r *http.Request) (*request, error) {
	tenant, err := wire.Caller(r, h.Tenant)
	if err == nil && tenant == "" {
		err = wire.ErrNoTenant
	}
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, wire.Invalid("query", "it cannot be read")
	}
	return &request{r.Context(), tenant, query}, nil
}

// callHost calls a part of the host.
func callHost[T any](ctx context.Context, part string, f func(context.Context) (T, error)) (T, error) {
	return hostcall.Call(ctx, part, memory.PluginTimeout, f)
}

// required returns a parameter that must be there.
func (q *request) required(name string) (string, error) {
	if v := q.query.Get(name); v != "" {
		return v, nil
	}
	return "", wire.Invalid(name, "it is required")
}

// longest and usual are the limits of a list.
const longest, usual = 200, 50

// page reads limit and after.
func (q *request) page() (o memory.ListOptions, err error) {
	o.Limit = usual
	if asked := q.query.Get("limit"); asked != "" {
		if o.Limit, err = strconv.Atoi(asked); err != nil || o.Limit < 1 || o.Limit > longest {
			return o, wire.Invalid("limit", "it is not a number from 1 to 200")
		}
	}
	if after := q.query.Get("after"); after != "" {
		if err := o.After.UnmarshalText([]byte(after)); err != nil {
			return o, wire.Invalid("after", "it is not the next of another page")
		}
	}
	return o, nil
}

// missing refuses what the host has not given to the handler.
func (h *Handler) missing(what string) error {
	return h.Wire.Unadvertised("this host does not show its " + what)
}
