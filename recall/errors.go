package recall

import (
	"context"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// pkg begins the texts of this package's errors.
const pkg = "recall"

func invalid(rule string) error { return memory.ErrValidation.In(pkg, rule, nil) }

func internal(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) }

// hostFailed is the error of a part of the host; that of the caller's context stays as it is.
func hostFailed(ctx context.Context, part string, err error) error {
	return hostcall.Failed(ctx, part, err, internal)
}
