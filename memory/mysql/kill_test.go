package mysql

import (
	"context"
	"os"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
)

const envLoad = "AGENTMEMORY_TEST_LOAD_DSN"

// openForLoad opens the store as a host does.
func openForLoad(ctx context.Context) (crashload.Store, func() error, error) {
	db, err := Open(ctx, os.Getenv(envLoad), Options{})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), db.Close, nil
}

func worker() {}
