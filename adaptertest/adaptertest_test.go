package adaptertest_test

import (
	"context"
	"testing"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// The ten lines of a store author, and the choice of sizes.
func TestInMemory(t *testing.T) {
	adaptertest.Run(t, adaptertest.Quick(adaptertest.Config{
		New: func(context.Context) (driver.Adapter, error) { return inmem.New(), nil },
		Require: []adaptertest.Offer{adaptertest.Versioned, adaptertest.Scheduler,
			adaptertest.Changes, adaptertest.Tenants, adaptertest.Events},
		Certificate: "../memory/inmem/certificate",
	}))
}
