package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/redact"
)

// Under Reject a text that is stored already can be cleaned all the same, and the error
// of a find is told from that of a closed registry.
func TestR1_RemoveCleansUnderReject(t *testing.T) {
	r := redact.New(redact.Config{Policy: redact.Reject})
	require.NoError(t, r.Register("key", []byte("s3cr3t-value-1")))
	_, err := r.Redact("the key is s3cr3t-value-1")
	var found *redact.Error
	require.ErrorAs(t, err, &found)
	require.True(t, found.SecretFound())
	out, err := r.Remove("the key is s3cr3t-value-1, token ghp_0123456789abcdefghijABCDEFGHIJ012345")
	require.NoError(t, err)
	require.NotContains(t, out, "s3cr3t-value-1")
	require.NotContains(t, out, "ghp_0123456789")
	require.NoError(t, r.Close())
	_, err = r.Remove("anything")
	require.ErrorAs(t, err, &found)
	require.False(t, found.SecretFound())
}
