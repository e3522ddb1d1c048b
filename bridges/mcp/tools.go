package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/memory"
)

// DefaultLimit is how many hits memory_recall returns if it is not told. MaxLimit bounds them.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// Entry is an entry as the tools show it.
type Entry struct {
	ID        string   `json:"id"`
	Content   string   `json:"content"`
	Tags      []string `json:"tags"`
	CreatedAt string   `json:"created_at" jsonschema:"RFC 3339"`
	ExpiresAt string   `json:"expires_at,omitempty" jsonschema:"RFC 3339; absent if it does not expire"`
}

func shown(e memory.Entry) Entry {
	out := Entry{ID: e.ID, Content: e.Content, Tags: e.Tags, CreatedAt: e.CreatedAt.Format(time.RFC3339Nano)}
	if out.Tags == nil {
		out.Tags = []string{}
	}
	if !e.ExpiresAt.IsZero() {
		out.ExpiresAt = e.ExpiresAt.Format(time.RFC3339Nano)
	}
	return out
}

type (
	rememberIn struct {
		Content   string   `json:"content" jsonschema:"what to remember: one fact, in a whole sentence"`
		Tags      []string `json:"tags,omitempty" jsonschema:"labels to narrow a recall by"`
		Subjects  []string `json:"subjects,omitempty" jsonschema:"whom or what it is about, such as person:ann; memory_forget erases by these"`
		ExpiresAt string   `json:"expires_at,omitempty" jsonschema:"the instant from which it is forgotten, RFC 3339"`
	}
	recallIn struct {
		Query string   `json:"query" jsonschema:"a question, or words that the entry may have"`
		Tags  []string `json:"tags,omitempty" jsonschema:"tags that an entry must all have"`
		Since string   `json:"since,omitempty" jsonschema:"the earliest instant of writing, RFC 3339"`
		Until string   `json:"until,omitempty" jsonschema:"the instant before which it was written, RFC 3339"`
		Limit int      `json:"limit,omitempty" jsonschema:"at most that many hits: 10 if absent, 100 at most"`
	}
	recallOut struct {
		Hits []Hit `json:"hits" jsonschema:"best first"`
	}
	idIn struct {
		ID string `json:"id" jsonschema:"the id of an entry"`
	}
	deleteOut struct {
		Deleted bool `json:"deleted" jsonschema:"whether there was such an entry"`
	}
	forgetIn struct {
		Subject string `json:"subject" jsonschema:"a subject as memory_remember was given it"`
	}
	forgetOut struct {
		Erased int `json:"erased" jsonschema:"how many entries are gone for good, in every memory of the tenant"`
	}
)

// Hit is an entry that answers a question, and why.
type Hit struct {
	Entry
	Score      float64  `json:"score" jsonschema:"it orders the hits of one answer"`
	Terms      []string `json:"terms" jsonschema:"the words of the question that it has"`
	Similarity float64  `json:"similarity,omitempty" jsonschema:"how near it is to the question in meaning, at most 1, where the memory has a model"`
}

var yes, no = true, false

// hints are the four annotations, all of them explicit.
func hints(title string, readOnly, destructive, idempotent bool) *sdk.ToolAnnotations {
	a := &sdk.ToolAnnotations{Title: title, ReadOnlyHint: readOnly, DestructiveHint: &no, IdempotentHint: idempotent, OpenWorldHint: &no}
	if destructive {
		a.DestructiveHint = &yes
	}
	return a
}

func (s *Server) addTools() {
	addTool(s, &sdk.Tool{
		Name: "memory_remember", Annotations: hints("Remember", false, false, false),
		Description: "Stores one entry in long-term memory and returns it as it is stored, with secrets taken out.",
	}, s.remember)
	addTool(s, &sdk.Tool{
		Name: "memory_recall", Annotations: hints("Recall", true, false, true),
		Description: "Finds the entries of long-term memory that answer a question, best first.",
	}, s.recall)
	addTool(s, &sdk.Tool{
		Name: "memory_list", Annotations: hints("List entries", true, false, true),
		Description: "Lists the entries of long-term memory, newest first: all of them, or those with a tag, about a subject or since an instant. " +
			"For what is known at large, such as what is known about the user.",
	}, s.list)
	addTool(s, &sdk.Tool{
		Name: "memory_get", Annotations: hints("Get an entry", true, false, true),
		Description: "Returns one entry by its id.",
	}, s.get)
	addTool(s, &sdk.Tool{
		Name: "memory_delete", Annotations: hints("Delete an entry", false, true, true),
		Description: "Takes one entry out of long-term memory.",
	}, s.delete)
	if s.cfg.AllowForget {
		addTool(s, &sdk.Tool{
			Name: "memory_forget", Annotations: hints("Forget a subject", false, true, true),
			Description: "Erases for good every entry about a subject, and all that was made of one, in every memory of the tenant: also in those that these tools do not show.",
		}, s.forget)
	}
}

func (s *Server) remember(ctx context.Context, _ *sdk.CallToolRequest, in rememberIn) (*sdk.CallToolResult, Entry, error) {
	if strings.TrimSpace(in.Content) == "" {
		return nil, Entry{}, errors.New("content is empty: say what to remember")
	}
	d := memory.Draft{Content: in.Content, Tags: in.Tags, Subjects: in.Subjects}
	var err error
	if d.ExpiresAt, err = instant("expires_at", in.ExpiresAt); err != nil {
		return nil, Entry{}, err
	}
	e, err := s.mem.Put(ctx, d)
	if err != nil {
		return nil, Entry{}, told(err)
	}
	return nil, shown(e), nil
}

func (s *Server) recall(ctx context.Context, _ *sdk.CallToolRequest, in recallIn) (*sdk.CallToolResult, recallOut, error) {
	if !strings.ContainsFunc(in.Query, isOfWord) {
		return nil, recallOut{}, errors.New("query has no words: memory_list returns entries without a question")
	}
	limit, err := bounded(in.Limit, DefaultLimit)
	if err != nil {
		return nil, recallOut{}, err
	}
	q := memory.Search{Tags: in.Tags, Limit: limit}
	if q.Text, err = s.redactor.Redact(in.Query); err != nil {
		return nil, recallOut{}, errors.New("the query holds a secret")
	}
	if q.Since, err = instant("since", in.Since); err == nil {
		q.Until, err = instant("until", in.Until)
	}
	if err != nil {
		return nil, recallOut{}, err
	}
	hits, err := s.mem.Search(ctx, q)
	if err != nil {
		return nil, recallOut{}, told(err)
	}
	out := recallOut{Hits: []Hit{}}
	for _, h := range hits {
		hit := Hit{shown(h.Entry), h.Score, h.Terms, h.Similarity}
		if hit.Terms == nil {
			hit.Terms = []string{}
		}
		out.Hits = append(out.Hits, hit)
	}
	return nil, out, nil
}

func (s *Server) get(ctx context.Context, _ *sdk.CallToolRequest, in idIn) (*sdk.CallToolResult, Entry, error) {
	e, err := s.mem.Get(ctx, in.ID)
	if err != nil {
		return nil, Entry{}, told(err)
	}
	return nil, shown(e), nil
}

func (s *Server) delete(ctx context.Context, _ *sdk.CallToolRequest, in idIn) (*sdk.CallToolResult, deleteOut, error) {
	existed, err := s.mem.Delete(ctx, in.ID)
	if err != nil {
		return nil, deleteOut{}, told(err)
	}
	return nil, deleteOut{existed}, nil
}

func (s *Server) forget(ctx context.Context, _ *sdk.CallToolRequest, in forgetIn) (*sdk.CallToolResult, forgetOut, error) {
	done, err := s.cfg.Bank.Forget(ctx, s.cfg.Tenant, in.Subject)
	if err != nil {
		return nil, forgetOut{}, told(err)
	}
	return nil, forgetOut{len(done.Erased)}, nil
}

// addFiles serves the one tool of files below /memories.
func (s *Server) addFiles(files *memorytool.Files) {
	s.mcp.AddTool(&sdk.Tool{
		Name: "memory", Annotations: hints("Memory files", false, true, false),
		Description: "Long-term memory as files below /memories. Commands: view {path, view_range?}, create {path, file_text}, " +
			"str_replace {path, old_str, new_str}, insert {path, insert_line, insert_text}, delete {path}, rename {old_path, new_path}.",
		InputSchema: json.RawMessage(filesSchema),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		text, failed := files.Do(ctx, r.Params.Arguments)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: failed}, nil
	})
}

const filesSchema = `{"type":"object","required":["command"],"additionalProperties":false,"properties":{
	"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},
	"path":{"type":"string"},"view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},
	"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},
	"insert_line":{"type":"integer","minimum":0},"insert_text":{"type":"string"},
	"old_path":{"type":"string"},"new_path":{"type":"string"}}}`

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// bounded returns a limit that a client has given, or the default for 0.
func bounded(limit, otherwise int) (int, error) {
	if limit < 0 || limit > MaxLimit {
		return 0, fmt.Errorf("limit is not between 1 and %d", MaxLimit)
	}
	return cmp.Or(limit, otherwise), nil
}

func instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New(name + " is not an instant as in RFC 3339, such as 2026-03-01T09:00:00Z")
	}
	return at, nil
}

// told is what a client is told of a failure: the text of an error of memory holds nothing that
// was stored, and of any other one nothing is said.
func told(err error) error {
	coded := (interface {
		error
		Code() memory.Code
	})(nil)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return errors.New("there is no such entry")
	case errors.As(err, &coded) && memory.CodeOf(err) != memory.CodeInternal:
		return errors.New(coded.Error())
	case errors.Is(err, memory.ErrOutcomeUnknown):
		return errors.New("memory is not available, and it is not known whether the change was made")
	}
	return errors.New("memory is not available; nothing was changed")
}
