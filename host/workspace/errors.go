package workspace

import (
	"fmt"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// ConflictError says that a file is not as the writer knows it. Nothing was written.
type ConflictError struct {
	// CurrentVersion is the file's; 0 if there is none.
	CurrentVersion int64
}

// Error names the rule.
func (e *ConflictError) Error() string { return "workspace: the file has another version" }

// Code is workspace_conflict.
func (e *ConflictError) Code() memory.Code { return wire.CodeWorkspaceConflict }

// Details is what the error envelope carries.
func (e *ConflictError) Details() map[string]any {
	return map[string]any{"currentVersion": e.CurrentVersion}
}

// LimitError says that a file is too long, or that there are too many. Nothing was written.
type LimitError struct {
	// Limit is the one that was reached, of bytes or of files.
	Limit int
	files bool
}

// Error names the limit.
func (e *LimitError) Error() string {
	if e.files {
		return fmt.Sprintf("workspace: there may be %d files", e.Limit)
	}
	return fmt.Sprintf("workspace: a file may have %d bytes", e.Limit)
}

// Code is workspace_too_large for bytes, and storage_limit_exceeded for files.
func (e *LimitError) Code() memory.Code {
	if e.files {
		return memory.CodeStorageLimit
	}
	return wire.CodeWorkspaceTooLarge
}

// Details is what the error envelope carries.
func (e *LimitError) Details() map[string]any { return map[string]any{"limit": e.Limit} }

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
