package inventory_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/inventory"
)

const (
	hostWide  = `{"agents":{"manifestRuntime":{"supported":true}}}`
	perTenant = `{"agents":{"manifestRuntime":{"supported":true,"installScope":"tenant"}}}`
)

// installed are three tenants' agents, one of them with a name that needs escaping.
var installed = []inventory.Agent{
	{ID: "acme.b", Persona: "b", Tenant: "acme", MemoryShape: &capability.Shape{LongTerm: true}},
	{ID: "acme.a", Persona: "a", Tenant: "acme"},
	{ID: "acme.x/y z", Persona: "x", Tenant: "acme"},
	{ID: "globex.a", Persona: "g", Tenant: "globex"},
	{ID: "Acme.c", Persona: "c", Tenant: "Acme"},
	{ID: "core.shared", Persona: "s"},
}

// handler serves the agents above; a caller's tenant is what the X-Tenant header
// says, and "bad" is refused.
func handler(t testing.TB, doc string) *inventory.Handler {
	return &inventory.Handler{
		Wire:   wire.Encoder{Version: wire.V1},
		Host:   model(t, doc),
		Agents: func(context.Context) ([]inventory.Agent, error) { return slices.Clone(installed), nil },
		Tenant: func(r *http.Request) (string, error) {
			if tenant := r.Header.Get("X-Tenant"); tenant != "bad" {
				return tenant, nil
			}
			return "", errors.New("S3CR3T")
		},
	}
}

func do(h http.Handler, method, path, tenant string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("X-Tenant", tenant)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ids are those of a list; nil if the answer is none.
func ids(t *testing.T, w *httptest.ResponseRecorder) []string {
	t.Helper()
	var response inventory.Response
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &response))
	assert.Equal(t, len(response.Agents), response.Total)
	var all []string
	for _, e := range response.Agents {
		all = append(all, e.ID)
	}
	return all
}

func TestHandlerScopes(t *testing.T) {
	for _, c := range []struct {
		doc, tenant string
		want        []string
	}{
		{hostWide, "", []string{"core.shared"}},
		{hostWide, "acme", []string{"acme.a", "acme.b", "acme.x/y z", "core.shared"}},
		{hostWide, "nobody", []string{"core.shared"}},
		{perTenant, "acme", []string{"acme.a", "acme.b", "acme.x/y z"}},
		{perTenant, "Acme", []string{"Acme.c"}},
		{perTenant, "globex", []string{"globex.a"}},
		{perTenant, "acm", nil},
	} {
		h := handler(t, c.doc)
		w := do(h, "GET", "/v1/agents", c.tenant)
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Equal(t, c.want, ids(t, w), c.tenant)
		assert.NotContains(t, w.Body.String(), "enant")
		// What is in the list can be got, and nothing else.
		for _, a := range installed {
			w := do(h, "GET", "/v1/agents/"+url.PathEscape(a.ID), c.tenant)
			if !slices.Contains(c.want, a.ID) {
				assert.Equal(t, http.StatusNotFound, w.Code, a.ID)
				continue
			}
			require.Equal(t, http.StatusOK, w.Code, a.ID)
			var e map[string]any
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
			require.NoError(t, wireEntry(e))
			assert.Equal(t, a.ID, e["agentId"])
			if a.ID == "acme.b" {
				assert.Equal(t, []any{"read", "write", "long-term-durability"}, e["degradedMemoryDimensions"])
			}
		}
	}
	w := do(handler(t, perTenant), "GET", "/v1/agents", "acm")
	assert.Equal(t, `{"agents":[],"total":0}`, w.Body.String())
}

// CTI-1: a foreign agent cannot be told from one that does not exist.
func TestHandlerForeignIsUnknown(t *testing.T) {
	for _, doc := range []string{hostWide, perTenant} {
		h := handler(t, doc)
		unknown := do(h, "GET", "/v1/agents/no.such", "acme")
		assert.Equal(t, http.StatusNotFound, unknown.Code)
		assert.JSONEq(t, `{"error":"not_found","message":"there is no such agent"}`, unknown.Body.String())
		for _, path := range []string{"globex.a", "Acme.c", "", "acme.a/", "acme.x/y z", "%2e%2e", "acme.a%00", strings.Repeat("x", 5000)} {
			for _, method := range []string{"GET", "HEAD"} {
				unknown := do(h, method, "/v1/agents/no.such", "acme")
				w := do(h, method, strings.ReplaceAll("/v1/agents/"+path, " ", "%20"), "acme")
				assert.Equal(t, unknown.Code, w.Code, path)
				assert.Equal(t, unknown.Header(), w.Header(), path)
				assert.Equal(t, unknown.Body.String(), w.Body.String(), path)
			}
		}
	}
	w := do(handler(t, hostWide), "GET", "/v1/agentsx", "acme")
	assert.Equal(t, http.StatusNotFound, w.Code)
	for _, elsewhere := range []string{"/v2/agents", "/acme.a", "/agents/acme.a"} {
		w = do(handler(t, hostWide), "GET", elsewhere, "acme")
		assert.Equal(t, http.StatusNotFound, w.Code, elsewhere)
	}
}

func TestHandlerProblems(t *testing.T) {
	broken := handler(t, hostWide)
	broken.Agents = func(context.Context) ([]inventory.Agent, error) { return nil, errors.New("S3CR3T") }
	anyone := handler(t, perTenant)
	anyone.Tenant = nil
	nan := math.NaN()
	odd := handler(t, hostWide)
	odd.Agents = func(context.Context) ([]inventory.Agent, error) {
		return []inventory.Agent{{ID: "a\xff", ConfidenceThreshold: &nan}}, nil
	}
	for _, c := range []struct {
		h              *inventory.Handler
		method, tenant string
		status         int
		code           string
	}{
		{handler(t, `{}`), "GET", "acme", http.StatusNotImplemented, "capability_not_provided"},
		{handler(t, `{"agents":{"manifestRuntime":{"supported":false}}}`), "GET", "acme", http.StatusNotImplemented, "capability_not_provided"},
		{&inventory.Handler{Wire: wire.Encoder{Version: wire.V1}}, "GET", "acme", http.StatusNotImplemented, "capability_not_provided"},
		{handler(t, hostWide), "POST", "acme", http.StatusMethodNotAllowed, "validation_error"},
		{handler(t, hostWide), "GET", "bad", http.StatusForbidden, "forbidden"},
		{handler(t, perTenant), "GET", "bad", http.StatusForbidden, "forbidden"},
		{handler(t, perTenant), "GET", "", http.StatusForbidden, "forbidden"},
		{anyone, "GET", "acme", http.StatusForbidden, "forbidden"},
		{broken, "GET", "acme", http.StatusInternalServerError, "internal_error"},
		{odd, "GET", "acme", http.StatusOK, ""},
		{&inventory.Handler{Host: model(t, hostWide), Wire: wire.Encoder{Version: wire.V1}}, "GET", "acme", http.StatusOK, ""},
	} {
		w := do(c.h, c.method, "/v1/agents", c.tenant)
		assert.Equal(t, c.status, w.Code)
		var envelope struct{ Error, Message string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &envelope))
		assert.Equal(t, c.code, envelope.Error)
		assert.NotContains(t, w.Body.String(), "S3CR3T")
		if c.code != "" {
			assert.NotEmpty(t, envelope.Message)
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			assert.Empty(t, w.Header().Get("ETag"))
		}
	}
	w := do(handler(t, hostWide), "DELETE", "/v1/agents", "acme")
	assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

func TestHandlerConditionalRequests(t *testing.T) {
	h := handler(t, hostWide)
	for _, path := range []string{"/v1/agents", "/v1/agents/acme.b"} {
		full := do(h, "GET", path, "acme")
		tag := full.Header().Get("ETag")
		assert.Regexp(t, `^"[0-9a-f]{32}"$`, tag)
		assert.Equal(t, "private, no-cache", full.Header().Get("Cache-Control"))
		assert.Equal(t, tag, do(h, "GET", path, "acme").Header().Get("ETag"), "the same again")

		head := do(h, "HEAD", path, "acme")
		assert.Equal(t, http.StatusOK, head.Code)
		assert.Equal(t, full.Header(), head.Header())
		assert.Empty(t, head.Body.String())
		assert.NotEmpty(t, head.Header().Get("Content-Length"))

		for _, condition := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			w := do(h, "GET", path, "acme", "If-None-Match", condition)
			assert.Equal(t, http.StatusNotModified, w.Code, condition)
			assert.Empty(t, w.Body.String())
			assert.Equal(t, tag, w.Header().Get("ETag"))
		}
		assert.Equal(t, http.StatusOK, do(h, "GET", path, "acme", "If-None-Match", `"x"`).Code)
	}
	// Another list, another tag.
	list := do(h, "GET", "/v1/agents", "acme").Header().Get("ETag")
	assert.NotEqual(t, list, do(h, "GET", "/v1/agents", "globex").Header().Get("ETag"))
	// Degradation is part of it.
	h.Host = model(t, strings.Replace(hostWide, `{"agents"`, `{"memory":{"supported":true},"agents"`, 1))
	assert.NotEqual(t, list, do(h, "GET", "/v1/agents", "acme").Header().Get("ETag"))
	// A condition does not tell whether a foreign agent exists.
	w := do(h, "GET", "/v1/agents/globex.a", "acme", "If-None-Match", "*")
	assert.Equal(t, http.StatusNotFound, w.Code)
}

// The handler through a real server and mux, with the prefix patterns of the package
// comment.
func TestHandlerServed(t *testing.T) {
	mux := http.NewServeMux()
	h := handler(t, hostWide)
	mux.Handle("/v1/agents", h)
	mux.Handle("/v1/agents/", h)
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, status := range map[string]int{
		"/v1/agents": 200, "/v1/agents/core.shared": 200, "/v1/agents/globex.a": 404, "/v1/agents/": 404,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r, err := http.NewRequest(method, server.URL+path, nil)
			require.NoError(t, err)
			response, err := server.Client().Do(r)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, status, response.StatusCode, path)
		}
	}
}

func TestHandlerInVersion2(t *testing.T) {
	h := handler(t, hostWide)
	h.Wire.Version = wire.V2
	assert.Equal(t, []string{"core.shared"}, ids(t, do(h, "GET", "/agents", "")))
	assert.Equal(t, http.StatusOK, do(h, "GET", "/agents/core.shared", "").Code)
	assert.Equal(t, http.StatusNotFound, do(h, "GET", "/v1/agents", "").Code)
	assert.Equal(t, http.StatusNotFound, do(h, "DELETE", "/agents", "").Code)
	h.Host = model(t, `{}`)
	assert.Equal(t, http.StatusNotFound, do(h, "GET", "/agents", "").Code, "what is not advertised is not found")
}

// A refusal in the host's own words goes out as it is.
func TestHandlerWithBearer(t *testing.T) {
	h := handler(t, hostWide)
	h.Tenant = wire.Bearer(map[string]string{"token": "acme"})
	w := do(h, "GET", "/v1/agents", "", "Authorization", "Bearer token")
	assert.Equal(t, []string{"acme.a", "acme.b", "acme.x/y z", "core.shared"}, ids(t, w))
	w = do(h, "GET", "/v1/agents", "", "Authorization", "Bearer other")
	assert.Equal(t, http.StatusUnauthorized, w.Code)
	assert.Contains(t, w.Body.String(), `"error":"unauthenticated"`)
}
