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
	// Bank is the memory that is shown.
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

// request is one that may be answered: it has the parameters that its route requires.
type request struct {
	context.Context
	tenant string
	query  url.Values
	page   memory.ListOptions
}

// param returns a parameter.
func (q *request) param(name string) string { return q.query.Get(name) }

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
	handle := func(route string, serve func(w http.ResponseWriter, r *http.Request, q *request) error, required ...string) {
		routes["GET /inspector/"+route] = func(w http.ResponseWriter, r *http.Request) error {
			q, err := h.authenticate(r)
			if err != nil {
				return err
			}
			for _, name := range required {
				if q.param(name) == "" {
					return wire.Invalid(name, "it is required")
				}
			}
			return serve(w, r, q)
		}
	}
	reply := func(route string, answer func(q *request) (any, error), required ...string) {
		handle(route, func(w http.ResponseWriter, _ *http.Request, q *request) error {
			body, err := answer(q)
			if err != nil {
				return err
			}
			return wire.Reply(w, http.StatusOK, body)
		}, required...)
	}
	reply("host", h.host)
	reply("agents", h.agents)
	reply("refs", h.refs)
	reply("entries", h.entries, "ref")
	reply("recall", h.recall, "ref", "q")
	reply("lineage", h.lineage, "ref", "id")
	reply("subject", h.subject, "subject")
	reply("runs", h.runs)
	reply("view", h.view, "ref")
	reply("commitments", h.commitments)
	reply("usage", h.usage)
	handle("events", h.events, "run")
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
	q := &request{Context: r.Context(), tenant: tenant, query: query}
	return q, q.readPage()
}

// callHost calls a part of the host.
func callHost[T any](ctx context.Context, part string, f func(context.Context) (T, error)) (T, error) {
	return hostcall.Call(ctx, part, memory.PluginTimeout, f)
}

// longest and usual are the limits of a list.
const longest, usual = 200, 50

// readPage reads limit and after.
func (q *request) readPage() (err error) {
	q.page.Limit = usual
	if asked := q.param("limit"); asked != "" {
		if q.page.Limit, err = strconv.Atoi(asked); err != nil || q.page.Limit < 1 || q.page.Limit > longest {
			return wire.Invalid("limit", "it is not a number from 1 to 200")
		}
	}
	if after := q.param("after"); after != "" && q.page.After.UnmarshalText([]byte(after)) != nil {
		return wire.Invalid("after", "it is not the next of another page")
	}
	return nil
}

// missing refuses what the host has not given to the handler.
func (h *Handler) missing(what string) error {
	return h.Wire.Unadvertised("this host does not show its " + what)
}
