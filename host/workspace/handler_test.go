package workspace_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const root = "/v1/host/workspace/files"

func (h *host) handler(w *workspace.Workspace) *workspace.Handler {
	tenant := wire.Bearer(map[string]string{"a": "acme", "g": "globex"})
	return &workspace.Handler{Workspace: w, Wire: wire.Encoder{Version: wire.V1}, Job: func(r *http.Request) (*memory.Job, error) {
		t, err := tenant(r)
		if err != nil {
			return nil, err
		}
		return h.job(t), nil
	}}
}

func do(h http.Handler, token, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// inShape checks an answer against the protocol's WorkspaceFile, which is closed.
func inShape(t *testing.T, raw []byte, content bool) map[string]any {
	t.Helper()
	var f map[string]any
	require.NoError(t, json.Unmarshal(raw, &f))
	rest := map[string]bool{}
	for name := range f {
		rest[name] = true
	}
	for _, name := range []string{"path", "contentType", "etag", "updatedAt"} {
		assert.IsType(t, "", f[name], name)
		delete(rest, name)
	}
	assert.GreaterOrEqual(t, f["version"], float64(1))
	delete(rest, "version")
	if content {
		assert.IsType(t, "", f["content"])
		delete(rest, "content")
	}
	assert.Empty(t, rest)
	return f
}

func TestHandler_CreateReadListDelete(t *testing.T) {
	h := newHost(t).handler(newWorkspace(t, workspace.Config{}))
	file := root + "/" + url.PathEscape("behavior/CRUD.md")
	made := do(h, "a", "PUT", file, `{"content":"first body"}`)
	require.Equal(t, 200, made.Code, made.Body)
	f := inShape(t, made.Body.Bytes(), true)
	assert.Equal(t, float64(1), f["version"])
	assert.Equal(t, f["etag"], made.Header().Get("ETag"))

	got := do(h, "a", "GET", root+"/behavior/CRUD.md", "")
	assert.Equal(t, "first body", inShape(t, got.Body.Bytes(), true)["content"])
	assert.Equal(t, 200, do(h, "a", "HEAD", file, "").Code)

	var list struct{ Files []json.RawMessage }
	require.NoError(t, json.Unmarshal(do(h, "a", "GET", root+"?prefix=behavior/", "").Body.Bytes(), &list))
	require.Len(t, list.Files, 1)
	inShape(t, list.Files[0], false)
	assert.JSONEq(t, `{"files":[]}`, do(h, "a", "GET", root+"?prefix=other", "").Body.String())

	stale := do(h, "a", "PUT", file, `{"content":"nope"}`, "If-Match", `"definitely-stale"`)
	assert.Equal(t, 409, stale.Code)
	assert.JSONEq(t, `{"error":"workspace_conflict","message":"workspace: the file has another version","details":{"currentVersion":1}}`, stale.Body.String())
	assert.Equal(t, 409, do(h, "a", "PUT", file, `{"content":"nope"}`, "If-None-Match", "*").Code)
	second := do(h, "a", "PUT", file, `{"content":"second","contentType":"text/plain"}`, "If-Match", made.Header().Get("ETag"))
	assert.Equal(t, float64(2), inShape(t, second.Body.Bytes(), true)["version"])
	assert.Equal(t, "first body", inShape(t, do(h, "a", "GET", file+"?version=1", "").Body.Bytes(), true)["content"])
	assert.Equal(t, 404, do(h, "a", "GET", file+"?version=7", "").Code)
	assert.Equal(t, 400, do(h, "a", "GET", file+"?version=0", "").Code)

	assert.Equal(t, 204, do(h, "a", "DELETE", file, "").Code)
	assert.Equal(t, 404, do(h, "a", "GET", file, "").Code)
	assert.Equal(t, 404, do(h, "a", "DELETE", file, "").Code)
}

// WCT-1: to every request of another tenant a file looks like one that is not there.
func TestM1_HandlerShowsNothingOfAnotherTenant(t *testing.T) {
	h := newHost(t).handler(newWorkspace(t, workspace.Config{}))
	require.Equal(t, 200, do(h, "a", "PUT", root+"/mine.md", `{"content":"ours"}`).Code)
	for _, call := range [][2]string{{"GET", ""}, {"GET", "?version=1"}, {"DELETE", ""}, {"HEAD", ""}} {
		foreign := do(h, "g", call[0], root+"/mine.md"+call[1], "")
		absent := do(h, "g", call[0], root+"/none.md"+call[1], "")
		assert.Equal(t, 404, foreign.Code)
		assert.Equal(t, absent.Body.String(), foreign.Body.String())
		assert.Equal(t, absent.Header(), foreign.Header())
	}
	assert.JSONEq(t, `{"files":[]}`, do(h, "g", "GET", root+"?tenant=acme", "").Body.String())
	assert.Equal(t, 409, do(h, "g", "PUT", root+"/mine.md", `{"content":"x"}`, "If-Match", "*").Code)
	assert.Equal(t, 200, do(h, "g", "PUT", root+"/mine.md", `{"content":"theirs"}`).Code)
	assert.Contains(t, do(h, "a", "GET", root+"/mine.md", "").Body.String(), "ours")
	assert.Equal(t, 401, do(h, "x", "GET", root, "").Code)
}

func TestHandler_Refusals(t *testing.T) {
	w := newWorkspace(t, workspace.Config{MaxFileBytes: 100})
	h := newHost(t).handler(w)
	for _, c := range []struct {
		method, target, body string
		status               int
		code                 string
	}{
		{"PUT", root + "/a", `{"content":"` + strings.Repeat("x", 101) + `"}`, 413, "workspace_too_large"},
		{"PUT", root + "/a", `{"content":"` + strings.Repeat("x", 10000) + `"}`, 413, "workspace_too_large"},
		{"PUT", root + "/a", `{}`, 400, "validation_error"},
		{"PUT", root + "/a", `{"content":1}`, 400, "validation_error"},
		{"PUT", root + "/a", `{"content":"","version":3}`, 400, "validation_error"},
		{"PUT", root + "/a%2F..%2Fb", `{"content":""}`, 400, "validation_error"},
		{"PUT", root + "/", `{"content":""}`, 400, "validation_error"},
		{"PUT", root, `{"content":""}`, 405, "validation_error"},
		{"PATCH", root + "/a", `{"content":""}`, 405, "validation_error"},
		{"GET", root + "/a%2F..%2Fb", "", 404, "not_found"},
		{"GET", root + "/%00", "", 404, "not_found"},
		{"GET", root + "x", "", 404, "not_found"},
		{"GET", "/host/workspace/files", "", 404, "not_found"},
	} {
		got := do(h, "a", c.method, c.target, c.body)
		assert.Equal(t, c.status, got.Code, "%s %s: %s", c.method, c.target, got.Body)
		assert.Contains(t, got.Body.String(), `"error":"`+c.code+`"`)
	}
	h = newHost(t).handler(w)
	h.Wire.Version = wire.V2
	for _, target := range []string{root, "/host/workspace/files", "/host/workspace/files/a"} {
		assert.Equal(t, 404, do(h, "a", "GET", target, "").Code, "version 2 has no path for files")
	}
}

func TestWSR1_HandlerStoresTheMarker(t *testing.T) {
	host := newHost(t)
	h := host.handler(newWorkspace(t, workspace.Config{}))
	h.Subjects = func(r *http.Request, path string) []string { return []string{"path:" + path} }
	body, err := json.Marshal(map[string]string{"content": "the key is " + secret + `, "quoted"`})
	require.NoError(t, err)
	made := do(h, "a", "PUT", root+"/k.md", string(body))
	assert.Equal(t, `the key is [REDACTED:key-0], "quoted"`, inShape(t, made.Body.Bytes(), true)["content"])
	assert.NotContains(t, do(h, "a", "GET", root+"/k.md", "").Body.String(), secret)
	_, err = host.Forget(t.Context(), "acme", "path:k.md")
	require.NoError(t, err)
	assert.Equal(t, 404, do(h, "a", "GET", root+"/k.md", "").Code)
	assert.Equal(t, 404, do(h, "a", "GET", root+"/k.md?version=1", "").Code)
}

func ExampleHandler() {
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	files, err := workspace.New(workspace.Config{})
	if err != nil {
		log.Fatal(err)
	}
	tenant := wire.Bearer(map[string]string{"a-token": "acme"})
	h := &workspace.Handler{Workspace: files, Wire: wire.Encoder{Version: wire.V1}, Job: func(r *http.Request) (*memory.Job, error) {
		t, err := tenant(r)
		if err != nil {
			return nil, err
		}
		secrets := redact.New(redact.Config{}) // with the tenant's own
		return bank.Background(memory.JobConfig{ID: "workspace", Tenant: t, Redactor: secrets})
	}}
	r := httptest.NewRequest("PUT", "/v1/host/workspace/files/notes/today.md", strings.NewReader(`{"content":"# Today"}`))
	r.Header.Set("Authorization", "Bearer a-token")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("ETag"))
	// Output:
	// 200 "a2623c1f338ef70a675cdfc3090b328a"
}
