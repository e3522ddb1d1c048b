package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// conformanceRef is the corpus that the seams work on unless they are told another.
const conformanceRef = "mem://conformance/consolidation"

// addSeams adds what a conformance suite drives the host by: passes that a host starts by itself.
func (h *host) addSeams(handle func(pattern string, serve func(w http.ResponseWriter, r *http.Request, tenant string) error)) {
	handle("POST "+h.wire.Seam("/memory/consolidate"), h.seamConsolidate)
	handle("POST "+h.wire.Seam("/commitment/fire"), h.seamFire)
	handle("POST "+h.wire.Seam("/memory/distill"), h.seamDistill)
	handle("POST "+h.wire.Path("/test/memory/seed"), h.seamSeed)
	handle("POST "+h.wire.Path("/test/memory/compact"), h.seamCompact)
	handle("GET "+h.wire.Path("/memory/{ref}"), h.seamList)
	handle("POST "+h.wire.Path("/test/proposals"), h.seamPropose)
}

// announced is the event of a type among those of a pass, as a client sees it.
func (h *host) announced(recs []events.Record, t events.Type) (json.RawMessage, error) {
	for i := len(recs) - 1; i >= 0; i-- {
		if recs[i].Payload.EventType() == t {
			return h.wire.RunEvent(events.RunEvent{Record: recs[i]})
		}
	}
	return json.RawMessage("null"), nil
}

// seed puts texts into a ref that has none yet, and the canary into one that has none of it.
func seed(ctx context.Context, job *memory.Job, ref string, canary bool, texts ...string) error {
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return err
		}
		texts = nil
		canary = canary && !strings.Contains(e.Content, "[REDACTED:conformance-test-secret]")
	}
	if canary {
		texts = append(texts, "The key is "+testSecret+".", "The key is "+testSecret)
	}
	for _, text := range texts {
		if _, err := job.Put(ctx, ref, memory.Draft{Content: text}); err != nil {
			return err
		}
	}
	return nil
}

// leaked reports whether any entry of a ref holds the secret.
func leaked(ctx context.Context, job *memory.Job, ref string) (bool, error) {
	for e, err := range job.Scan(ctx, ref) {
		if err != nil || strings.Contains(e.Content, testSecret) {
			return err == nil, err
		}
	}
	return false, nil
}

func (h *host) seamConsolidate(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		MemoryRef           string `json:"memoryRef"`
		IncludeSecretCanary bool   `json:"includeSecretCanary"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	if body.MemoryRef == "" {
		body.MemoryRef = conformanceRef
	}
	var out struct {
		Event        json.RawMessage `json:"event"`
		SecretLeaked bool            `json:"secretLeaked"`
	}
	ctx := r.Context()
	err := h.pass(ctx, tenant, "consolidate", func(job *memory.Job) error {
		err := seed(ctx, job, body.MemoryRef, body.IncludeSecretCanary,
			"Ann likes green tea.", "Ann likes green  tea", "The deploy runs at nine.", "The deploy runs at nine")
		if err != nil {
			return err
		}
		done, err := h.reconcile(ctx, job, body.MemoryRef)
		if err != nil {
			return err
		}
		if out.Event, err = h.announced(done, events.TypeMemoryConsolidated); err != nil {
			return err
		}
		out.SecretLeaked, err = leaked(ctx, job, body.MemoryRef)
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

// reconcile makes a pass over a ref. If another one has the ref, it waits for its turn.
func (h *host) reconcile(ctx context.Context, job *memory.Job, ref string) ([]events.Record, error) {
	for {
		done, err := h.reconciler.Run(ctx, job, ref, consolidate.Options{})
		if memory.CodeOf(err) != memory.CodeConflict {
			return done.Events, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (h *host) seamFire(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		MemoryRef              string           `json:"memoryRef"`
		Condition              events.Condition `json:"condition"`
		IncludeIntentionCanary bool             `json:"includeIntentionCanary"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	if body.MemoryRef == "" {
		body.MemoryRef = conformanceRef
	}
	if body.Condition != "" && body.Condition != events.ConditionTime && body.Condition != events.ConditionPredicate {
		return wire.Invalid("condition", "it is neither time nor predicate")
	}
	const intention = "Remind Ann of the quarterly report."
	ctx := r.Context()
	var armed commitment.Commitment
	err := h.pass(ctx, tenant, "arm", func(job *memory.Job) error {
		e, err := job.Put(ctx, body.MemoryRef, memory.Draft{Content: intention})
		if err != nil {
			return err
		}
		arm := commitment.Arm{At: h.bank.Now().Add(50 * time.Millisecond)}
		if body.Condition == events.ConditionPredicate {
			arm = commitment.Arm{Predicate: "ticket.closed", Once: true}
		}
		source := commitment.Source{Ref: body.MemoryRef, MemoryID: e.ID}
		armed, err = h.commitments.Arm(ctx, job, source, arm)
		return err
	})
	if err != nil {
		return err
	}
	if body.Condition == events.ConditionPredicate {
		o := commitment.Observation{Tenant: tenant, Predicate: "ticket.closed", Position: time.Now().UnixNano(), State: []byte(rand.Text()), Holds: true}
		if _, err := h.commitments.Observe(ctx, o); err != nil {
			return err
		}
	}
	var fired []events.Record
	for range 200 { // the host's own loop may fire it, too: whoever does, it fires once
		if _, err := h.commitments.Tick(ctx); err != nil {
			return err
		}
		if fired, err = h.firings(ctx, armed); err != nil || len(fired) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	event, err := h.announced(fired, events.TypeCommitmentFired)
	if err != nil {
		return err
	}
	out := map[string]any{"event": event, "fireCount": len(fired)}
	if body.IncludeIntentionCanary {
		out["intentionCanary"] = intention
	}
	return wire.Reply(w, http.StatusOK, out)
}

// firings are the events of a commitment's last firing, from the log of the pass that made it.
func (h *host) firings(ctx context.Context, armed commitment.Commitment) (fired []events.Record, err error) {
	for c, err := range h.commitments.Commitments(ctx, armed.Tenant) {
		if err != nil {
			return nil, err
		}
		if c.ID != armed.ID || c.Pass == "" {
			continue
		}
		log, err := h.log.Read(ctx, c.Tenant, c.Pass, 0, 0)
		if err != nil {
			return nil, err
		}
		for _, e := range log {
			if p, ok := e.Payload.(events.CommitmentFired); ok && p.CommitmentID == c.ID {
				fired = append(fired, e.Record)
			}
		}
	}
	return fired, nil
}

func (h *host) seamDistill(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		MemoryRef           string   `json:"memoryRef"`
		TokenBudget         int      `json:"tokenBudget"`
		Sources             []string `json:"sources"`
		IndexEmitted        bool     `json:"indexEmitted"`
		IncludeSecretCanary bool     `json:"includeSecretCanary"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	if body.MemoryRef == "" {
		body.MemoryRef = "mem://conformance/distillation"
	}
	out := map[string]any{}
	ctx := r.Context()
	err := h.pass(ctx, tenant, "distill", func(job *memory.Job) error {
		texts := body.Sources
		if len(texts) == 0 {
			texts = []string{"Ann moved to the platform team in March.", "The office is closed on Fridays in August."}
		}
		if err := seed(ctx, job, body.MemoryRef, body.IncludeSecretCanary, texts...); err != nil {
			return err
		}
		done, err := h.distiller.Distill(ctx, job, body.MemoryRef, distill.Options{TokenBudget: body.TokenBudget})
		if err != nil {
			return err
		}
		out["archiveChecksum"], out["indexUpdated"] = done.Archive.String(), done.IndexUpdated
		if out["event"], err = h.announced(done.Events, events.TypeMemoryCompacted); err != nil {
			return err
		}
		if body.IndexEmitted {
			index, _, err := h.distiller.Index(ctx, job)
			if err != nil {
				return err
			}
			out["indexFile"] = index.Encode()
		}
		out["secretLeaked"], err = leaked(ctx, job, body.MemoryRef)
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

func (h *host) seamSeed(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		MemoryRef string    `json:"memoryRef"`
		Content   string    `json:"content"`
		Tags      []string  `json:"tags"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	var stored memory.Entry
	err := h.pass(r.Context(), tenant, "seed", func(job *memory.Job) (err error) {
		stored, err = job.Put(r.Context(), body.MemoryRef, memory.Draft{Content: body.Content, Tags: body.Tags, ExpiresAt: body.ExpiresAt})
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, stored)
}

func (h *host) seamCompact(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		MemoryRef string `json:"memoryRef"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	var out struct {
		Type          string         `json:"type"`
		Payload       events.Payload `json:"payload"`
		OutputContent string         `json:"outputContent"`
	}
	err := h.pass(r.Context(), tenant, "compact", func(job *memory.Job) error {
		done, err := h.distiller.Compact(r.Context(), job, body.MemoryRef, distill.Options{Sources: distill.ExpireSources})
		if err != nil {
			return err
		}
		out.OutputContent = done.Output.Content
		for _, rec := range done.Events {
			if rec.Payload.EventType() == events.TypeMemoryCompacted {
				out.Type, out.Payload = h.wire.EventType(events.TypeMemoryCompacted), rec.Payload
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if out.Payload == nil {
		return wire.Invalid("memoryRef", "there is nothing to compact")
	}
	return wire.Reply(w, http.StatusOK, out)
}

func (h *host) seamList(w http.ResponseWriter, r *http.Request, tenant string) error {
	var o memory.ListOptions
	if asked := r.URL.Query().Get("limit"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil {
			return wire.Invalid("limit", "it is not a number")
		}
		o.Limit = n
	}
	entries, err := h.bank.Reader(tenant).List(r.Context(), r.PathValue("ref"), o)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, map[string]any{"entries": entries})
}

// seamPropose makes a proposal, as an agent of a real host would of its own runs.
func (h *host) seamPropose(w http.ResponseWriter, r *http.Request, tenant string) error {
	var body struct {
		Kind         events.ArtifactKind `json:"kind"`
		Artifact     json.RawMessage     `json:"artifact"`
		Title        string              `json:"title"`
		Rationale    string              `json:"rationale"`
		SourceRunIDs []string            `json:"sourceRunIds"`
	}
	if err := wire.Read(r, 0, &body); err != nil {
		return err
	}
	var made proposal.Proposal
	err := h.pass(r.Context(), tenant, "propose", func(job *memory.Job) (err error) {
		made, err = h.proposals.Create(r.Context(), job, proposal.Draft{
			Kind: body.Kind, Artifact: body.Artifact, Title: body.Title, Rationale: body.Rationale, SourceRunIDs: body.SourceRunIDs,
		})
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, made)
}

// makeExpiredRun makes a run whose token stands on memory that is gone, as after a restored backup:
// here it was another store's.
func (h *host) makeExpiredRun(ctx context.Context, id string) error {
	elsewhere, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		return err
	}
	vault, err := secrets(tenantA)
	if err != nil {
		return err
	}
	lost, err := elsewhere.Start(ctx, memory.RunConfig{ID: id, Tenant: tenantA, Redactor: vault})
	if err != nil {
		return err
	}
	token, err := lost.Token(ctx)
	if err != nil {
		return err
	}
	doc, err := h.start(ctx, tenantA, id, "conformance-noop", memory.RunConfig{}, nil)
	if err != nil {
		return err
	}
	doc.Start = token
	return h.save(ctx, tenantA, doc)
}
