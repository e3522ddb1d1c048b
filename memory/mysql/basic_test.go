package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBasic(t *testing.T) {
	st := openDB(t).Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("1")))
	require.Len(t, list(t, st, home), 1)
}
