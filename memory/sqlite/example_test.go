package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// What a job wrote is there for the next process that opens the file.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memory.db")

	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	bank, err := memory.New(db.Memory(), memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := bank.Background(memory.JobConfig{ID: "import-1", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	job.Put(ctx, "support", memory.Draft{Content: "Deliveries before noon, please."})
	db.Close()

	db, err = sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	bank, err = memory.New(db.Memory(), memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println(entries[0].Content, err)
	// Output: Deliveries before noon, please. <nil>
}
