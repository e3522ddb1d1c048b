package workspace

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Handler serves /v1/host/workspace/files and what is below (RFC 0059 §C):
//
//	GET    …/files?prefix=         {"files": […]} without content
//	GET    …/files/{path}?version= a WorkspaceFile
//	PUT    …/files/{path}          {"content", "contentType"?}, with If-Match or If-None-Match: *
//	DELETE …/files/{path}          204, with If-Match
//
// A path may be percent-encoded whole. Version 2 of the protocol has no path for files but that of its
// conformance seams (Encoder.Files). The fields are not to be changed once it serves. A call of one
// of its functions has memory.PluginTimeout and the request's context; if it panics or takes
// longer, the answer is internal_error.
type Handler struct {
	Workspace *Workspace
	// Job returns a job of the caller's tenant, as its credentials say, whose redactor holds
	// the tenant's secrets. The handler ends it. A *wire.Error is answered as it says.
	Job func(r *http.Request) (*memory.Job, error)
	// Subjects, if set, labels the version that a request writes, for memory.Bank.Forget.
	Subjects func(r *http.Request, path string) []string
	// Wire is of the protocol's version that the handler speaks.
	Wire wire.Encoder

	once   sync.Once
	routes http.Handler
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		all := h.Wire.Files("")
		one := all + "/{path...}"
		h.routes = h.Wire.Mux(map[string]func(http.ResponseWriter, *http.Request) error{
			all: func(w http.ResponseWriter, r *http.Request) error { // or it would be sent to the path with a slash
				h.Wire.RefuseMethod(w, r, "GET, HEAD")
				return nil
			},
			"GET " + all: h.forCaller(h.list), "GET " + one: h.forCaller(h.get), "PUT " + one: h.forCaller(h.put), "DELETE " + one: h.forCaller(h.delete),
		})
	})
	h.routes.ServeHTTP(w, r)
}

// forCaller answers by a job of the caller's tenant.
func (h *Handler) forCaller(answer func(http.ResponseWriter, *http.Request, *memory.Job) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx := r.Context()
		job, err := hostcall.Call(ctx, "the source of jobs", memory.PluginTimeout, func(ctx context.Context) (*memory.Job, error) { return h.Job(r.WithContext(ctx)) })
		if err == nil && job == nil {
			err = memory.ErrInternal.In(pkg, "Handler.Job returned no job", nil)
		}
		if err != nil {
			return err
		}
		defer job.End(ctx) // events that the sink has not taken yet are relayed later
		return answer(w, r, job)
	}
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, job *memory.Job) error {
	files, err := h.Workspace.List(r.Context(), job, r.URL.Query().Get("prefix"))
	if err != nil {
		return err
	}
	rows := make([]row, len(files))
	for i, f := range files {
		rows[i] = row{File: f}
	}
	return wire.Reply(w, http.StatusOK, map[string]any{"files": rows})
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, job *memory.Job) (err error) {
	version := int64(0)
	if asked := r.URL.Query().Get("version"); asked != "" {
		if version, err = strconv.ParseInt(asked, 10, 64); err != nil || version < 1 {
			return wire.Invalid("version", "the version is not a number above 0")
		}
	}
	f, err := h.Workspace.Read(r.Context(), job, r.PathValue("path"), version)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", f.ETag)
	return wire.Reply(w, http.StatusOK, f)
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request, job *memory.Job) error {
	if _, err := h.Workspace.Delete(r.Context(), job, r.PathValue("path"), r.Header.Get("If-Match")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// row is a WorkspaceFile without its content.
type row struct {
	File
	Content string `json:"content,omitempty"` // hides the file's
}

func (h *Handler) put(w http.ResponseWriter, r *http.Request, job *memory.Job) error {
	path := r.PathValue("path")
	var body struct {
		Content     *string `json:"content"`
		ContentType string  `json:"contentType"`
	}
	// JSON may write a byte as six, and the object around them is small.
	err := wire.Read(r, 6*int64(h.Workspace.cfg.MaxFileBytes)+1<<12, &body)
	if long := (*wire.Error)(nil); errors.As(err, &long) && long.Kind == wire.CodePayloadTooLarge {
		return tooLarge(h.Workspace.cfg.MaxFileBytes)
	}
	if err != nil {
		return err
	}
	if body.Content == nil {
		return wire.Invalid("content", "the content is missing")
	}
	none := r.Header.Get("If-None-Match")
	if none != "" && none != "*" {
		return wire.Invalid("If-None-Match", "only * is known here")
	}
	d := Draft{
		Path: path, Content: *body.Content, ContentType: body.ContentType,
		IfMatch: r.Header.Get("If-Match"), IfNoneMatch: none == "*",
	}
	if h.Subjects != nil {
		subjects := func(ctx context.Context) ([]string, error) { return h.Subjects(r.WithContext(ctx), path), nil }
		if d.Subjects, err = hostcall.Call(r.Context(), "the source of subjects", memory.PluginTimeout, subjects); err != nil {
			return err
		}
	}
	f, err := h.Workspace.Write(r.Context(), job, d)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", f.ETag)
	return wire.Reply(w, http.StatusOK, f)
}
