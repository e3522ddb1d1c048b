package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openwop/agentmemory/bridges/mcp"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// options are what the command line says.
type options struct {
	db, postgres, tenant, ref, tools, http, tokens, secrets string
	view, forget                                            bool
}

func main() {
	var o options
	flag.StringVar(&o.db, "db", "", `the file that holds the memory (default "memory.db")`)
	flag.StringVar(&o.postgres, "postgres", "", "the `DSN` of the PostgreSQL database that holds it instead")
	flag.StringVar(&o.tenant, "tenant", "local", "whose memory it is")
	flag.StringVar(&o.ref, "ref", "assistant", "which of the tenant's memories")
	flag.StringVar(&o.tools, "tools", "memory", `"memory", or "anthropic" for files below /memories`)
	flag.StringVar(&o.http, "http", "", "an address to serve instead of standard input and output")
	flag.StringVar(&o.tokens, "tokens", "", `for -http: a JSON file {"token": {"tenant": "…", "ref": "…"}}`)
	flag.StringVar(&o.secrets, "secrets", "", `a JSON file {"id": "value"} of what must never be stored`)
	flag.BoolVar(&o.view, "view", false, "read as one run does: memory as it is now, and own writes")
	flag.BoolVar(&o.forget, "allow-forget", false, "serve memory_forget, which reaches every ref of the tenant")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "agentmemory-mcp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, status io.Writer) (err error) {
	secrets, err := readSecrets(o.secrets, os.Environ())
	if err != nil {
		return err
	}
	if o.tools != "memory" && o.tools != "anthropic" {
		return errors.New("-tools is neither memory nor anthropic")
	}
	store, closeStore, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(status, &slog.HandlerOptions{Level: slog.LevelWarn}))
	bank, err := memory.New(store, memory.Config{Ranker: ranker, Logger: log})
	if err != nil {
		return err
	}
	upkeep, stop := context.WithCancel(ctx)
	kept := make(chan error)
	go func() { kept <- bank.Keep(upkeep, time.Minute) }()
	defer func() {
		stop()
		<-kept // before the store is closed
	}()
	cfg := mcp.Config{
		Bank: bank, Tenant: o.tenant, Ref: o.ref, View: o.view, AllowForget: o.forget, Files: o.tools == "anthropic",
		Secrets: func() (memory.Redactor, error) { return registry(secrets) },
	}
	if o.http != "" {
		return serve(ctx, cfg, o, status)
	}
	s, err := mcp.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if err = s.MCP().Run(ctx, &sdk.StdioTransport{}); ctx.Err() != nil {
		return nil // told to stop
	}
	return err
}

// open opens the store that the command line names.
func open(ctx context.Context, o options) (driver.Adapter, func() error, error) {
	if o.postgres == "" {
		db, err := sqlite.Open(ctx, cmp.Or(o.db, "memory.db"), sqlite.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db.Memory(), db.Close, nil
	}
	if o.db != "" {
		return nil, nil, errors.New("-db and -postgres name two memories: name one")
	}
	pool, err := pgxpool.New(ctx, o.postgres)
	if err != nil { // it may hold a password
		return nil, nil, errors.New("-postgres is no connection string: it looks like postgres://user@host/database or host=… dbname=…")
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{})
	if err != nil {
		pool.Close()
		return nil, nil, fmt.Errorf("the database of -postgres: %w", err)
	}
	return db.Memory(), func() error {
		defer pool.Close()
		return db.Close()
	}, nil
}

// serve serves HTTP until ctx ends.
func serve(ctx context.Context, cfg mcp.Config, o options, status io.Writer) (err error) {
	if o.tokens == "" {
		return errors.New("-http needs -tokens: who has no token sees nothing")
	}
	raw, err := os.ReadFile(o.tokens)
	if err != nil {
		return err
	}
	var tokens map[string]mcp.Place
	if json.Unmarshal(raw, &tokens) != nil || len(tokens) == 0 {
		return errors.New(`the file of -tokens is not a JSON object {"token": {"tenant": "…", "ref": "…"}}`)
	}
	h, err := mcp.NewHTTP(ctx, cfg, tokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	listener, err := net.Listen("tcp", o.http)
	if err != nil {
		return err
	}
	fmt.Fprintf(status, "listening on http://%s\n", listener.Addr())
	server := newServer(h)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(last)
	}
}

// requestTime is how long a request may take to arrive, with its body. How long an answer takes is
// not limited.
const requestTime = 30 * time.Second

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: requestTime}
}

const variable = "AGENTMEMORY_SECRET_"

// readSecrets returns the secrets of a file and of the environment by their ids.
func readSecrets(path string, environ []string) (map[string]string, error) {
	secrets := map[string]string{}
	if path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(raw, &secrets) != nil || secrets == nil { // null makes the map nil
			return nil, errors.New(`the file of -secrets is not a JSON object {"id": "value"}`)
		}
	}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, variable) && value != "" {
			secrets[strings.ToLower(strings.TrimPrefix(name, variable))] = value
		}
	}
	return secrets, nil
}

// registry holds the secrets for one server. A value that cannot be covered ends the program: it
// would be stored.
func registry(secrets map[string]string) (*redact.SecretRegistry, error) {
	r := redact.New(redact.Config{})
	for id, value := range secrets {
		if err := r.Register(id, []byte(value)); err != nil {
			return nil, fmt.Errorf("the secret %q: %w", id, err)
		}
	}
	return r, nil
}
