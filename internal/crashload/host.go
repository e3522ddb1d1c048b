package crashload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	cons "github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// Stores are what is put under load: opened stores, over the same data each time.
type Stores struct {
	// Memory must be a [memory.Versioned].
	Memory      memory.Adapter
	Commitments commitment.Store
	Archives    distill.ArchiveStore
	// Workspace emits workspace.updated into the [Log]. If it has a method
	// Flush(context.Context) error, that delivers what was not delivered.
	Workspace distill.Workspace
	// Close, if set, closes what was opened.
	Close func() error
}

// Opener opens the stores over their data. The events of a workspace go to the log.
type Opener func(ctx context.Context, log *Log) (Stores, error)

var tenants = []string{"acme", "globex"}

// host is a program over the stores: a bank and the engines.
type host struct {
	*Log
	stores       Stores
	memory       memory.Versioned
	bank         *memory.Bank
	consolidator *cons.Consolidator
	distiller    *distill.Runner
	commitments  *commitment.Engine
}

func (l *Log) host(s Stores) (*host, error) {
	h := &host{Log: l, stores: s}
	var ok bool
	if h.memory, ok = memory.As[memory.Versioned](s.Memory); !ok || s.Commitments == nil || s.Archives == nil || s.Workspace == nil {
		return nil, errors.New("crashload: a load needs a memory.Versioned and all the other stores")
	}
	var errs [4]error
	h.bank, errs[0] = memory.NewBank(s.Memory, memory.Config{Now: l.Now, Sink: l, WriteEvents: true})
	if errs[0] != nil {
		return nil, errs[0]
	}
	// Leases are short, so that what a dead process held is free again in a fraction of
	// a second.
	h.consolidator, errs[1] = cons.New(cons.Config{Timeout: 10 * time.Second, Lease: 20 * time.Second})
	h.distiller, errs[2] = distill.NewRunner(distill.Config{Archives: s.Archives, Workspace: s.Workspace})
	h.commitments, errs[3] = commitment.New(h.bank, commitment.Config{
		Store: recorder{s.Commitments, l}, Enqueuer: l,
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return plain{}, nil },
		Predicate: func(string, string) bool { return true },
		Lease:     20 * time.Second, Backoff: time.Second, Tries: 1 << 20,
	})
	return h, errors.Join(errs[:]...)
}

// job opens the pass of an operation. Its id is on everything that the operation writes.
func (h *host) job(n note) (*memory.Job, error) {
	return h.bank.Background(memory.JobConfig{RunID: runOf(n.N), Tenant: n.Tenant, Redactor: plain{}})
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

// recorder writes down every swap that was acknowledged.
type recorder struct {
	commitment.Store
	log *Log
}

func (r recorder) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	rev, err := r.Store.Swap(ctx, c)
	if err != nil {
		return rev, err
	}
	n := note{N: r.log.next.Add(1), What: swap, Tenant: c.Tenant, IDs: []string{c.ID}, From: c.Rev, Rev: rev, Sum: sumOfCommitment(c)}
	return rev, r.log.swaps.add(n)
}

func sum(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(strconv.AppendInt(nil, int64(len(p)), 10))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sumOfEntries is over what entries say, in their order.
func sumOfEntries(entries []memory.Entry) string {
	var parts []string
	for _, e := range entries {
		parts = append(parts, e.ID, e.Content, strings.Join(e.Tags, "\x00"), strings.Join(e.Subjects, "\x00"))
	}
	return sum(parts...)
}

// sumOfCommitment is over everything but the revision, and the same for equal instants.
func sumOfCommitment(c commitment.Commitment) string {
	c.Rev = 0
	if len(c.Waiting) == 0 {
		c.Waiting = nil
	}
	for _, t := range []*time.Time{&c.Arm.At, &c.ArmedAt, &c.Due, &c.Mark, &c.Claim.Instant, &c.Lease} {
		*t = t.UTC()
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return sum(string(text))
}
