package workspace

import (
	"fmt"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// conflict says that a file is not as the writer knows it; current is its version, 0 if there is none.
func conflict(current int64) error {
	return &wire.Error{Kind: wire.CodeWorkspaceConflict, Message: "workspace: the file has another version", Details: map[string]any{"currentVersion": current}}
}

func tooLarge(limit int) error {
	return &wire.Error{Kind: wire.CodeWorkspaceTooLarge, Message: fmt.Sprintf("workspace: a file may have %d bytes", limit), Details: map[string]any{"limit": limit}}
}

func tooMany(limit int) error {
	return &wire.Error{Kind: memory.CodeStorageLimit, Message: fmt.Sprintf("workspace: there may be %d files", limit), Details: map[string]any{"service": "workspace", "limit": limit}}
}

var (
	errNotFound = memory.ErrNotFound.In(pkg, "no such file", nil)
	errJob      = invalid("the job is nil: open one by Bank.Background or Bank.Pass")
	errPath     = invalid("the path is not up to 256 letters, digits and . _ - / that begin with a letter or digit and have no empty, . or .. part")
	errRendered = memory.ErrForbidden.In(pkg, "the file at Config.IndexPath is rendered and cannot be changed", nil)
	errFormat   = memory.ErrInternal.In(pkg, "the file was written by a newer version of this package", nil)
	errSecret   = memory.ErrSecretLeakage.In(pkg, "the content type holds a secret", nil)
)

const pkg = "workspace"

func invalid(rule string) error { return memory.ErrValidation.In(pkg, rule, nil) }
