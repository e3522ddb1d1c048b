package inmem

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// A tenant is dropped by parts of the size that the call asks for.
func TestM7_DropTenantKeepsToItsLimit(t *testing.T) {
	st, s := New(), driver.Scope{Tenant: "acme", Ref: "m"}
	for i := range 5 {
		require.NoError(t, st.Put(t.Context(), s, driver.Entry{ID: fmt.Sprint(i), Content: "x", CreatedAt: time.UnixMilli(1)}))
	}
	for left := 5; left > 2; left -= 2 {
		more, err := st.DropTenant(t.Context(), "acme", 2)
		require.NoError(t, err)
		require.True(t, more)
		found, err := st.List(t.Context(), s, driver.Query{})
		require.NoError(t, err)
		require.Len(t, found, left-2)
	}
	more, err := st.DropTenant(t.Context(), "acme", 2)
	require.NoError(t, err)
	require.False(t, more)
}
