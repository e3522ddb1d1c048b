package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/mcp"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const secret = bridgetest.Secret

type host struct{ *bridgetest.Host }

func newHost(t testing.TB, store driver.Adapter) *host { return &host{bridgetest.NewHost(t, store)} }

func secrets(t testing.TB) func() (memory.Redactor, error) {
	return func() (memory.Redactor, error) { return bridgetest.Secrets(t), nil }
}

func (h *host) config(t testing.TB, tenant string) mcp.Config {
	return mcp.Config{Bank: h.Bank, Tenant: tenant, Ref: "notes", Secrets: secrets(t), AllowForget: true}
}

// client is the SDK's client, connected to a server in this process.
type client struct {
	*sdk.ClientSession
	t testing.TB
}

func connect(t testing.TB, cfg mcp.Config) client {
	s, err := mcp.New(t.Context(), cfg)
	require.NoError(t, err)
	here, there := sdk.NewInMemoryTransports()
	_, err = s.MCP().Connect(t.Context(), there, nil)
	require.NoError(t, err)
	return join(t, here)
}

func join(t testing.TB, transport sdk.Transport) client {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return client{session, t}
}

// call calls a tool with names and values, and returns the text and whether it failed.
func (c client) call(tool string, pairs ...any) (string, bool) {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	result, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	require.NotEmpty(c.t, result.Content)
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

func (c client) ok(out any, tool string, pairs ...any) {
	c.t.Helper()
	text, failed := c.call(tool, pairs...)
	require.False(c.t, failed, text)
	if out != nil {
		require.NoError(c.t, json.Unmarshal([]byte(text), out), text)
	}
}

func (c client) fails(tool string, pairs ...any) string {
	c.t.Helper()
	text, failed := c.call(tool, pairs...)
	require.True(c.t, failed, text)
	return text
}

func (c client) remember(content string, pairs ...any) mcp.Entry {
	c.t.Helper()
	var e mcp.Entry
	c.ok(&e, "memory_remember", append([]any{"content", content}, pairs...)...)
	return e
}

func (c client) recall(query string, pairs ...any) (found []string) {
	c.t.Helper()
	var out struct{ Hits []mcp.Hit }
	c.ok(&out, "memory_recall", append([]any{"query", query}, pairs...)...)
	for _, h := range out.Hits {
		found = append(found, h.Content)
	}
	return found
}

// all reads a list to its end, some entries at a time.
func (c client) all(limit int, pairs ...any) (found []string) {
	c.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Entries    []mcp.Entry
			NextCursor string `json:"next_cursor"`
		}
		c.ok(&page, "memory_list", append([]any{"limit", limit, "cursor", cursor}, pairs...)...)
		require.LessOrEqual(c.t, len(page.Entries), limit)
		for _, e := range page.Entries {
			found = append(found, e.Content)
		}
		if cursor = page.NextCursor; cursor == "" {
			return found
		}
		require.Len(c.t, page.Entries, limit, "only the last page is short")
	}
}

// "What do you know about me?" has an answer: everything, or what is about a subject.
func TestListShowsEverything(t *testing.T) {
	h := newHost(t, inmem.New())
	c := connect(t, h.config(t, "acme"))
	assert.Empty(t, c.all(10))
	var all, odd []string // newest first
	half := ""
	for n := range 230 {
		content, subjects, tags := fmt.Sprint("fact ", n), []string{}, []string{"fact"}
		if n%2 == 1 {
			subjects, tags = append(subjects, "person:ann"), append(tags, "odd")
			odd = append([]string{content}, odd...)
		}
		if n%3 == 0 {
			h.Advance(time.Second) // two others are of the same instant
		}
		if n == 201 {
			half = h.Now().Format(time.RFC3339)
		}
		all = append([]string{content}, all...)
		c.remember(content, "subjects", subjects, "tags", tags)
	}
	for _, limit := range []int{1, 7, 100} {
		assert.ElementsMatch(t, all, c.all(limit))
		assert.ElementsMatch(t, odd, c.all(limit, "tag", "odd"))
		assert.ElementsMatch(t, odd, c.all(limit, "subject", "person:ann"))
		assert.ElementsMatch(t, all[:29], c.all(limit, "since", half))
	}
	assert.Empty(t, c.all(10, "subject", "person:bob"))
	var page struct{ Entries []mcp.Entry }
	c.ok(&page, "memory_list")
	assert.Len(t, page.Entries, mcp.DefaultPage)
}

// A client that offers resources to its user sees the entries, and no others than a list.
func TestResourcesAreTheEntries(t *testing.T) {
	h := newHost(t, inmem.New())
	c := connect(t, h.config(t, "acme"))
	assert.False(t, c.InitializeResult().Capabilities.Resources.ListChanged, "a client is told of no changes")
	none, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none.Resources)
	connect(t, h.config(t, "globex")).remember("not ours")
	want := map[string]string{}
	for n := range 2*mcp.MaxLimit + 1 {
		e := c.remember(fmt.Sprintf("fact %d\nin detail", n))
		want[mcp.URI("notes", e.ID)] = fmt.Sprint("fact ", n)
	}
	long := c.remember("\n" + strings.Repeat("é", 200))
	want[mcp.URI("notes", long.ID)] = strings.Repeat("é", 79) + "…"
	got := map[string]string{}
	for r, err := range c.Resources(t.Context(), nil) {
		require.NoError(t, err)
		got[r.URI] = r.Title
	}
	assert.Equal(t, want, got)
	page, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, page.Resources, mcp.MaxLimit)
	assert.Equal(t, "private", page.CacheScope)
	read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: page.Resources[0].URI})
	require.NoError(t, err)
	assert.Contains(t, read.Contents[0].Text, page.Resources[0].Name)
	_, err = c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "?"})
	assert.ErrorContains(t, err, "malformed cursor")
}

func TestTools(t *testing.T) {
	h := newHost(t, inmem.New())
	c := connect(t, h.config(t, "acme"))
	tools, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 6)
	for _, tool := range tools.Tools {
		raw, err := json.Marshal(tool.Annotations)
		require.NoError(t, err)
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			assert.Contains(t, string(raw), hint, "%s says all four hints", tool.Name)
		}
		schema, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		for _, name := range []string{"tenant", "ref", "run"} {
			assert.NotContains(t, string(schema), `"`+name+`"`, "no argument says whose memory it is")
		}
	}
	e := c.remember("Ann likes green tea", "tags", []string{"person"}, "subjects", []string{"person:ann"}, "expires_at", "2026-12-31T00:00:00Z")
	assert.Equal(t, "2026-12-31T00:00:00Z", e.ExpiresAt)
	h.Advance(time.Minute)
	c.remember("The deploy script is in tools/deploy.sh")
	assert.Equal(t, []string{"Ann likes green tea"}, c.recall("what does ann like?"))
	assert.Empty(t, c.recall("tea", "tags", []string{"other"}))
	assert.Empty(t, c.recall("tea", "since", h.Now().Format(time.RFC3339)))
	var got mcp.Entry
	c.ok(&got, "memory_get", "id", e.ID)
	assert.Equal(t, e, got)

	resource, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: mcp.URI("notes", e.ID)})
	require.NoError(t, err)
	assert.Contains(t, resource.Contents[0].Text, "green tea")
	assert.Equal(t, "private", resource.CacheScope)
	for _, uri := range []string{mcp.URI("notes", "mem_none"), mcp.URI("other", e.ID), "memory://notes/%zz"} {
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		assert.Error(t, err, uri)
	}
	var done struct{ Deleted bool }
	c.ok(&done, "memory_delete", "id", e.ID)
	assert.True(t, done.Deleted)
	c.ok(&done, "memory_delete", "id", e.ID)
	assert.False(t, done.Deleted, "again is no error")
	assert.Equal(t, "there is no such entry", c.fails("memory_get", "id", e.ID))

	c.remember("Bob is on call", "subjects", []string{"person:bob"})
	var erased struct{ Erased int }
	c.ok(&erased, "memory_forget", "subject", "person:bob")
	assert.Equal(t, 1, erased.Erased)
	c.ok(&erased, "memory_forget", "subject", "person:bob")
	assert.Equal(t, 0, erased.Erased)
	assert.Empty(t, c.recall("who is on call"))
}

// Clients fail on a schema in which the value of "type" is a list (genkit, Gemini, the inspector).
func TestNoSchemaHasAListAsType(t *testing.T) {
	for _, files := range []bool{false, true} {
		cfg := newHost(t, inmem.New()).config(t, "acme")
		cfg.Files = files
		tools, err := connect(t, cfg).ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(tools.Tools), 6, "a model chooses well among few tools")
		types := 0
		for _, tool := range tools.Tools {
			for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
				raw, err := json.Marshal(schema)
				require.NoError(t, err)
				var tree any
				require.NoError(t, json.Unmarshal(raw, &tree))
				types += checkTypes(t, tool.Name, tree)
			}
		}
		assert.Greater(t, types, 5, "there were schemas")
	}
}

// checkTypes counts the types that a schema names, at any depth, and refuses what is not one name.
func checkTypes(t *testing.T, path string, tree any) (types int) {
	switch tree := tree.(type) {
	case []any:
		for i, member := range tree {
			types += checkTypes(t, fmt.Sprintf("%s[%d]", path, i), member)
		}
	case map[string]any:
		for name, member := range tree {
			if name == "type" {
				types++
				assert.IsType(t, "", member, path)
			}
			types += checkTypes(t, path+"."+name, member)
		}
	}
	return types
}

// M10: a subject is forgotten in every ref of the tenant, and the tool says so to the model.
func TestM10_ForgetReachesEveryRef(t *testing.T) {
	h := newHost(t, inmem.New())
	cfg := h.config(t, "acme")
	cfg.Ref = "elsewhere"
	here, elsewhere := connect(t, h.config(t, "acme")), connect(t, cfg)
	elsewhere.remember("Bob is on call", "subjects", []string{"person:bob"})
	tools, err := here.ListTools(t.Context(), nil)
	require.NoError(t, err)
	said := ""
	for _, tool := range tools.Tools {
		if tool.Name == "memory_forget" {
			said = tool.Description
		}
	}
	assert.Contains(t, said, "in every memory of the tenant: also in those that these tools do not show")
	var erased struct{ Erased int }
	here.ok(&erased, "memory_forget", "subject", "person:bob")
	assert.Equal(t, 1, erased.Erased)
	assert.Empty(t, elsewhere.recall("who is on call"))
}

func TestBadInputIsAToolErrorAndChangesNothing(t *testing.T) {
	h := newHost(t, inmem.New())
	c := connect(t, h.config(t, "acme"))
	for _, call := range [][]any{
		{"memory_remember"}, {"memory_remember", "content", 7}, {"memory_remember", "content", "x", "tenant", "globex"},
		{"memory_remember", "content", "x", "expires_at", "tomorrow"}, {"memory_remember", "content", "x", "expires_at", "2001-01-01T00:00:00Z"},
		{"memory_remember", "content", "a\x00b"}, {"memory_remember", "content", strings.Repeat("x", memory.DefaultMaxEntryBytes+1)},
		{"memory_remember", "content", "x", "subjects", []string{secret}}, {"memory_remember", "content", "x", "tags", []string{"compacted-from:me"}},
		{"memory_remember", "content", ""}, {"memory_remember", "content", " \n\t"},
		{"memory_list", "limit", -1}, {"memory_list", "limit", 101}, {"memory_list", "since", "yesterday"}, {"memory_list", "cursor", "?"},
		{"memory_list", "cursor", "AAAA!"}, {"memory_list", "tag", strings.Repeat("x", 257)}, {"memory_list", "tenant", "globex"},
		{"memory_recall", "query", ""}, {"memory_recall", "query", "x", "limit", -1}, {"memory_recall", "query", "x", "limit", 1000},
		{"memory_recall", "query", "x", "since", "yesterday"}, {"memory_get", "id", "../../etc"}, {"memory_get", "id", "a\x00"},
		{"memory_forget", "subject", ""}, {"memory_unknown"},
	} {
		text := c.fails(call[0].(string), call[1:]...)
		assert.NotContains(t, text, secret)
	}
	entries, err := h.Reader("acme").List(t.Context(), "notes", memory.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, entries)
	for _, query := range []string{"", " ", "?!", "…"} {
		assert.Equal(t, "query has no words: memory_list returns entries without a question", c.fails("memory_recall", "query", query))
	}
	cfg := h.config(t, "acme")
	cfg.AllowForget = false
	connect(t, cfg).fails("memory_forget", "subject", "x")
}

// TestLaws runs the suite of all bridges: a session is one client of a server, of live memory and of a view.
func TestLaws(t *testing.T) {
	live := map[string]string{"M6": "the server shows live memory, see Config.View"}
	for name, without := range map[string]map[string]string{"live": live, "view": {}} {
		without["M8"] = "a client names no call, so that one that is tried again is another one"
		without["B"] = "see TestB_NoAcknowledgedEditIsLost"
		t.Run(name, func(t *testing.T) {
			bridgetest.Run(t, bridgetest.Bridge{Without: without, Open: func(t *testing.T, h *bridgetest.Host, tenant, _ string) bridgetest.Session {
				cfg := (&host{h}).config(t, tenant)
				cfg.View = name == "view"
				c := connect(t, cfg)
				return bridgetest.Session{
					Remember: func(f bridgetest.Fact) string {
						pairs := []any{"tags", []string{"about " + f.Text}, "subjects", append([]string{}, f.Subjects...)}
						if !f.ExpiresAt.IsZero() {
							pairs = append(pairs, "expires_at", f.ExpiresAt.Format(time.RFC3339Nano))
						}
						return c.remember(f.Text, pairs...).ID
					},
					Recall: func(question string) string { return fmt.Sprint(c.recall(question)) },
					List: func() (said string) {
						var page struct{ Entries []mcp.Entry }
						c.ok(&page, "memory_list", "limit", mcp.MaxLimit)
						for _, e := range page.Entries {
							said += fmt.Sprint(e)
							var one mcp.Entry
							c.ok(&one, "memory_get", "id", e.ID)
							r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: mcp.URI("notes", e.ID)})
							require.NoError(t, err)
							said += one.Content + r.Contents[0].Text
						}
						return said
					},
					Delete: func(id string) bool {
						var done struct{ Deleted bool }
						c.ok(&done, "memory_delete", "id", id)
						if !done.Deleted { // nor does anything else tell that there is or was one
							assert.Equal(t, c.fails("memory_get", "id", "mem_none"), c.fails("memory_get", "id", id))
						}
						return done.Deleted
					},
					Forget: func(subject string) { c.ok(nil, "memory_forget", "subject", subject) },
				}
			}})
		})
	}
}

// A view's list is newest first, page by page, without what was deleted.
func TestListOfAView(t *testing.T) {
	h := newHost(t, inmem.New())
	old := connect(t, h.config(t, "acme")).remember("tea is in the kitchen")
	cfg := h.config(t, "acme")
	cfg.View = true
	c := connect(t, cfg)
	h.Advance(time.Second)
	c.remember("tea is on the roof")
	assert.Equal(t, []string{"tea is on the roof", "tea is in the kitchen"}, c.all(1), "newest first")
	c.ok(nil, "memory_delete", "id", old.ID)
	assert.Equal(t, []string{"tea is on the roof"}, c.all(1))
}

// After Close nothing reaches memory, not even what needs neither the run nor the job.
func TestClosedServerReachesNothing(t *testing.T) {
	for _, files := range []bool{false, true} {
		h := newHost(t, inmem.New())
		kept := connect(t, h.config(t, "acme")).remember("Ann likes tea.", "subjects", []string{"person:ann"})
		cfg := h.config(t, "acme")
		cfg.Files = files
		s, err := mcp.New(t.Context(), cfg)
		require.NoError(t, err)
		here, there := sdk.NewInMemoryTransports()
		_, err = s.MCP().Connect(t.Context(), there, nil)
		require.NoError(t, err)
		c := join(t, here)
		require.NoError(t, s.Close(t.Context()))
		for tool, args := range map[string][]any{
			"memory_recall": {"query", "tea"}, "memory_list": {}, "memory_get": {"id", kept.ID}, "memory_remember": {"content", "x"},
			"memory_delete": {"id", kept.ID}, "memory_forget": {"subject", "person:ann"}, "memory": {"command", "view", "path", "/memories"},
		} {
			assert.Contains(t, c.fails(tool, args...), "closed", tool)
		}
		_, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: mcp.URI("notes", kept.ID)})
		assert.ErrorContains(t, err, "closed")
		_, err = c.ListResources(t.Context(), nil)
		assert.ErrorContains(t, err, "closed")
		assert.Equal(t, []string{kept.Content}, connect(t, h.config(t, "acme")).recall("tea"))
	}
}

// The URI of an entry finds it with any bytes in its ref.
func TestURIOfAnyRef(t *testing.T) {
	for _, ref := range []string{"mem://acme/notes", "a+b", "a@b:c=1&d", "a%2Fb", "é ü", "{x}?y#z"} {
		cfg := newHost(t, inmem.New()).config(t, "acme")
		cfg.Ref = ref
		c := connect(t, cfg)
		e := c.remember("Ann likes tea.")
		r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: mcp.URI(ref, e.ID)})
		require.NoError(t, err, ref)
		assert.Contains(t, r.Contents[0].Text, e.Content)
	}
}

func TestFilesTool(t *testing.T) {
	cfg := newHost(t, inmem.New()).config(t, "acme")
	cfg.Files = true
	c := connect(t, cfg)
	tools, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
	text, failed := c.call("memory", "command", "create", "path", "/memories/a.md", "file_text", "key "+secret)
	require.False(t, failed, text)
	text, _ = c.call("memory", "command", "view", "path", "/memories/a.md")
	assert.Contains(t, text, "key [REDACTED:key]")
	text, failed = c.call("memory", "command", "view", "path", "/memories/../etc")
	assert.True(t, failed, text)
}

// withToken sends a bearer token with each request.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func TestHTTP(t *testing.T) {
	h := newHost(t, inmem.New())
	handler, err := mcp.NewHTTP(t.Context(), h.config(t, ""), map[string]mcp.Place{
		"a1": {Tenant: "acme", Ref: "notes"}, "a2": {Tenant: "acme", Ref: "notes"}, "other": {Tenant: "acme", Ref: "other"}, "g": {Tenant: "globex", Ref: "notes"},
	})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	dial := func(token string) client {
		return join(t, &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true})
	}
	a1, a2, other, g := dial("a1"), dial("a2"), dial("other"), dial("g")
	a1.remember("ours")
	assert.Equal(t, []string{"ours"}, a2.recall("ours"))
	assert.Empty(t, other.recall("ours"))
	assert.Empty(t, g.recall("ours"))
	for _, token := range []string{"", "x", "a"} {
		r, err := http.NewRequest("POST", server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		assert.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%q", token)
		challenge := answer.Header.Get("WWW-Authenticate") // RFC 6750, section 3
		assert.True(t, strings.HasPrefix(challenge, "Bearer "), "%q", token)
		assert.Equal(t, token != "", strings.Contains(challenge, `error="invalid_token"`), "%q", token)
	}
	answer, err := http.Get(server.URL + "/healthz")
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, http.StatusOK, answer.StatusCode, "the health needs no token")
	cfg := h.config(t, "")
	cfg.View = true
	_, err = mcp.NewHTTP(t.Context(), cfg, nil)
	assert.Error(t, err)
	_, err = mcp.NewHTTP(t.Context(), h.config(t, ""), map[string]mcp.Place{"t": {Tenant: "acme"}})
	assert.Error(t, err)
	require.NoError(t, handler.Close(t.Context()))
}

func ExampleNew() {
	ctx := context.Background()
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		log.Fatal(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}
	s, err := mcp.New(ctx, mcp.Config{
		Bank: bank, Tenant: "acme", Ref: "assistant",
		Secrets: func() (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	here, there := sdk.NewInMemoryTransports() // a program uses &sdk.StdioTransport{}
	go s.MCP().Run(ctx, there)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "example", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for _, call := range []*sdk.CallToolParams{
		{Name: "memory_remember", Arguments: map[string]any{"content": "Ann likes green tea."}},
		{Name: "memory_recall", Arguments: map[string]any{"query": "What does Ann like?"}},
	} {
		result, err := client.CallTool(ctx, call)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(call.Name, result.IsError)
	}
	// Output:
	// memory_remember false
	// memory_recall false
}
