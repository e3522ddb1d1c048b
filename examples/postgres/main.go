package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/redact"
)

// One tenant with one agent. A real host has them from its authentication.
const tenant, ref = "acme", "support"

// told is what the command line says.
type told struct{ dsn, note, about, forget string }

const envDSN = "AGENTMEMORY_POSTGRES_DSN"

var errNoDSN = errors.New("which database? Give -dsn or " + envDSN + ", for example postgres://agents@localhost/agents")

func main() {
	var t told
	flag.StringVar(&t.dsn, "dsn", os.Getenv(envDSN), "the database")
	flag.StringVar(&t.about, "about", "", "whom the note is about, for -forget")
	flag.StringVar(&t.forget, "forget", "", "erase what is about a subject")
	flag.Parse()
	t.note = flag.Arg(0)
	if err := run(context.Background(), t, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, t told, out io.Writer) (err error) {
	if t.dsn == "" {
		return errNoDSN
	}
	pool, err := pgxpool.New(ctx, t.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	db, err := postgres.Open(ctx, pool, postgres.Options{StatementTimeout: 10 * time.Second})
	if err != nil {
		return errors.Join(err, errors.Unwrap(err)) // what the server said is for the operator
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// The database is the host's run log too: an event of memory has its number there when what it
	// tells of is committed, and the host's own events stand between them.
	bank, err := memory.New(db.Memory(), memory.Config{KeepEvents: 30 * 24 * time.Hour, WriteEvents: true})
	if err != nil {
		return err
	}
	// The host's one loop removes what nothing needs any more.
	loop, stop := context.WithCancel(ctx)
	kept := make(chan error)
	go func() { kept <- bank.Keep(loop, time.Second) }()
	defer func() {
		stop()
		<-kept // before the store is closed
	}()
	if t.forget != "" {
		done, err := bank.Forget(ctx, tenant, t.forget)
		fmt.Fprintf(out, "erased %d entries\n", len(done.Erased))
		return err
	}

	// The registry holds the secrets of the run, and closes with it.
	secrets := redact.New(redact.Config{})
	r, err := bank.Start(ctx, memory.RunConfig{ID: "run-" + rand.Text(), Tenant: tenant, Redactor: secrets})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Abort(ctx, event("run.failed")))
		} else {
			err = r.End(ctx, event("run.completed"))
		}
	}()
	if err := r.Emit(ctx, event("run.started")); err != nil {
		return err
	}
	known, err := r.Memory().List(ctx, ref, memory.ListOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d remembered\n", len(known))
	for _, e := range known {
		fmt.Fprintf(out, "  %s  %s\n", e.CreatedAt.Format("2006-01-02 15:04:05"), e.Content)
	}
	if t.note == "" {
		return nil
	}
	draft := memory.Draft{Content: t.note}
	if t.about != "" {
		draft.Subjects = []string{t.about}
	}
	_, err = r.Put(ctx, ref, draft)
	return err
}

// event is one of the host's own, which says nothing.
func event(typ events.Type) events.Record {
	return events.Record{Payload: events.HostPayload{Type: typ, JSON: []byte("{}")}}
}
