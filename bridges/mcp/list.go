package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory"
)

// DefaultPage is how many entries memory_list returns if it is not told. [MaxLimit] bounds it.
const DefaultPage = 50

type (
	listIn struct {
		Tag     string `json:"tag,omitempty" jsonschema:"a tag that the entries must have"`
		Subject string `json:"subject,omitempty" jsonschema:"a subject that they must be about, as memory_remember was given it"`
		Since   string `json:"since,omitempty" jsonschema:"the earliest instant of writing, RFC 3339"`
		Cursor  string `json:"cursor,omitempty" jsonschema:"the next_cursor of the page before, with the same tag, subject and since"`
		Limit   int    `json:"limit,omitempty" jsonschema:"at most that many entries: 50 if absent, 100 at most"`
	}
	listOut struct {
		Entries    []Entry `json:"entries" jsonschema:"newest first"`
		NextCursor string  `json:"next_cursor,omitempty" jsonschema:"call again with it for older entries; absent if there are none"`
	}
)

func (s *Server) list(ctx context.Context, _ *sdk.CallToolRequest, in listIn) (*sdk.CallToolResult, listOut, error) {
	limit, err := bounded(in.Limit, DefaultPage)
	if err != nil {
		return nil, listOut{}, err
	}
	since, err := instant("since", in.Since)
	if err != nil {
		return nil, listOut{}, err
	}
	o := memory.ListOptions{Tag: in.Tag, Limit: limit}
	if err := o.After.UnmarshalText([]byte(in.Cursor)); err != nil {
		return nil, listOut{}, told(err)
	}
	page, next, err := s.page(ctx, o, func(e memory.Entry) (keep, end bool) {
		return in.Subject == "" || slices.Contains(e.Subjects, in.Subject), e.CreatedAt.Before(since)
	})
	if err != nil {
		return nil, listOut{}, err
	}
	out := listOut{Entries: []Entry{}, NextCursor: next}
	for _, e := range page {
		out.Entries = append(out.Entries, shown(e))
	}
	return nil, out, nil
}

// page returns the entries of a list that choose keeps, at most o.Limit, and the cursor of the next
// page. The cursor is empty if no other entry is kept before the one at which choose ends.
func (s *Server) page(ctx context.Context, o memory.ListOptions, choose func(memory.Entry) (keep, end bool)) ([]memory.Entry, string, error) {
	var page []memory.Entry
	limit := o.Limit
	o.Limit = MaxLimit + 1 // at a time; one more than a page says whether there is another
	for e, err := range pages.Of(s.pagesOf(ctx, o)) {
		if err != nil {
			return nil, "", told(err)
		}
		keep, end := choose(e)
		if end {
			break
		}
		if !keep || s.mem.Hides(e.ID) {
			continue
		}
		if len(page) == limit {
			next, err := page[limit-1].Cursor().MarshalText()
			return page, string(next), err
		}
		page = append(page, e)
	}
	return page, "", nil
}

// pagesOf reads a list in pages of o.Limit.
func (s *Server) pagesOf(ctx context.Context, o memory.ListOptions) func(last *memory.Entry) ([]memory.Entry, bool, error) {
	return func(last *memory.Entry) ([]memory.Entry, bool, error) {
		if last != nil {
			o.After = last.Cursor()
		}
		page, err := s.mem.List(ctx, o)
		return page, len(page) == o.Limit, err
	}
}
