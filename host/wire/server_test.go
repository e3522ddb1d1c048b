package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

func ExampleEncoder() {
	var enc wire.Encoder // version 2
	tenant := wire.Bearer(map[string]string{"a-token": "acme"})
	mux := http.NewServeMux()
	mux.Handle("POST "+enc.Path("/runs"), enc.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := tenant(r); err != nil {
			return err
		}
		var body struct {
			WorkflowID string `json:"workflowId"`
		}
		if err := wire.Read(r, 0, &body); err != nil {
			return err
		}
		return wire.Reply(w, http.StatusCreated, map[string]string{"runId": "run-1"})
	}))
	server := enc.Routes(mux)

	for _, body := range []string{`{"workflowId": "greet"}`, `{"workflowId": 7}`} {
		r := httptest.NewRequest("POST", "/runs", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer a-token")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 201 {"runId":"run-1"}
	// 400 {"error":"validation_error","message":"the field is not a string","details":{"field":"workflowId"}}
}

type body struct {
	Name  string   `json:"name"`
	Count int64    `json:"count"`
	Tags  []string `json:"tags"`
	In    struct {
		On bool `json:"on"`
	} `json:"in"`
	More []*struct {
		K      map[string]int `json:"k"`
		At     time.Time      `json:"at"`
		Any    any            `json:"any"`
		Hidden int            `json:"-"`
	} `json:"more"`
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		body, want string // what is said of the body; empty for one that is read
	}{
		{`{"name":"a","count":3,"tags":["x"],"in":{"on":true}}`, ""},
		{" {}\n", ""},
		{``, "not a JSON object"},
		{`null`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`{"name":1}`, "name: the field is not a string"},
		{`{"count":1.5}`, "count: the field is not a number of its range"},
		{`{"count":1e400}`, "count: the field is not a number of its range"},
		{`{"tags":{}}`, "tags: the field is not a list"},
		{`{"in":{"on":"yes"}}`, "in.on: the field is not a boolean"},
		{`{"in":[]}`, "in: the field is not an object"},
		{`{"hunter2":1}`, "a field that is not known"},
		{`{"Name":"a"}`, "a field that is not known"},
		{`{"in":{"ON":true}}`, "a field that is not known"},
		{`{"name":"a","name":"b"}`, "a field twice"},
		{`{"name":"a","\u006eame":"b"}`, "a field twice"},
		{`{"in":{"on":true},"in":{}}`, "a field twice"},
		{`{"more":[{"k":{"a":1,"a":2}}]}`, "a field twice"},
		{`{"more":[{"hidden":1}]}`, "a field that is not known"},
		{`{"more":[{"k":{"a":1,"A":2},"at":"2026-01-01T00:00:00Z","any":{"x":1}}],"name":null}`, ""},
		{`{"more":[{"any":{"x":1,"x":2}}]}`, "a field twice"},
		{`{"name":"\ud83d"}`, "a lone surrogate"},
		{`{"name":"a\ude00b"}`, "a lone surrogate"},
		{`{"more":[{"any":{"\ud83dx":1}}]}`, "a lone surrogate"},
		{`{"name":"\ud83d\ude00 \\ud83d \ufffd"}`, ""},
		{`{"more":[{"any":9007199254740993}]}`, "an integer beyond 2^53-1"},
		{"{\"name\":\"a\xff\"}", "not JSON"},
		{`{"name":"a"} {}`, "not JSON"},
		{`{"name":"a"`, "not JSON"},
		{`{"name":"` + strings.Repeat("x", 200) + `"}`, "too long"},
	} {
		var v body
		err := wire.Read(httptest.NewRequest("POST", "/", strings.NewReader(c.body)), 150, &v)
		if c.want == "" {
			assert.NoError(t, err, c.body)
			continue
		}
		refused := (*wire.Error)(nil)
		require.ErrorAs(t, err, &refused, c.body)
		assert.Contains(t, fmt.Sprintf("%v: %s", refused.Details["field"], refused.Message), c.want, c.body)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

// A limit that the host has set on the body is one of its length too.
func TestReadOfALimitedBody(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"name":"more than ten bytes"}`))
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 10)
	refused := (*wire.Error)(nil)
	require.ErrorAs(t, wire.Read(r, 0, new(body)), &refused)
	assert.Equal(t, wire.CodePayloadTooLarge, refused.Kind)
	assert.Equal(t, int64(10), refused.Details["maxBytes"])
}

// A body of any bytes is read or refused with an envelope that holds none of them. What is read
// is what encoding/json reads of it, and has no other names at the top.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"name":"a","count":3}`))
	f.Add([]byte(`{"zzzq":1}`))
	f.Add([]byte("\f{}")) // white space, but not of JSON
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v body
		err := wire.Read(httptest.NewRequest("POST", "/", bytes.NewReader(raw)), 1<<10, &v)
		if err == nil {
			var want body
			strict := json.NewDecoder(bytes.NewReader(raw))
			strict.DisallowUnknownFields()
			require.NoError(t, strict.Decode(&want))
			require.Equal(t, want, v)
			var names map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(raw, &names))
			for _, known := range []string{"name", "count", "tags", "in", "more"} {
				delete(names, known)
			}
			require.Empty(t, names)
			require.True(t, utf8.Valid(raw) && len(raw) <= 1<<10)
			return
		}
		_, status := wire.Encoder{Version: wire.V1}.Envelope(err)
		if status != 400 && status != 413 {
			t.Fatalf("status %d", status)
		}
		if bytes.Contains(raw, []byte("zzzq")) && strings.Contains(err.Error(), "zzzq") {
			t.Fatal("the error holds a part of the body")
		}
	})
}

func TestBearer(t *testing.T) {
	tenant := wire.Bearer(map[string]string{"token-a": "acme", "token-b": "globex", "": "nobody"})
	for header, want := range map[string]string{
		"Bearer token-a": "acme", "bearer token-b": "globex", "Bearer token-c": "", "Bearer ": "", "Bearer": "",
		"": "", "Basic token-a": "", "token-a": "", "Bearer token-a ": "", "Bearer  token-a": "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		got, err := tenant(r)
		assert.Equal(t, want, got, header)
		if want == "" {
			envelope, status := wire.Encoder{Version: wire.V1}.Envelope(err)
			assert.Equal(t, 401, status, header)
			assert.Equal(t, wire.CodeUnauthenticated, envelope.Code)
		}
	}
}

func serve(enc wire.Encoder, method, target string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.Handle("GET /here", enc.Handle(func(w http.ResponseWriter, r *http.Request) error {
		switch r.FormValue("do") {
		case "fail":
			return errors.New(canary)
		case "late":
			if err := wire.Reply(w, 200, "begun"); err != nil {
				return err
			}
			return errors.New(canary)
		case "unauthenticated":
			return &wire.Error{Kind: wire.CodeUnauthenticated, Message: "no token"}
		case "unwritable":
			return wire.Reply(w, 200, func() {})
		}
		return wire.Reply(w, 200, "fine")
	}))
	mux.Handle("GET /tree/", enc.Handle(func(w http.ResponseWriter, r *http.Request) error { return wire.Reply(w, 200, "fine") }))
	w := httptest.NewRecorder()
	enc.Routes(mux).ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func TestEveryAnswerIsReplyOrEnvelope(t *testing.T) {
	for _, c := range []struct {
		method, target string
		v1, v2         int
	}{
		{"GET", "/here", 200, 200},
		{"HEAD", "/here", 200, 200},
		{"GET", "/here?do=fail", 500, 500},
		{"GET", "/here?do=late", 200, 200},
		{"GET", "/here?do=unauthenticated", 401, 401},
		{"GET", "/here?do=unwritable", 500, 500},
		{"POST", "/here", 405, 404},
		{"GET", "/there", 404, 404},
		{"HEAD", "/there", 404, 404},
		{"GET", "/tree", 307, 307},
		{"GET", "/tree/a", 200, 200},
	} {
		for version, want := range map[wire.Version]int{wire.V1: c.v1, wire.V2: c.v2} {
			var log bytes.Buffer
			enc := wire.Encoder{Version: version, Log: slog.New(slog.NewTextHandler(&log, nil))}
			w := serve(enc, c.method, c.target)
			assert.Equal(t, want, w.Code, "%s %s in version %d", c.method, c.target, version)
			raw, err := io.ReadAll(w.Body)
			require.NoError(t, err)
			if want >= 400 {
				assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
				assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				if c.method != "HEAD" {
					closed(t, raw)
				}
			}
			assert.NotContains(t, string(raw), "hunter2")
			assert.Equal(t, want == 401, w.Header().Get("WWW-Authenticate") != "")
			if want == 405 {
				assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
			}
			failed := want == 500 || strings.HasSuffix(c.target, "late")
			assert.Equal(t, failed, strings.Contains(log.String(), "code="+string(memory.CodeInternal)), "%s: %s", c.target, log.String())
		}
	}
}

func TestReplyIsWholeOrNothing(t *testing.T) {
	w := httptest.NewRecorder()
	assert.Error(t, wire.Reply(w, 201, map[string]any{"a": func() {}}))
	assert.Empty(t, w.Body.Bytes())
	w = httptest.NewRecorder()
	w.Header().Set("Cache-Control", "private")
	require.NoError(t, wire.Reply(w, 201, map[string]any{"a": 1}))
	assert.Equal(t, 201, w.Code)
	assert.Equal(t, "private", w.Header().Get("Cache-Control"))
	var back map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &back))
}

// What is sent after a flush, or on a connection that was taken over, is the handler's; an
// announcement before the answer is not the answer.
func TestHandle_AnswersOnce(t *testing.T) {
	var log bytes.Buffer
	enc := wire.Encoder{Version: wire.V1, Log: slog.New(slog.NewTextHandler(&log, nil))}
	get := func(serve func(w http.ResponseWriter) error) (int, string) {
		handler := enc.Handle(func(w http.ResponseWriter, _ *http.Request) error {
			require.NoError(t, serve(w))
			return errors.New(canary)
		})
		ended := make(chan struct{}) // a server does not wait for a connection that was hijacked
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			handler.ServeHTTP(w, r)
		}))
		defer server.Close()
		defer func() { <-ended }()
		res, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(raw)
	}
	status, text := get(func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() })
	assert.Equal(t, "200 ", fmt.Sprint(status, " ", text))
	status, text = get(func(w http.ResponseWriter) error {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
		return err
	})
	assert.Equal(t, "202 ok", fmt.Sprint(status, " ", text))
	status, text = get(func(w http.ResponseWriter) error {
		w.WriteHeader(http.StatusEarlyHints)
		return nil
	})
	assert.Equal(t, 500, status)
	closed(t, []byte(text))
	assert.Equal(t, 3, strings.Count(log.String(), "request failed"))
}

// What a handler has said of its answer does not hold for the refusal that goes out instead.
func TestRefuse_DropsTheHeadersOfTheAnswer(t *testing.T) {
	for _, method := range []string{"GET", "HEAD"} {
		w := httptest.NewRecorder()
		wire.Encoder{Version: wire.V1}.Handle(func(w http.ResponseWriter, _ *http.Request) error {
			for name, value := range map[string]string{"Content-Length": "3", "ETag": `"a"`, "Content-Encoding": "gzip", "Cache-Control": "public"} {
				w.Header().Set(name, value)
			}
			return memory.ErrNotFound
		}).ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		assert.Equal(t, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}, w.Header())
	}
}
