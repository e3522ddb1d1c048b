//go:build linux

package parted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// envHost makes the test binary a host: it has a hostConfig.
const envHost = "AGENTMEMORY_PARTED_HOST"

// hostConfig says what a host process is to be.
type hostConfig struct {
	Host  int
	Seed  uint64
	Log   string        // the file of its calls
	DSN   string        // of PostgreSQL, or the path of a file
	Start int           // how many processes it was before
	Ahead time.Duration // of its clock
	Fault string        // a planted one
}

// store is what hosts use of a store.
type store interface {
	driver.Versioned
	driver.EventKeeper
	driver.Scheduler
	driver.Tenants
	driver.Changes
	driver.Describer
}

// openStore opens the file of a path, or connects to the server of several that takes writes. It waits
// until that can be done.
func openStore(ctx context.Context, dsn string) (st store, shut func(), err error) {
	for {
		if filepath.IsAbs(dsn) {
			st, shut, err = openFile(ctx, dsn)
		} else {
			st, shut, err = openPostgres(ctx, dsn)
		}
		if err == nil || ctx.Err() != nil {
			return st, shut, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func openFile(ctx context.Context, path string) (store, func(), error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	return db.Memory(), func() { db.Close() }, nil
}

func openPostgres(ctx context.Context, dsn string) (store, func(), error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = 6
	cfg.ConnConfig.ConnectTimeout = time.Second
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{StatementTimeout: 3 * time.Second})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return db.Memory(), func() { db.Close(); pool.Close() }, nil
}

const (
	ref    = "notes"
	docs   = 3 // documents of a tenant
	labels = 3 // subjects of a tenant, each forgotten once by one host
)

// tenantsOf are those of a round: for entries, documents, facts and commitments.
func tenantsOf(round int) (entries, documents, facts, armed string) {
	t := fmt.Sprintf("round-%d-", round)
	return t + "entries", t + "documents", t + "facts", t + "armed"
}

// kind of the documents that hosts swap.
const documentKind = "parted/value"

// passes that die hold up others for four seconds.
var passes = consolidate.Config{Timeout: 2 * time.Second}

// bankOf returns a bank, and its engines, as all hosts have them.
func bankOf(st store, ahead time.Duration, queue commitment.Enqueuer) (*memory.Bank, *commitment.Engine, error) {
	bank, err := memory.New(st, memory.Config{
		Now: func() time.Time { return time.Now().Add(ahead) }, KeepEvents: 24 * time.Hour, WriteEvents: true,
	})
	if err != nil {
		return nil, nil, err
	}
	engine, err := commitment.New(bank, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
		Enqueuer: queue, Lease: 4 * time.Second, Backoff: 200 * time.Millisecond, GiveUpAfter: 1000 * time.Hour, Grace: time.Hour,
	})
	return bank, engine, err
}

// host is a process that works on memory.
type host struct {
	hostConfig
	*logFile
	bank   *memory.Bank
	engine *commitment.Engine
	merger *consolidate.Consolidator
	round  int
	until  context.Context // of the round
}

// beHost does not return in a process that is to be a host. It reads rounds from its standard
// input, a number begins one and an empty line ends it, and answers with a line when it is quiet.
func beHost() {
	text := os.Getenv(envHost)
	if text == "" {
		return
	}
	if err := serveHost(context.Background(), text); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err, errors.Unwrap(err))
		os.Exit(1)
	}
	os.Exit(0)
}

func serveHost(ctx context.Context, text string) error {
	h := &host{}
	if err := json.Unmarshal([]byte(text), &h.hostConfig); err != nil {
		return err
	}
	file, err := os.OpenFile(h.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	h.logFile = &logFile{host: h.Host, file: file}
	st, _, err := openStore(ctx, h.DSN)
	if err != nil {
		return err
	}
	if h.bank, h.engine, err = bankOf(plant(h.Fault, st), h.Ahead, h); err != nil {
		return err
	}
	if h.merger, err = consolidate.New(passes); err != nil {
		return err
	}
	go h.bank.Keep(ctx, 100*time.Millisecond)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &h.round); err != nil {
			return err
		}
		until, end := context.WithCancel(ctx)
		h.until = until
		var working sync.WaitGroup
		for i, work := range []func(*rand.Rand){h.entries, h.entries, h.documents, h.facts, h.arms, h.forgets} {
			rng := rand.New(rand.NewPCG(h.Seed, uint64(h.Start*1_000_000+h.round*1000+h.Host*100+i)))
			working.Go(func() { work(rng) })
		}
		more := lines.Scan()
		end()
		if !more {
			return io.ErrUnexpectedEOF
		}
		working.Wait()
		fmt.Println("quiet")
	}
	return lines.Err()
}

// working reports whether the round goes on, after a breath.
func (h *host) working(rng *rand.Rand) bool {
	select {
	case <-h.until.Done():
		return false
	case <-time.After(time.Duration(20+rng.IntN(60)) * time.Millisecond):
		return true
	}
}

// do makes a call with a deadline and writes down what it came to.
func (h *host) do(rng *rand.Rand, c call, f func(ctx context.Context, c *call) error) *call {
	deadline := []time.Duration{300 * time.Millisecond, time.Second, 4 * time.Second}[rng.IntN(3)]
	logged := h.begin(&c)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	h.judge(logged, f(ctx, logged))
	h.end(logged)
	return logged
}

// judge fills in the outcome of a call. Only one error leaves it unknown.
func (h *host) judge(c *call, err error) {
	c.Problem = ""
	switch {
	case err == nil:
		c.Outcome = done
		return
	case errors.Is(err, memory.ErrOutcomeUnknown):
		c.Outcome = unknown
	default:
		c.Outcome, c.Conflict = refused, errors.Is(err, memory.ErrConflict)
	}
	c.Problem = fmt.Sprint(err, "; ", errors.Unwrap(err))
}

var everything = memory.ListOptions{Limit: memory.MaxListLimit}

func namesOf(entries []memory.Entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Content
	}
	return names
}

// entries works on the entries of a tenant, in runs.
func (h *host) entries(rng *rand.Rand) {
	tenant, _, _, _ := tenantsOf(h.round)
	for n := 0; h.working(rng); n++ {
		id := fmt.Sprintf("run-%d-%d-%x", h.round, h.Host, rng.Uint64())
		var run *memory.Run
		var seen []memory.Entry
		view := h.do(rng, call{Kind: "view", Tenant: tenant, Run: id}, func(ctx context.Context, c *call) (err error) {
			if run, err = h.bank.Start(ctx, memory.RunConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})}); err != nil {
				return err
			}
			seen, err = run.Memory().List(ctx, ref, everything)
			c.Names = namesOf(seen)
			return err
		})
		if view.Outcome != done {
			continue
		}
		h.token(rng, run, tenant, seen)
		for range 1 + rng.IntN(3) {
			h.change(rng, run, tenant, seen)
		}
		h.do(rng, call{Kind: "list", Tenant: tenant}, func(ctx context.Context, c *call) error {
			live, err := h.bank.Reader(tenant).List(ctx, ref, everything)
			c.Names = namesOf(live)
			return err
		})
		h.do(rng, call{Kind: "end", Tenant: tenant, Run: id}, func(ctx context.Context, c *call) error { return run.End(ctx) })
	}
}

// token writes down what a run sees under a token.
func (h *host) token(rng *rand.Rand, run *memory.Run, tenant string, seen []memory.Entry) {
	h.do(rng, call{Kind: "token", Tenant: tenant, Run: run.ID(), Names: namesOf(seen)}, func(ctx context.Context, c *call) error {
		t, err := run.Token(ctx)
		c.Token = string(t)
		return err
	})
}

// change puts, replaces or deletes an entry.
func (h *host) change(rng *rand.Rand, run *memory.Run, tenant string, seen []memory.Entry) {
	c := call{Tenant: tenant, Run: run.ID(), Name: fmt.Sprintf("note %d/%x", h.Host, rng.Uint64())}
	if len(seen) > 0 {
		old := seen[rng.IntN(len(seen))]
		c.Old, c.ID = old.Content, old.ID
	}
	draft := memory.Draft{Content: c.Name}
	switch n := rng.IntN(10); {
	case n < 3 && c.Old != "":
		c.Kind = "delete"
		h.do(rng, c, func(ctx context.Context, c *call) error {
			_, err := run.Delete(ctx, ref, c.ID)
			return err
		})
	case n < 5 && c.Old != "":
		c.Kind = "replace"
		h.do(rng, c, func(ctx context.Context, c *call) error {
			e, err := run.Replace(ctx, ref, c.ID, draft)
			if err == nil {
				c.ID = e.ID
			}
			return err
		})
	case n < 7: // under a key, again and again until it is known to be there
		c.Kind, draft.Key = "put", c.Name
		h.insist(rng, c, func(ctx context.Context, c *call) error {
			e, err := run.Put(ctx, ref, draft)
			c.ID = e.ID
			return err
		})
	default:
		if c.Kind = "put"; n == 7 {
			c.Subject = fmt.Sprint("subject-", rng.IntN(labels))
			draft.Subjects = []string{c.Subject}
		}
		h.do(rng, c, func(ctx context.Context, c *call) error {
			e, err := run.Put(ctx, ref, draft)
			c.ID = e.ID
			return err
		})
	}
}

// insist makes a call that is the same once and twice until it succeeds, for a while.
func (h *host) insist(rng *rand.Rand, c call, f func(ctx context.Context, c *call) error) *call {
	logged := h.begin(&c)
	surely := true // nothing was changed
	for end := time.Now().Add(30 * time.Second); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err := f(ctx, logged)
		cancel()
		logged.Try++
		h.judge(logged, err)
		surely = surely && logged.Outcome == refused
		if err == nil || time.Now().After(end) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if logged.Outcome == refused && !surely {
		logged.Outcome = unknown
	}
	h.end(logged)
	return logged
}

// documents swaps documents of a tenant.
func (h *host) documents(rng *rand.Rand) {
	_, tenant, _, _ := tenantsOf(h.round)
	for h.working(rng) {
		key := fmt.Sprint("document-", rng.IntN(docs))
		var d driver.Document
		got := h.do(rng, call{Kind: "read", Tenant: tenant, Run: key}, func(ctx context.Context, c *call) error {
			for found, err := range h.bank.Engines().Documents(ctx, tenant, driver.DocumentQuery{Kind: documentKind, Key: key}) {
				if err != nil {
					return err
				}
				d = found
			}
			c.Name = string(d.Value)
			return nil
		})
		if got.Outcome != done || rng.IntN(4) == 0 {
			continue
		}
		c := call{Kind: "swap", Tenant: tenant, Run: key, Old: got.Name, Name: fmt.Sprintf("%d/%x", h.Host, rng.Uint64())}
		h.do(rng, c, func(ctx context.Context, c *call) error {
			next := driver.Document{Scope: driver.Scope{Tenant: tenant}, Class: driver.Machinery, Kind: documentKind, Key: key, Value: []byte(c.Name), Rev: d.Rev}
			_, err := h.bank.Engines().Swap(ctx, tenant, driver.DocumentSwap{Document: next})
			return err
		})
	}
}

// facts notes facts that others note too, and reconciles them.
func (h *host) facts(rng *rand.Rand) {
	_, _, tenant, _ := tenantsOf(h.round)
	for h.working(rng) {
		id := fmt.Sprintf("pass-%d-%d-%x", h.round, h.Host, rng.Uint64())
		job, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})})
		if err != nil {
			panic(err)
		}
		if rng.IntN(5) > 0 {
			fact := fmt.Sprintf("Fact %d is noted by every host.", rng.IntN(40))
			h.do(rng, call{Kind: "fact", Tenant: tenant, Run: id, Name: fact}, func(ctx context.Context, c *call) error {
				e, err := job.Put(ctx, ref, memory.Draft{Content: fact})
				c.ID = e.ID
				return err
			})
		} else {
			h.do(rng, call{Kind: "pass", Tenant: tenant, Run: id}, func(ctx context.Context, c *call) error {
				_, err := h.merger.Run(ctx, job, ref, consolidate.Options{})
				return err
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = job.End(ctx)
		cancel()
	}
}

// arms notes intentions and arms them.
func (h *host) arms(rng *rand.Rand) {
	_, _, _, tenant := tenantsOf(h.round)
	for n := 0; h.working(rng); n++ {
		id := fmt.Sprintf("arming-%d-%d-%x", h.round, h.Host, rng.Uint64())
		job, err := h.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: redact.New(redact.Config{})})
		if err != nil {
			panic(err)
		}
		c := call{Kind: "intention", Tenant: tenant, Run: id, Name: fmt.Sprintf("intention %d/%x", h.Host, rng.Uint64())}
		noted := h.do(rng, c, func(ctx context.Context, c *call) error {
			e, err := job.Put(ctx, ref, memory.Draft{Content: c.Name})
			c.ID = e.ID
			return err
		})
		if noted.Outcome == done {
			arm := commitment.Arm{At: h.bank.Now().Add(time.Duration(500+rng.IntN(4000)) * time.Millisecond)}
			if n%10 == 0 {
				arm = commitment.Arm{Every: time.Second}
			}
			h.do(rng, call{Kind: "arm", Tenant: tenant, Name: noted.ID}, func(ctx context.Context, c *call) error {
				made, err := h.engine.Arm(ctx, job, commitment.Source{Ref: ref, MemoryID: noted.ID}, arm)
				c.ID = made.ID
				return err
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = job.End(ctx)
		cancel()
		time.Sleep(200 * time.Millisecond)
	}
}

// Enqueue writes a firing down. One answer in ten is lost, one in ten slow.
func (h *host) Enqueue(ctx context.Context, f commitment.Firing) (string, error) {
	c := h.begin(&call{Kind: "enqueue", Tenant: f.Tenant, Run: f.CommitmentID, Name: f.Key, Fence: f.Fence, Try: int64(f.Try)})
	c.Outcome = done
	defer h.end(c)
	switch rand.IntN(10) {
	case 0:
		return "", errors.New("the queue does not answer")
	case 1:
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return "run-of-" + strings.ReplaceAll(f.Key, " ", "-"), nil
}

// forgets forgets one subject at some moment of every other round, until it is done.
func (h *host) forgets(rng *rand.Rand) {
	tenant, _, _, _ := tenantsOf(h.round)
	if h.round%2 == 1 {
		return // so that all tokens can be read
	}
	select {
	case <-time.After(time.Duration(1000+rng.IntN(5000)) * time.Millisecond):
	case <-h.until.Done():
	}
	h.insist(rng, call{Kind: "forget", Tenant: tenant, Subject: fmt.Sprint("subject-", h.Host)}, func(ctx context.Context, c *call) error {
		_, err := h.bank.Forget(ctx, tenant, c.Subject)
		return err
	})
}
