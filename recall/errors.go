package recall

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// failure is an error of this package: a class of package memory and a fixed phrase. What a
// part of the host said is reachable by errors.Unwrap only.
type failure struct {
	kind  error
	text  string
	cause error
}

func (f *failure) Error() string        { return "recall: " + f.text }
func (f *failure) Is(target error) bool { return target == f.kind }
func (f *failure) Code() memory.Code    { return memory.CodeOf(f.kind) }
func (f *failure) Unwrap() error        { return f.cause }

// ContentFree returns the text without the name of this package: a bank's error says it.
func (f *failure) ContentFree() string { return f.text }

func fail(kind error, text string, cause error) error { return &failure{kind, text, cause} }

// hostFailed is the error of a part of the host; that of the caller's context stays as it is, and
// so does one of this package.
func hostFailed(ctx context.Context, part string, err error) error {
	if own := (*failure)(nil); err == nil || err == ctx.Err() || errors.As(err, &own) {
		return err
	}
	return fail(memory.ErrInternal, hostcall.Describe(part, err), err)
}
