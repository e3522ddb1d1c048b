package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/internal/jsonguard"
	"github.com/openwop/agentmemory/memory"
)

// DefaultMaxBody is the length in bytes of the longest request body that [Read] takes where
// the caller names no other: an entry of the default limit, escaped, fits twice.
const DefaultMaxBody = 1 << 20

// Handle returns a handler that answers with the envelope of the error that serve returns.
// If serve has begun its answer, the error comes too late and is only logged.
func (e Encoder) Handle(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &answerState{ResponseWriter: w}
		err := serve(begun, r)
		switch {
		case err == nil:
		case begun.begun:
			e.report(r, err)
		default:
			e.Refuse(w, r, err)
		}
	})
}

// answerState records whether an answer has begun.
type answerState struct {
	http.ResponseWriter
	begun bool
}

func (w *answerState) WriteHeader(status int) {
	w.begun = w.begun || status >= 200 || status == http.StatusSwitchingProtocols // others only announce
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerState) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// FlushError is what an http.ResponseController calls; it begins an answer.
func (w *answerState) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.begun = w.begun || !errors.Is(err, http.ErrNotSupported)
	return err
}

// Unwrap leads an http.ResponseController to the deadlines, and to the connection.
func (w *answerState) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Refuse answers a request with the envelope of an error.
func (e Encoder) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	envelope, status := e.Envelope(err)
	if status == http.StatusInternalServerError {
		e.report(r, err)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, status, envelope)
}

// RefuseMethod answers a request whose method a path does not have; allow is what it has, as
// the header Allow says it. It is validation_error with the status 405, and in version 2,
// which registers no code with that status, not_found.
func (e Encoder) RefuseMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	if e.Version != V1 {
		e.Refuse(w, r, &Error{Kind: memory.CodeNotFound, Message: noMethod})
		return
	}
	reply(w, http.StatusMethodNotAllowed, Envelope{Code: memory.CodeValidation, Message: noMethod})
}

const noMethod = "the path does not have this method"

// Unadvertised is the refusal of an operation whose family the host does not advertise:
// capability_not_provided in version 1, not_found in version 2.
func (e Encoder) Unadvertised(message string) *Error {
	if e.Version != V1 {
		return &Error{Kind: memory.CodeNotFound, Message: message}
	}
	return &Error{Kind: memory.CodeNotProvided, Message: message}
}

func (e Encoder) report(r *http.Request, err error) {
	if e.Log == nil {
		return
	}
	_, _ = hostcall.Inline("the logger", func() (struct{}, error) { // its failure has no other place to go
		e.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern,
			"code", memory.CodeOf(err), "error", err)
		return struct{}{}, nil
	})
}

// Reply answers with a status and the JSON form of body. A body that has none is an error,
// and nothing has been sent.
func Reply(w http.ResponseWriter, status int, body any) error {
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, err := w.Write(raw.Bytes())
	return err
}

// ReplyTagged answers a GET or HEAD with the JSON form of body and an ETag, or with 304 if the client has
// it. The client asks each time, unless the answer has a Cache-Control already. A body that has none is an error, and nothing has been sent.
func ReplyTagged(w http.ResponseWriter, r *http.Request, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "private, no-cache")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(raw))
	return nil
}

// reply answers with an envelope. What a handler has said of the answer that it meant to give
// does not hold for this one.
func reply(w http.ResponseWriter, status int, body any) {
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified"} {
		w.Header().Del(name)
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = Reply(w, status, body) // the client has gone
}

// Mux returns a handler that serves routes by their patterns, which are those of [http.ServeMux], as
// [Encoder.Handle] and [Encoder.Routes] do.
func (e Encoder) Mux(routes map[string]func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range routes {
		mux.Handle(pattern, e.Handle(serve))
	}
	return e.Routes(mux)
}

// Routes returns a handler that serves mux, and answers with an envelope where mux has no
// route: not_found, or for a method that the path does not have what
// [Encoder.RefuseMethod] says.
func (e Encoder) Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allow []string
		for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "" {
				allow = append(allow, method)
			}
		}
		if len(allow) > 0 {
			e.RefuseMethod(w, r, strings.Join(allow, ", "))
			return
		}
		e.Refuse(w, r, &Error{Kind: memory.CodeNotFound, Message: "there is nothing at this path"})
	})
}

// Read reads the JSON object in the body of a request into v, a pointer to a struct, as
// strictly as a closed schema: a field that v does not have by that very name, a field of another
// type, and anything after the object are validation_error, whose details.field names the field
// where it is one of v's. So is what RFC 7493 refuses, at any depth: a field twice, a lone
// surrogate, an integer beyond 2^53-1. Null is a field that is absent. A body longer than max bytes
// (0: [DefaultMaxBody]) is payload_too_large.
func Read(r *http.Request, max int64, v any) error {
	if max <= 0 {
		max = DefaultMaxBody
	}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, max))
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) { // the host may have a limit of its own
		return &Error{Kind: CodePayloadTooLarge, Message: "the body is too long", Details: map[string]any{"maxBytes": long.Limit}}
	}
	if err != nil {
		return &Error{Kind: memory.CodeValidation, Message: "the body did not arrive as a whole"}
	}
	if raw = bytes.Trim(raw, " \t\r\n"); len(raw) == 0 || raw[0] != '{' {
		return &Error{Kind: memory.CodeValidation, Message: "the body is not a JSON object"}
	}
	err = json.NewDecoder(bytes.NewReader(raw)).Decode(v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		return Invalid(wrong.Field, "the field is not "+kindName(wrong.Type))
	}
	value, strict := jsonguard.Decode(raw, len(raw))
	if strict != nil {
		return &Error{Kind: memory.CodeValidation, Message: "the body " + strict.Error()}
	}
	if err != nil {
		return &Error{Kind: memory.CodeValidation, Message: "the body does not have the form of the request"}
	}
	if !hasKnownFields(value, reflect.TypeOf(v)) { // the name is the client's text
		return &Error{Kind: memory.CodeValidation, Message: "the body has a field that is not known"}
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// hasKnownFields reports whether the objects in a value that was decoded into a type have only names of
// the type's fields, spelt as they are: the decoder of encoding/json looks at no letter's case.
func hasKnownFields(value any, t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return true // it has checked itself
	}
	switch v := value.(type) {
	case []any:
		return t.Kind() != reflect.Slice || !slices.ContainsFunc(v, func(item any) bool { return !hasKnownFields(item, t.Elem()) })
	case map[string]any:
		fields := fieldsOf(t)
		for name, inner := range v {
			of := fields[name]
			if t.Kind() == reflect.Map {
				of = t.Elem()
			}
			if t.Kind() != reflect.Interface && (of == nil || !hasKnownFields(inner, of)) {
				return false
			}
		}
	}
	return true
}

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && f.IsExported() && !f.Anonymous {
			fields[cmp.Or(name, f.Name)] = f.Type
		}
	}
	return fields
}

// kindName names a type as JSON does, with its article.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "a number of its range"
}

// Caller returns the tenant of a request as a function of the host tells it, such as that of [Bearer].
// The function has memory.PluginTimeout. An [*Error] of it stays as it is, and another is forbidden.
func Caller(r *http.Request, tenant func(*http.Request) (string, error)) (string, error) {
	if tenant == nil {
		return "", nil
	}
	ctx := r.Context()
	t, err := hostcall.Call(ctx, "the source of tenants", memory.PluginTimeout, func(ctx context.Context) (string, error) { return tenant(r.WithContext(ctx)) })
	if own := (*Error)(nil); errors.As(err, &own) {
		return "", own
	}
	if err != nil && err != ctx.Err() && !hostcall.Misbehaved(err) {
		return "", ErrNoTenant
	}
	return t, err
}

// ErrNoTenant refuses a caller who has no tenant at the host.
var ErrNoTenant = &Error{Kind: memory.CodeForbidden, Message: "the caller has no tenant here"}

// Bearer returns a function that finds the tenant of a request by its bearer token (RFC 6750): tokens
// maps each token to a tenant. A request without a token, or with another, is
// unauthenticated. Tokens are looked up by their digests, so that how long it takes tells nothing of them.
func Bearer(tokens map[string]string) func(r *http.Request) (tenant string, err error) {
	tenants := map[[sha256.Size]byte]string{}
	for token, tenant := range tokens {
		tenants[sha256.Sum256([]byte(token))] = tenant
	}
	return func(r *http.Request) (string, error) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		tenant, ok := tenants[sha256.Sum256([]byte(token))]
		if !ok || token == "" || !strings.EqualFold(scheme, "Bearer") {
			return "", &Error{Kind: CodeUnauthenticated, Message: "a valid bearer token is required"}
		}
		return tenant, nil
	}
}
