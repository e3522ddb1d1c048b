package crashload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	cons "github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Opener opens the store that is put under load, over the same data each time. The store
// must be a [driver.Versioned] and a [driver.Scheduler]. Shut, if it is not nil, closes what
// was opened.
type Opener func(ctx context.Context) (store driver.Adapter, shut func() error, err error)

var tenants = []string{"acme", "globex"}

// host is a program over the store: a bank and the engines.
type host struct {
	*Log
	store        recorder
	due          driver.Scheduler
	bank         *memory.Bank
	consolidator *cons.Consolidator
	distiller    *distill.Runner
	commitments  *commitment.Engine
}

func (l *Log) host(a driver.Adapter) (*host, error) {
	versions, ok := driver.As[driver.Versioned](a)
	due, scheduled := driver.As[driver.Scheduler](a)
	if !ok || !scheduled {
		return nil, errors.New("crashload: a load needs a driver.Versioned that is a driver.Scheduler")
	}
	h := &host{Log: l, store: recorder{versions, a, l}, due: due}
	var errs [4]error
	h.bank, errs[0] = memory.New(h.store, memory.Config{Now: l.Now, Sink: l, WriteEvents: true})
	if errs[0] != nil {
		return nil, errs[0]
	}
	// Leases are short, so that what a dead process held is free again in a fraction of
	// a second.
	h.consolidator, errs[1] = cons.New(cons.Config{Timeout: 10 * time.Second})
	h.distiller, errs[2] = distill.New(distill.Config{})
	h.commitments, errs[3] = commitment.New(h.bank, commitment.Config{
		Enqueuer:  l,
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return plain{}, nil },
		Predicate: func(string, string) bool { return true },
		Lease:     20 * time.Second, Backoff: time.Second, Tries: 1 << 20,
	})
	return h, errors.Join(errs[:]...)
}

// job opens the pass of an operation. Its id is on everything that the operation writes.
func (h *host) job(n note) (*memory.Job, error) {
	return h.bank.Background(memory.JobConfig{ID: runOf(n.N), Tenant: n.Tenant, Redactor: plain{}})
}

const runPrefix = "op-"

func runOf(n int64) string { return runPrefix + strconv.FormatInt(n, 10) }

// operationOf is the number in a run's id, or 0 if it is none of ours.
func operationOf(runID string) int64 {
	text, _ := strings.CutPrefix(runID, runPrefix)
	n, _ := strconv.ParseInt(text, 10, 64)
	if runOf(n) != runID {
		return 0
	}
	return n
}

// plain is a redactor of a tenant without secrets.
type plain struct{}

func (plain) Redact(text string) (string, error)        { return text, nil }
func (plain) RedactDerived(text string) (string, error) { return text, nil }

func sum(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(strconv.AppendInt(nil, int64(len(p)), 10))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
