package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// URI names an entry of a ref as a resource.
func URI(ref, id string) string {
	return "memory://" + escape(ref) + "/" + escape(id)
}

// escape writes a value of a URI template as RFC 6570 does: all but unreserved characters in percent.
func escape(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

func (s *Server) addResources() {
	s.mcp.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "entry", Title: "An entry of long-term memory", MIMEType: "application/json", URITemplate: "memory://{ref}/{id}",
	}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		rest, _ := strings.CutPrefix(r.Params.URI, "memory://")
		ref, id, _ := strings.Cut(rest, "/")
		ref, badRef := url.PathUnescape(ref)
		id, badID := url.PathUnescape(id)
		if badRef != nil || badID != nil || ref != s.cfg.Ref {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		e, err := s.mem.Get(ctx, id)
		if err != nil {
			if told(err).Error() == "there is no such entry" {
				return nil, sdk.ResourceNotFoundError(r.Params.URI)
			}
			return nil, told(err)
		}
		raw, err := json.Marshal(shown(e))
		if err != nil {
			return nil, err
		}
		// Only this client may keep it, and not for long: it can be deleted at any time.
		private := sdk.Cacheable{CacheScope: "private"}
		return &sdk.ReadResourceResult{Cacheable: private, Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(raw)}}}, nil
	})
}
