package postgres_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/redact"
)

// What a job wrote is there for every process on the database.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	db, err := postgres.Open(ctx, pool, postgres.Options{StatementTimeout: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
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
	entries, err := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println(entries[0].Content, err)
}
