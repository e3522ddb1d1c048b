package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/auth"
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
	servers []*Server
}

// NewHTTP returns a handler that serves each caller the memory that its bearer token opens.
// cfg.Tenant and cfg.Ref are not looked at. The transport is stateless, so that there is no run
// to hold a view: cfg.View is refused.
func NewHTTP(ctx context.Context, cfg Config, tokens map[string]Place) (*HTTP, error) {
	if cfg.View {
		return nil, errors.New("mcp: over HTTP there is no view")
	}
	h := &HTTP{}
	server := map[Place]string{} // its place in h.servers
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
			server[place] = strconv.Itoa(len(h.servers))
			h.servers = append(h.servers, s)
		}
		names[token] = server[place]
	}
	bearer := wire.Bearer(names)
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		name, err := bearer(r)
		if err != nil {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: name}, nil
	}
	streamable := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		info := auth.TokenInfoFromContext(r.Context())
		if info == nil {
			return nil
		}
		n, err := strconv.Atoi(info.UserID)
		if err != nil {
			return nil
		}
		return h.servers[n].MCP()
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	h.Handler = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(
		http.MaxBytesHandler(streamable, 8*memory.DefaultMaxEntryBytes))
	return h, nil
}

// Close ends the servers.
func (h *HTTP) Close(ctx context.Context) error {
	var all error
	for _, s := range h.servers {
		all = errors.Join(all, s.Close(ctx))
	}
	return all
}
