package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

func redaction(ctx context.Context, x *execution) error {
	e, err := x.put(ctx, homeRef, memory.Draft{Content: "The vault resolved " + testSecret + " for this run."})
	if err != nil {
		return err
	}
	back, err := x.Memory().Get(ctx, homeRef, e.ID)
	x.doc.Variables["memoryReadback"] = back
	return err
}

const (
	witnessFixture = "openwop-secrets-run-witness"
	// runRef begins the refs of a run's own secrets (RFC 0229).
	runRef = "run:"
)

// witness tells whether a secret came with the run as it was sent, by a digest that the caller has.
func witness(ctx context.Context, x *execution) error {
	ref, _ := x.doc.Inputs["ref"].(string)
	name, ofRun := strings.CutPrefix(ref, runRef)
	secret, found := x.secrets[name]
	var err *wire.Error
	switch {
	case !ofRun:
		err = &wire.Error{Kind: wire.CodeCredentialForbidden, Message: "only a secret of the run is witnessed"}
	case !found:
		err = &wire.Error{Kind: wire.CodeCredentialNotFound, Message: "the run has no such secret"}
	default:
		sum := sha256.Sum256([]byte(secret))
		x.doc.Variables["witness"] = map[string]any{"matched": x.doc.Inputs["expectedSha256"] == hex.EncodeToString(sum[:])}
		return nil
	}
	return errors.Join(err, x.emit(ctx, event("node.failed", map[string]any{"nodeId": "witness", "error": wire.FailureOf(err)})))
}

func expiry(ctx context.Context, x *execution) error {
	now := x.doc.StartedAt
	// One that has expired already is refused and never gets an id (RFC 0004 §E).
	if _, err := x.put(ctx, homeRef, memory.Draft{Content: "too late", ExpiresAt: now.Add(-time.Minute)}); memory.CodeOf(err) != memory.CodeValidation {
		return err
	}
	x.doc.Variables["expiredId"] = "refused"
	fresh, err := x.put(ctx, homeRef, memory.Draft{Content: "in time", ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		return err
	}
	x.doc.Variables["freshId"] = fresh.ID
	x.doc.Variables["memoryList"], err = x.list(ctx, homeRef, memory.ListOptions{})
	return err
}

// sharedRef is a name under which each tenant has entries of its own.
const sharedRef = "conformance/agent-memory-cti"

func crossTenant(ctx context.Context, x *execution) error {
	e, err := x.put(ctx, sharedRef, memory.Draft{Content: "This tenant's own."})
	if err != nil {
		return err
	}
	x.doc.Variables["ownerEntryId"] = e.ID
	if x.doc.Variables["ownerProbe"], err = x.list(ctx, sharedRef, memory.ListOptions{}); err != nil {
		return err
	}
	// A ref under which another tenant has an entry, as a stranger would name it.
	foreign := "mem://host/private-" + x.doc.Name
	if !x.replays() {
		err := x.host.pass(ctx, "somebody-else", "host-seed-"+x.ID(), func(job *memory.Job) error {
			_, err := job.Put(ctx, foreign, memory.Draft{Content: "Somebody else's."})
			return err
		})
		if err != nil {
			return err
		}
	}
	x.doc.Variables["crossTenantProbe"], err = x.list(ctx, foreign, memory.ListOptions{})
	return err
}

func injectionBudget(ctx context.Context, x *execution) error {
	ref := "mem://host/budget-" + x.doc.Name
	for _, text := range []string{"The first note is short.", "The key was " + testSecret + ".", "The third note is short, too."} {
		if _, err := x.put(ctx, ref, memory.Draft{Content: text}); err != nil {
			return err
		}
	}
	long, err := x.put(ctx, ref, memory.Draft{Content: strings.Repeat("This note is far too long. ", 40)})
	if err != nil {
		return err
	}
	const budget = 200
	within, err := x.list(ctx, ref, memory.ListOptions{TokenBudget: budget})
	if err != nil {
		return err
	}
	total, omitted := 0, true
	for _, e := range within {
		total += chars{}.Count(e.Content)
		omitted = omitted && e.ID != long.ID
		if strings.Contains(e.Content, "[REDACTED:") {
			x.doc.Variables["redactedContentSample"] = e.Content
		}
	}
	x.doc.Variables["tokenBudget"], x.doc.Variables["budgetedTokenTotal"] = budget, total
	x.doc.Variables["overBudgetEntryOmitted"], x.doc.Variables["overBudgetEntryId"] = omitted, long.ID
	x.doc.Variables["budgetedEntries"] = within
	x.doc.Variables["crossTenantBudgetedProbe"], err = x.list(ctx, "mem://host/nobody's", memory.ListOptions{TokenBudget: budget})
	return err
}
