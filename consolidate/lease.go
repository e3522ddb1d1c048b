package consolidate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The documents of a ref that this package keeps: machinery, which holds ids, counts and digests.
const (
	digestKind = "consolidate/digest" // a digest, one an Options.Tag
	undoneKind = "consolidate/undone" // a Group, one a mutation that brought entries back

	// Under memory.RemoveWhenDue:
	leaseKey   = "consolidate/pass"     // a state, one a ref
	journalKey = "consolidate/journal/" // a Group, one a mutation that retired entries, by the revision of the lease
)

// record is the value of each of these documents, in JSON.
type record struct {
	Format int `json:"format"`
	Value  any `json:"value"`
}

// format is the format of records that this version of the package writes, and the newest that it reads.
const format = 1

func encode(value any) []byte {
	data, _ := json.Marshal(record{format, value}) // plain values: it cannot fail
	return data
}

// decode reads the value of a document. It leaves the value as it is if the document is not there,
// or holds no record. It fails with [ErrNewerFormat].
func decode(d driver.Document, value any) error {
	r := record{Value: value}
	_ = json.Unmarshal(d.Value, &r)
	if r.Format > format {
		return ErrNewerFormat
	}
	return nil
}

// Retention is how long the journal of a pass is kept, by which [Consolidator.Undo] works,
// and the lease of a pass that died. memory.Bank.Maintain removes them after that.
const Retention = 90 * 24 * time.Hour

// state is what the lease holds: who works on the scope, and how far it is. Every
// mutation of a pass replaces it, so that a pass which has lost its lease cannot
// commit any more, and what is counted is what was committed.
type state struct {
	Pass  string `json:"pass"`
	Until int64  `json:"until"` // milliseconds; 0 if no pass holds it
	Open  bool   `json:"open"`  // the pass has begun and not emitted its event
	// What the pass has committed so far.
	Merged     int      `json:"merged,omitempty"`
	Superseded int      `json:"superseded,omitempty"`
	Derived    int      `json:"derived,omitempty"`
	IDs        []string `json:"ids,omitempty"` // of retired entries, up to one more than MaxMergedIDs

	doc driver.Document // as this pass has read or written it
}

// commitTime bounds one commit.
const commitTime = time.Minute

func (s *state) retired() int { return s.Merged + s.Superseded }

var errStale = memory.ErrConflict.In(pkg, "an entry of the group has changed", nil)

// readLease reads the lease. A pass of the same id that died goes on where it was; over reports
// that it has announced its end. It fails with [memory.ErrConflict] if another pass holds it.
func (p *pass) readLease(ctx context.Context) (over bool, err error) {
	var s state
	if s.doc, err = p.job.Document(ctx, p.ref, memory.RemoveWhenDue, leaseKey); err != nil {
		return false, err
	}
	if err := decode(s.doc, &s); err != nil {
		return false, err
	}
	own := s.Pass == p.job.ID()
	if !own && s.Until > p.job.Now().UnixMilli() {
		return false, memory.ErrConflict.In(pkg, "another pass holds the lease on the ref: try again once it has ended, or its lease has", nil)
	}
	if over = own && !s.Open; over || !own {
		s = state{Pass: p.job.ID(), doc: s.doc}
	}
	p.lease = s
	return over, nil
}

// held is the state of the pass with its lease taken or renewed.
func (p *pass) held() state {
	s := p.lease
	s.Open, s.Until = true, p.job.Now().Add(2*p.cfg.Timeout).UnixMilli()
	return s
}

// hold takes or renews the lease.
func (p *pass) hold(ctx context.Context) error {
	_, err := p.commit(ctx, memory.Rewrite{}, p.held())
	return err
}

// release lets others in before the lease ends. If that fails, it ends by itself.
func (p *pass) release(ctx context.Context) {
	next := p.lease
	next.Until = 0
	_, _ = p.commit(ctx, memory.Rewrite{}, next)
}

// commit commits rw together with the next state of the pass and other documents. It is not
// interrupted by the end of ctx, so that a cancelled pass knows what became of its last group.
// errStale means that rw's conditions do not hold; any other conflict,
// that the lease is lost.
func (p *pass) commit(ctx context.Context, rw memory.Rewrite, next state, others ...driver.DocumentSwap) (memory.Rewritten, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	doc := p.lease.doc
	doc.Due, doc.Value = p.job.Now().Add(Retention), encode(next)
	rw.Documents = func([]memory.Entry) []driver.DocumentSwap {
		return append(slices.Clip(others), driver.DocumentSwap{Document: doc})
	}
	made, err := p.job.Rewrite(ctx, p.ref, rw)
	if errors.Is(err, memory.ErrConflict) {
		now, failed := p.job.Document(ctx, p.ref, memory.RemoveWhenDue, leaseKey)
		switch {
		case failed != nil:
			err = failed
		case now.Rev == doc.Rev:
			err = errStale
		default:
			err = memory.ErrConflict.In(pkg, "the lease on the scope was lost", err)
		}
	}
	if err != nil {
		return memory.Rewritten{}, err
	}
	doc.Rev = made.Revs[len(others)]
	p.lease, p.lease.doc = next, doc
	p.result.Events = append(p.result.Events, made.Events...)
	return made, nil
}

// hash shortens names for use in a document's key or an event's id.
func hash(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}
