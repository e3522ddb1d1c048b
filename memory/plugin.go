package memory

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// PluginTimeout is how long one call of a part that a host plugs in, such as a sink, a
// resolver or a redactor, may take. After that the call counts as failed; what it does later
// has no effect on memory.
const PluginTimeout = 30 * time.Second

// hostName asks a part of the host for a name, in place.
func hostName(part string, name func() string) (string, error) {
	is, err := hostcall.Inline(part, func() (string, error) { return name(), nil })
	return is, hostFailed(context.Background(), part, err)
}

// hostFailed is the error of a call of a part of the host: that of the caller's context as
// it is, and any other as [ErrInternal] that names the part.
func hostFailed(ctx context.Context, part string, err error) error {
	return hostcall.Failed(ctx, part, err, func(detail string, cause error) error { return failWith(ErrInternal, detail, cause) })
}
