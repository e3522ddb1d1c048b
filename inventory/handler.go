package inventory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openwop/agentmemory/capability"
)

const root = "/v1/agents"

// Handler serves GET and HEAD of /v1/agents and /v1/agents/{agentId}, with an ETag
// and conditional requests (RFC 0072, RFC 0074). Its fields are not to be changed
// once it serves.
//
// An agent with a Tenant is shown to callers of that tenant only, compared byte for
// byte. An agent without one is shown to every caller, unless the host's model says
// that agents are installed for tenants (installScope tenant): then it is shown to
// nobody. Whatever a caller may not see is the same 404 as what does not exist.
type Handler struct {
	// Host is the host's model. If it does not advertise the manifest runtime,
	// every request is answered 501 capability_not_provided.
	Host *capability.Model
	// Agents returns the installed agents of all tenants. It must be safe for
	// concurrent use.
	Agents func(ctx context.Context) ([]Agent, error)
	// Tenant returns the tenant of the caller, as its credentials say; an error is
	// answered 403 forbidden. Nil, or an empty tenant, is a caller of no tenant,
	// who is answered 403 where agents are installed for tenants.
	Tenant func(r *http.Request) (string, error)
}

// problem is an answer other than the inventory. It never holds what went wrong
// inside.
type problem struct {
	status  int
	code    string
	message string
}

var (
	errNotServed = &problem{http.StatusNotImplemented, "capability_not_provided", "this host serves no agent inventory"}
	errMethod    = &problem{http.StatusMethodNotAllowed, "validation_error", "only GET and HEAD are allowed"}
	errForbidden = &problem{http.StatusForbidden, "forbidden", "the caller has no tenant here"}
	errNotFound  = &problem{http.StatusNotFound, "not_found", "there is no such agent"}
	errInternal  = &problem{http.StatusInternalServerError, "internal_error", "the inventory is not available"}
)

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, failed := h.answer(r)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	if failed != nil {
		header.Set("Cache-Control", "no-store")
		if failed == errMethod {
			header.Set("Allow", "GET, HEAD")
		}
		w.WriteHeader(failed.status)
		if r.Method != http.MethodHead {
			json.NewEncoder(w).Encode(map[string]string{"error": failed.code, "message": failed.message})
		}
		return
	}
	sum := sha256.Sum256(body)
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	header.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// answer returns the body of a request that may be answered.
func (h *Handler) answer(r *http.Request) ([]byte, *problem) {
	served, perTenant := false, false
	if h.Host != nil {
		served, perTenant = h.Host.Inventory()
	}
	if !served {
		return nil, errNotServed
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, errMethod
	}
	tenant := ""
	if h.Tenant != nil {
		var err error
		if tenant, err = h.Tenant(r); err != nil {
			return nil, errForbidden
		}
	}
	if perTenant && tenant == "" {
		return nil, errForbidden
	}
	id, list, ok := target(r.URL)
	if !ok {
		return nil, errNotFound
	}
	agents, err := h.visible(r.Context(), tenant, perTenant)
	if err != nil {
		return nil, errInternal
	}
	if list {
		return encode(Project(agents, h.Host))
	}
	for i := range agents {
		if agents[i].ID == id {
			return encode(Project(agents[i:i+1], h.Host).Agents[0])
		}
	}
	return nil, errNotFound
}

// target reads the list or the id of an agent out of a path.
func target(u *url.URL) (id string, list, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), root)
	if rest == "" {
		return "", true, ok
	}
	rest, ok = strings.CutPrefix(rest, "/")
	if !ok || strings.Contains(rest, "/") {
		return "", false, false
	}
	id, err := url.PathUnescape(rest)
	return id, false, err == nil
}

// visible returns the agents that a caller of a tenant may see.
func (h *Handler) visible(ctx context.Context, tenant string, perTenant bool) ([]Agent, error) {
	if h.Agents == nil {
		return nil, nil
	}
	all, err := h.Agents(ctx)
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

func encode(v any) ([]byte, *problem) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, errInternal
	}
	return body, nil
}
