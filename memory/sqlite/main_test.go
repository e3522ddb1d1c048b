package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	var err error
	switch worker, pass := os.Getenv(envWorker), os.Getenv(envPass); {
	case worker != "":
		err = work(context.Background(), worker)
	case pass != "":
		err = dieInPass(context.Background(), pass, os.Getenv(envKill))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
