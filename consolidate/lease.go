package consolidate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The documents of a ref that this package keeps: machinery, which holds ids, counts and
// digests.
const (
	digestKind = "consolidate/digest" // one a selection
	undoneKind = "consolidate/undone" // one a mutation that brought entries back

	// Under memory.UntilDue:
	leaseKey   = "consolidate/pass"     // one a ref
	journalKey = "consolidate/journal/" // one a mutation that retired entries, by the revision of the lease
)

// Retention is how long the journal of a pass is kept, by which [Consolidator.Undo] works,
// and the lease of a pass that died. memory.Bank.Maintain removes them after that.
const Retention = 90 * 24 * time.Hour

// state is what the lease holds: who works on the scope, and how far it is. Every
// mutation of a pass replaces it, so that a pass which has lost its lease cannot
// commit any more, and what is counted is what was committed.
type state struct {
	Pass     string `json:"pass"`
	Fence    int64  `json:"fence"`    // the revision of the lease by which the pass began; 0 until it is known
	Until    int64  `json:"until"`    // milliseconds; 0 if no pass holds it
	Open     bool   `json:"open"`     // the pass has begun and not emitted its event
	Repeated bool   `json:"repeated"` // a pass of the same id was over as it began
	// What the pass has committed so far.
	Merged     int      `json:"merged,omitempty"`
	Superseded int      `json:"superseded,omitempty"`
	Derived    int      `json:"derived,omitempty"`
	IDs        []string `json:"ids,omitempty"` // of retired entries, up to MaxMergedIDs
}

func (s *state) retired() int { return s.Merged + s.Superseded }

// lease is the lease of a pass on its scope.
type lease struct {
	state
	doc driver.Document // as this pass wrote it
}

var errStale = errors.New("the group has changed")

// acquire takes the lease. A pass of the same id that died goes on where it was, under the fence
// by which it began. Any other pass gets a fence that no pass has had: a store uses no revision
// again.
func (p *pass) acquire(ctx context.Context) error {
	doc, err := p.job.Document(ctx, p.ref, memory.UntilDue, leaseKey)
	if err != nil {
		return err
	}
	var s state
	if doc.Rev != 0 && json.Unmarshal(doc.Value, &s) != nil {
		s = state{} // not ours; the swap below replaces it
	}
	if s.Until > p.job.Now().UnixMilli() && s.Pass != p.job.ID() {
		return memory.ErrConflict.In(pkg, "another pass holds the lease on the ref: try again once it has ended, or its lease has", nil)
	}
	if s.Pass != p.job.ID() || !s.Open {
		s = state{Pass: p.job.ID(), Open: true, Repeated: s.Pass == p.job.ID()}
	}
	p.lease = lease{state: s, doc: doc}
	if _, err := p.commit(ctx, memory.Rewrite{}, func(*state) {}); err != nil {
		if errors.Is(err, memory.ErrConflict) {
			return memory.ErrConflict.In(pkg, "another pass holds the lease on the ref: try again once it has ended, or its lease has", err)
		}
		return err
	}
	if p.lease.Fence == 0 { // nothing was committed under another one
		p.lease.Fence = p.lease.doc.Rev
	}
	return nil
}

// release lets others in before the lease ends. If that fails, it ends by itself.
func (p *pass) release(ctx context.Context) {
	_, _ = p.commit(ctx, memory.Rewrite{}, func(s *state) { s.Until = 0 })
}

// commit commits rw together with the pass's new state and other documents, and returns
// the revisions of those. It is not interrupted by the end of ctx, so that a cancelled
// pass knows what became of its last group; the lease bounds it. errStale means that rw's
// conditions do not hold; any other conflict, that the lease is lost.
func (p *pass) commit(ctx context.Context, rw memory.Rewrite, change func(*state), others ...driver.DocumentSwap) (memory.Rewritten, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Lease)
	defer cancel()
	now := p.job.Now()
	next := p.lease.state
	next.Until = now.Add(p.cfg.Lease).UnixMilli()
	change(&next)
	doc := p.lease.doc
	doc.Due = now.Add(Retention)
	var err error
	if doc.Value, err = json.Marshal(next); err != nil {
		return memory.Rewritten{}, internal("the state of the pass cannot be written", err)
	}
	rw.Documents = func([]memory.Entry) []driver.DocumentSwap {
		return append(slices.Clip(others), driver.DocumentSwap{Document: doc})
	}
	made, err := p.job.Rewrite(ctx, p.ref, rw)
	if errors.Is(err, memory.ErrConflict) {
		now, failed := p.job.Document(ctx, p.ref, memory.UntilDue, leaseKey)
		if failed != nil {
			return memory.Rewritten{}, failed
		}
		if now.Rev == p.lease.doc.Rev {
			return memory.Rewritten{}, errStale
		}
		return memory.Rewritten{}, memory.ErrConflict.In(pkg, "the lease on the scope was lost", err)
	}
	if err != nil {
		return memory.Rewritten{}, err
	}
	doc.Rev = made.Revs[len(others)]
	p.lease.state, p.lease.doc = next, doc
	p.result.Events = append(p.result.Events, made.Events...)
	return made, nil
}

// hash shortens a name for use in a document's key or an event's id.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
