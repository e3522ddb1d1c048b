package distill

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// CodeTokenBudgetExceeded is the protocol's code for a budget that cannot be met
// (RFC 0062 §B).
const CodeTokenBudgetExceeded memory.Code = "token_budget_exceeded"

// BudgetError says that the sources cannot be distilled within the budget. Nothing
// was written.
type BudgetError struct {
	// Budget is the one that was in force, after clamping.
	Budget int
	// MinimumRequired is what would do. With the default summarizer it is exact:
	// this budget succeeds on the same sources, and none below it does. It may be
	// above what the host honours.
	MinimumRequired int
}

// Error gives both numbers.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("distill: token budget exceeded: the budget is %d, at least %d are required", e.Budget, e.MinimumRequired)
}

// Code is token_budget_exceeded.
func (e *BudgetError) Code() memory.Code { return CodeTokenBudgetExceeded }

// Details is what the error envelope carries.
func (e *BudgetError) Details() map[string]any {
	return map[string]any{"budget": e.Budget, "minimumRequired": e.MinimumRequired}
}

var (
	// ErrArchive: the bytes are not an intact archive of this package, or not the
	// one that was asked for.
	ErrArchive = errors.New("distill: not an intact archive")
	// ErrIndex: the head of a tenant's index is of a newer version of this package. It is
	// left as it is.
	ErrIndex = errors.New("distill: not a memory index of this version")
)

// invalid is bad input. The rule is a fixed phrase (M2).
func invalid(rule string) error { return fmt.Errorf("distill: %s: %w", rule, memory.ErrValidation) }

var errJob = invalid("the job is nil: open one by Bank.Background or Bank.Pass")

func leaks(what string) error { return fmt.Errorf("distill: %s: %w", what, memory.ErrSecretLeakage) }

// hostFailed is the error of a part of the host; that of the caller's context stays as it is.
func hostFailed(ctx context.Context, part string, err error) error {
	return hostcall.Failed(ctx, part, err, func(detail string, cause error) error { return memory.ErrInternal.In("distill", detail, cause) })
}
