package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/mysql"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// options are what the command line says.
type options struct {
	data, addr               string
	postgres, mysql          string
	token, tenantB, approver string
	expiredRun               string
	seams                    bool
	major                    int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "host.db", "the SQLite file that holds everything")
	flag.StringVar(&o.postgres, "postgres", "", "a PostgreSQL DSN instead of a file")
	flag.StringVar(&o.mysql, "mysql", "", "a MariaDB or MySQL DSN instead of a file, as in user:password@tcp(host:3306)/database")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:0", "where to listen")
	flag.StringVar(&o.token, "token", "", "the bearer token; one is made and printed if there is none")
	flag.StringVar(&o.tenantB, "tenant-b", "", "the bearer token of a second tenant")
	flag.StringVar(&o.approver, "approver", "", "a bearer token that may also activate proposals")
	flag.StringVar(&o.expiredRun, "expired-run", "", "the id of a run to make whose memory can no longer be replayed")
	flag.BoolVar(&o.seams, "seams", false, "serve the conformance seams")
	flag.IntVar(&o.major, "major", 2, "the version of the protocol, 1 or 2, of the discovery document for a client that names none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out, status io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(status, nil))
	store, closeStore, err := openStore(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	h, err := newHost(store, log)
	if err != nil {
		return err
	}
	if err := h.recover(ctx); err != nil {
		return err
	}
	upkeep, stopUpkeep := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- h.keep(upkeep) }()
	defer func() {
		stopUpkeep()
		<-kept // before the store is closed
	}()
	if o.seams {
		if err := h.plantSeams(ctx); err != nil {
			return err
		}
	}
	if o.expiredRun != "" {
		if err := h.makeExpiredRun(ctx, o.expiredRun); err != nil {
			return err
		}
	}
	if o.token != "" && (o.token == o.tenantB || o.token == o.approver) || o.tenantB != "" && o.tenantB == o.approver {
		return errors.New("two of the tokens are the same")
	}
	made := o.token == ""
	if made {
		o.token = rand.Text()
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	if made {
		fmt.Fprintf(out, "token %s\n", o.token)
	}
	server := newServer(h.handler(o))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if server.Shutdown(last) != nil { // a client that follows a log does not go by itself
			return server.Close()
		}
		return nil
	}
}

// openStore opens the file or the database.
func openStore(ctx context.Context, o options) (driver.Adapter, func() error, error) {
	switch {
	case o.mysql != "":
		db, err := mysql.Open(ctx, o.mysql, mysql.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db.Memory(), db.Close, nil
	case o.postgres == "":
		db, err := sqlite.Open(ctx, o.data, sqlite.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db.Memory(), db.Close, nil
	}
	pool, err := pgxpool.New(ctx, o.postgres)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{StatementTimeout: 30 * time.Second})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return db.Memory(), func() error { defer pool.Close(); return db.Close() }, nil
}
