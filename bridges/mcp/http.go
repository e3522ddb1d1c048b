package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// Place is whose memory a bearer token opens.
type Place struct {
	Tenant string `json:"tenant"`
	Ref    string `json:"ref"`
}

// HTTP is a handler of the streamable HTTP transport for several tenants. Use [NewHTTP], and
// [HTTP.Close] at its end.
type HTTP struct {
	http.Handler
	servers map[string]*Server // by a name of its place
}

// opened is the key of the server that a request's token opens.
type opened struct{}

// NewHTTP returns a handler that serves each caller the memory that its bearer token opens, and
// says under /healthz, without a token, that it is there.
// cfg.Tenant and cfg.Ref are not looked at. The transport is stateless, so that there is no run
// to hold a view: cfg.View is refused.
func NewHTTP(ctx context.Context, cfg Config, tokens map[string]Place) (*HTTP, error) {
	if cfg.View {
		return nil, errors.New("mcp: over HTTP there is no view")
	}
	h := &HTTP{servers: map[string]*Server{}}
	server := map[Place]string{} // its name in h.servers
	names := map[string]string{} // the same by token
	for token, place := range tokens {
		if token == "" || place.Tenant == "" || place.Ref == "" {
			return nil, errors.Join(errors.New("mcp: a token, its tenant or its ref is empty"), h.Close(ctx))
		}
		if server[place] == "" {
			cfg.Tenant, cfg.Ref = place.Tenant, place.Ref
			s, err := New(ctx, cfg)
			if err != nil {
				return nil, errors.Join(err, h.Close(ctx))
			}
			server[place] = strconv.Itoa(len(h.servers) + 1)
			h.servers[server[place]] = s
		}
		names[token] = server[place]
	}
	bearer := wire.Bearer(names)
	streamable := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return r.Context().Value(opened{}).(*Server).MCP()
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	limited := http.MaxBytesHandler(streamable, 8*memory.DefaultMaxEntryBytes)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		name, err := bearer(r)
		if err != nil {
			refuse(w, r)
			return
		}
		limited.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), opened{}, h.servers[name])))
	})
	h.Handler = mux
	return h, nil
}

// refuse answers a request that has no token, or one that opens nothing, as RFC 6750 says.
func refuse(w http.ResponseWriter, r *http.Request) {
	challenge := `Bearer realm="agentmemory"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "a valid bearer token is required", http.StatusUnauthorized)
}

// Close ends the servers.
func (h *HTTP) Close(ctx context.Context) error {
	var all error
	for _, s := range h.servers {
		all = errors.Join(all, s.Close(ctx))
	}
	return all
}
