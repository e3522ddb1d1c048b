package mysql_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/mysql"
	"github.com/openwop/agentmemory/redact"
)

// What a job wrote is there for every process on the database.
func Example() {
	ctx := context.Background()
	db, err := mysql.Open(ctx, os.Getenv("DATABASE_URL"), mysql.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, risk := range db.Risks() {
		log.Print(risk)
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
	entries, err := bank.Reader("acme").List(ctx, "support", memory.ListOptions{})
	fmt.Println(entries[0].Content, err)
}
