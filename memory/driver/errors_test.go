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
		require.Equal(t, driver.CodeInternal, driver.CodeOf(fmt.Errorf("host: %w", err)))
		known := (*driver.Error)(nil)
		require.ErrorAs(t, err, &known)
		require.Equal(t, pkg, known.Package())
		require.Equal(t, "the planner failed", known.ContentFree())
	}
	require.Equal(t, driver.ErrDeleted.With("detail", cause), driver.ErrDeleted.In("", "detail", cause))
}

type foreign string

func (e foreign) Error() string { return "canary" }
func (e foreign) Code() string  { return string(e) }

// A package that does not import this one carries its code by a method of the same name.
func TestM2_ForeignCodesCountIfTheProtocolKnowsThem(t *testing.T) {
	require.Equal(t, driver.CodeSecretLeakage, driver.CodeOf(fmt.Errorf("host: %w", foreign("secret_leakage"))))
	require.Equal(t, driver.CodeInternal, driver.CodeOf(foreign("canary_code")))
}
