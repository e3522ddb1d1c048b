package mapstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/examples/customstore/mapstore"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

func TestStore(t *testing.T) {
	adaptertest.Run(t, adaptertest.Config{
		New:         func(context.Context) (driver.Adapter, error) { return mapstore.New(), nil },
		Certificate: "certificate",
	})
}

// A program can prove the store that it is about to use, and keep the report.
func Example_certify() {
	report, err := adaptertest.Check(context.Background(), adaptertest.Config{
		New: func(context.Context) (driver.Adapter, error) { return mapstore.New(), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holds:", report.OK(), "level:", report.Level)
	fmt.Println("views:", report.NotOffered[adaptertest.Versioned])
	// Output:
	// holds: true level: adapter
	// views: it has no driver.Versioned
}

// What a host gets from a store of four operations: writes through the redactor, and
// live reads.
func Example_host() {
	ctx := context.Background()
	bank, err := memory.New(mapstore.New(), memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	secrets := redact.New(redact.Config{})
	secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x"))
	job, err := bank.Background(memory.JobConfig{ID: "import-1", Tenant: "acme", Redactor: secrets})
	if err != nil {
		fmt.Println(err)
		return
	}
	job.Put(ctx, "support", memory.Draft{Content: "The key is acme-live-7Qm2vT9x."})
	entries, err := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println(entries[0].Content, err)
	// Output: The key is [REDACTED:billing-key]. <nil>
}
