package inventory

import (
	"context"
	"net/http"
	"sync"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Handler serves GET and HEAD of /v1/agents and /v1/agents/{agentId} (in version 2 of the
// protocol without /v1), with an ETag and conditional requests (RFC 0072, RFC 0074).
// Its fields are not to be changed once it serves. A call of one of its functions has
// memory.PluginTimeout and the request's context; if it panics or takes longer, the answer is
// internal_error.
//
// An agent with a Tenant is shown to callers of that tenant only, compared byte for
// byte. An agent without one is shown to every caller, unless the host's model says
// that agents are installed for tenants (installScope tenant): then it is not
// shown. What a caller may not see is the same 404 as what does not exist.
type Handler struct {
	// Host is the host's model. If it does not advertise the manifest runtime,
	// every request is answered 501 capability_not_provided, in version 2 404 not_found.
	Host *capability.Model
	// Wire is of the protocol's version that the handler speaks.
	Wire wire.Encoder
	// Agents returns the installed agents of all tenants. It must be safe for
	// concurrent use.
	Agents func(ctx context.Context) ([]Agent, error)
	// Tenant returns the tenant of the caller, as its credentials say, for example
	// [wire.Bearer]. A *wire.Error is answered as it says, another error with 403
	// forbidden. Nil, or an empty tenant, is a caller of no tenant, who is answered 403
	// where agents are installed for tenants.
	Tenant func(r *http.Request) (string, error)

	once   sync.Once
	routes http.Handler
}

var errNotFound = &wire.Error{Kind: memory.CodeNotFound, Message: "there is no such agent"}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		all := h.Wire.Path("/agents")
		answer := func(w http.ResponseWriter, r *http.Request) error {
			body, err := h.answer(r, r.URL.Path == all)
			if err != nil {
				return err
			}
			return wire.ReplyTagged(w, r, body)
		}
		h.routes = h.Wire.Mux(map[string]func(http.ResponseWriter, *http.Request) error{
			"GET " + all: answer, "GET " + all + "/{id}": answer, "GET " + all + "/{unknown...}": answer,
		})
	})
	h.routes.ServeHTTP(w, r)
}

// answer returns the body of an answer about all agents, or about the one that the path names.
func (h *Handler) answer(r *http.Request, all bool) (any, error) {
	served, perTenant := false, false
	if h.Host != nil {
		served, perTenant = h.Host.Inventory()
	}
	if !served {
		return nil, h.Wire.Unadvertised("this host serves no agent inventory")
	}
	tenant, err := wire.Caller(r, h.Tenant)
	if err != nil {
		return nil, err
	}
	if perTenant && tenant == "" {
		return nil, wire.ErrNoTenant
	}
	agents, err := h.visible(r.Context(), tenant, perTenant)
	if err != nil {
		return nil, err
	}
	if all {
		return Project(agents, h.Host), nil
	}
	for i := range agents {
		if agents[i].ID == r.PathValue("id") {
			return Project(agents[i:i+1], h.Host).Agents[0], nil
		}
	}
	return nil, errNotFound
}

// visible returns the agents that a caller of a tenant may see.
func (h *Handler) visible(ctx context.Context, tenant string, perTenant bool) ([]Agent, error) {
	if h.Agents == nil {
		return nil, nil
	}
	all, err := hostcall.Call(ctx, "the source of agents", memory.PluginTimeout, h.Agents)
	if err != nil {
		return nil, err
	}
	var seen []Agent
	for i := range all {
		if own := all[i].Tenant; own == tenant && own != "" || own == "" && !perTenant {
			seen = append(seen, all[i])
		}
	}
	return seen, nil
}
