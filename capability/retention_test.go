package capability_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/distill"
)

// A1, D5: what a host says of how long archives are kept is what it gave the
// distiller, and not what a month or a year is at least.
func TestA1_D5_RetentionIsAdvertisedAsItWasGiven(t *testing.T) {
	advertised := []string{"memory", "distillation", "archiveRetention"}
	for _, given := range []string{"P1M", "P1Y", "P1Y2M3D", "P2W", "P90D", "PT36H", "P1DT1.5S", "P400Y", "P9999Y"} {
		runner, err := distill.New(distill.Config{ArchiveRetention: given})
		require.NoError(t, err)
		in := everything(t)
		in.Distiller = runner
		assert.Equal(t, given, at(fields(t, derive(t, in)), advertised...))

		// To declare the same is no claim too many.
		in.Declare = []byte(`{"memory":{"distillation":{"supported":true,"archiveRetention":"` + given + `"}},` + rest[1:])
		_, err = capability.Derive(in)
		assert.NoError(t, err, given)
	}

	runner, err := distill.New(distill.Config{})
	require.NoError(t, err)
	in := everything(t)
	in.Distiller, in.ScheduledDistillation = runner, false
	assert.Nil(t, at(fields(t, derive(t, in)), advertised...), "kept for ever")
}
