package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/memory"
)

// URI names an entry of a ref as a resource.
func URI(ref, id string) string {
	return "memory://" + escape(ref) + "/" + escape(id)
}

// escape writes a value of a URI template as RFC 6570 does: all but unreserved characters in percent.
func escape(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// Only this client may keep an entry, and not for long: it can be deleted at any time.
var private = sdk.Cacheable{CacheScope: "private"}

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
		return &sdk.ReadResourceResult{Cacheable: private, Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(raw)}}}, nil
	})
}

// listing answers resources/list from memory: the SDK knows only resources that were added to it.
func (s *Server) listing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, r)
		}
		o := memory.ListOptions{Limit: MaxLimit}
		if p, ok := r.GetParams().(*sdk.ListResourcesParams); ok && p != nil {
			if err := o.After.UnmarshalText([]byte(p.Cursor)); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: told(err).Error()}
			}
		}
		page, cursor, err := s.page(ctx, o, func(memory.Entry) (keep, end bool) { return true, false })
		if err != nil {
			return nil, err
		}
		out := &sdk.ListResourcesResult{Cacheable: private, NextCursor: cursor, Resources: []*sdk.Resource{}}
		for _, e := range page {
			out.Resources = append(out.Resources, &sdk.Resource{
				URI: URI(s.cfg.Ref, e.ID), Name: e.ID, Title: titleOf(e.Content), MIMEType: "application/json",
			})
		}
		return out, nil
	}
}

// titleOf returns the beginning of the first line of a text.
func titleOf(content string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(content), "\n")
	if title := []rune(line); len(title) > 80 {
		return string(title[:79]) + "…"
	}
	return line
}
