package distill

import (
	"fmt"

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

// pkg begins the texts of this package's errors.
const pkg = "distill"

var (
	// ErrArchive: the bytes are not an intact archive of this package, or not the
	// one that was asked for.
	ErrArchive = internal("not an intact archive", nil)
	// ErrNewerFormat: the head of a tenant's index was written by a newer version of this
	// package. It is left as it is.
	ErrNewerFormat = internal("the head of the index was written by a newer version of this package", nil)

	errJob = invalid("the job is nil: open one by Bank.Background or Bank.Pass")
	// errUnclean: the redactor finds in an archive today what it did not find when it was made.
	errUnclean = leaks("the archive holds what is a secret today")
)

func invalid(detail string) error { return memory.ErrValidation.In(pkg, detail, nil) }

func internal(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) }

func leaks(detail string) error { return memory.ErrSecretLeakage.In(pkg, detail, nil) }

// broken matches [ErrArchive].
func broken(rule string) error { return internal("the archive "+rule, ErrArchive) }
