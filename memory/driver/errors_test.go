package driver_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// An error of a class is one type, whichever package makes it: the text names the package, the code
// and the class are the kind's, and what a part of the host said is reachable by Unwrap only.
func TestM2_ErrorsOfEveryPackageAreOfOneType(t *testing.T) {
	cause := fmt.Errorf("canary: %w", io.EOF)
	for pkg, text := range map[string]string{"": "memory: internal failure: the planner failed", "consolidate": "consolidate: the planner failed"} {
		err := driver.ErrInternal.In(pkg, "the planner failed", cause)
		require.EqualError(t, err, text)
		require.ErrorIs(t, err, driver.ErrInternal)
		require.NotErrorIs(t, err, driver.ErrConflict)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, cause, errors.Unwrap(err))
		known := (*driver.Error)(nil)
		require.ErrorAs(t, fmt.Errorf("host: %w", err), &known)
		require.Equal(t, driver.CodeInternal, known.Code())
		require.Equal(t, pkg, known.Package())
		require.Equal(t, "the planner failed", known.ContentFree())
	}
	require.Equal(t, driver.ErrDeleted.With("detail", cause), driver.ErrDeleted.In("", "detail", cause))
}
