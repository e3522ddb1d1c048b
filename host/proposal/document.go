package proposal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A proposal is host text of the tenant's own under its id; its group is the kind and the digest
// of its artifact, by which a duplicate is found. An audit record is host text too.
const (
	kind      = "proposal"
	auditKind = "proposal/audit"
	format    = 1
)

// stored is the value of a document.
type stored struct {
	Format   int      `json:"format"`
	Proposal Proposal `json:"proposal"`
}

func decode(d *driver.Document) (Proposal, error) {
	var s stored
	if json.Unmarshal(d.Value, &s) != nil || s.Format != format || s.Proposal.ID != d.Key {
		return Proposal{}, errFormat
	}
	return s.Proposal, nil
}

// read returns a proposal with its document.
func (s *Store) read(ctx context.Context, job *memory.Job, id string) (Proposal, driver.Document, error) {
	if job == nil {
		return Proposal{}, driver.Document{}, errJob
	}
	if len(id) > 128 || id == "" {
		return Proposal{}, driver.Document{}, errNotFound
	}
	d, err := job.Document(ctx, "", kind, id)
	if err == nil && d.Rev == 0 {
		err = errNotFound
	}
	if err != nil {
		return Proposal{}, d, err
	}
	p, err := decode(&d)
	return p, d, err
}

// put stores a proposal in place of what d is, with its audit record and its event.
func (s *Store) put(ctx context.Context, job *memory.Job, d driver.Document, p *Proposal, record *audit, event events.Payload) error {
	value, err := encode(stored{format, *p})
	if err != nil {
		return err
	}
	clean, err := job.RedactText(ctx, string(value))
	if err == nil && clean != string(value) {
		err = errSecret // what is around the texts would be changed
	}
	if err != nil {
		return err
	}
	d.Class, d.Kind, d.Key, d.Group, d.Value = driver.HostText, kind, p.ID, group(p), value
	swaps := []driver.DocumentSwap{{Document: d}}
	if record != nil {
		value, err := json.Marshal(record)
		if err != nil {
			return err
		}
		swaps = append(swaps, driver.DocumentSwap{Document: driver.Document{
			Class: driver.HostText, Kind: auditKind, Key: newID("audit_"), Group: p.ID, Value: value, Subjects: d.Subjects,
		}})
	}
	_, err = job.Rewrite(ctx, "", memory.Rewrite{
		Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps },
		Announce: func([]memory.Entry) []events.Record {
			if event == nil {
				return nil
			}
			return []events.Record{{Payload: event}}
		},
	})
	return err
}

func group(p *Proposal) string { return string(p.Kind) + " " + p.Digest() }

// duplicate returns the id of the earliest proposal with the same artifact that was not rejected or
// archived.
func (s *Store) duplicate(ctx context.Context, job *memory.Job, p *Proposal) (string, error) {
	var first Proposal
	for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: kind, Group: group(p)}) {
		if err != nil {
			return "", err
		}
		other, err := decode(&d)
		if err != nil {
			return "", err
		}
		if other.State == StateRejected || other.State == StateArchived {
			continue
		}
		if first.ID == "" || other.CreatedAt.Before(first.CreatedAt) {
			first = other
		}
	}
	return first.ID, nil
}

// audit is a record of who decided.
type audit struct {
	ProposalID string    `json:"proposalId"`
	Decision   string    `json:"decision"`
	Principal  string    `json:"principal,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Digest     string    `json:"digest"`
	At         time.Time `json:"at"`
}

// newAudit returns the record of a decision.
func (s *Store) newAudit(ctx context.Context, job *memory.Job, p *Proposal, decision string, by Caller, reason string) (*audit, error) {
	if len(reason) > MaxRationaleBytes {
		return nil, invalid(fmt.Sprintf("the reason has more than %d bytes", MaxRationaleBytes))
	}
	reason, err := job.Redact(ctx, reason)
	if err != nil {
		return nil, err
	}
	principal, err := job.RedactText(ctx, by.Principal)
	return &audit{p.ID, decision, principal, reason, p.Digest(), job.Now()}, err
}

// Audit yields, for a person or a test that checks a host, the decisions about a proposal, as JSON objects with proposalId, decision
// (applied, overridden, rejected or archived), principal, reason, digest and at, in no
// particular order. It stops after an error.
func (s *Store) Audit(ctx context.Context, job *memory.Job, id string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if id == "" {
			return
		}
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: auditKind, Group: id}) {
			if !yield(d.Value, err) || err != nil {
				return
			}
		}
	}
}

// hostFailed is the error of a part of the host; that of the caller's context stays as it is.
func hostFailed(ctx context.Context, part string, err error) error {
	return hostcall.Failed(ctx, part, err, func(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) })
}
