package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/bridges/dates"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// addSeams adds what a conformance suite drives the host by: passes that a host starts by itself. In
// version 2 no path serves memory.
func (a *api) addSeams() {
	seam := func(pattern string, serve func(w http.ResponseWriter, r *http.Request, tenant string) error) {
		a.mux.Handle(pattern, bounded(a.serve(serve)))
	}
	seam("POST "+a.Seam("/memory/consolidate"), a.seamConsolidate)
	seam("POST "+a.Seam("/memory/distill"), a.seamDistill)
	seam("POST "+a.Seam("/commitment/fire"), a.seamFire)
	if a.Version == wire.V2 {
		return
	}
	seam("POST "+a.Path("/test/memory/seed"), a.seamSeed)
	seam("POST "+a.Path("/test/memory/compact"), a.seamCompact)
	seam("POST "+a.Path("/test/proposals"), a.seamPropose)
	seam("GET "+a.Path("/memory/{ref}"), a.seamList)
	seam("POST "+a.Seam("/workspace/op"), a.seamFiles)
	seam("POST "+a.Seam("/scheduling/tick"), a.seamTick)
}

// conformanceRef is a corpus that has duplicates before the first call.
const conformanceRef = "mem://conformance/consolidation"

// plantSeams makes what a suite expects to be there: for each tenant a corpus with duplicates, and a
// proposal under review that was learnt from a run.
func (h *host) plantSeams(ctx context.Context) error {
	for _, tenant := range []string{tenantA, tenantB} {
		run, err := h.start(ctx, tenant, beginning{id: "run-host-sample-learning", workflow: "conformance-noop"})
		if err != nil {
			return err
		}
		err = h.pass(ctx, tenant, "plant", func(job *memory.Job) error {
			for _, text := range []string{"Ann likes green tea.", "Ann likes green  tea", "The deploy runs at nine.", "The deploy runs at nine"} {
				if _, err := job.Put(ctx, conformanceRef, memory.Draft{Content: text}); err != nil {
					return err
				}
			}
			for _, err := range h.proposals.List(ctx, job, proposal.StateDraft, "") {
				return err // there is one
			}
			_, err := h.proposals.Create(ctx, job, proposal.Draft{
				Kind: events.KindAutomation, Artifact: json.RawMessage(`{"schedule":"0 9 * * 1","steps":[{"say":"hello"}]}`),
				Title: "Say hello on Mondays", SourceRunIDs: []string{run.RunID},
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inTurn makes a pass of a seam when those that were called before have ended.
func (h *host) inTurn(ctx context.Context, tenant, name string, f func(*memory.Job) error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case h.seamTurn <- struct{}{}:
		defer func() { <-h.seamTurn }()
		return h.pass(ctx, tenant, name, f)
	}
}

// announced is the payload of a type among the events of a pass, as a client sees it. A pass over
// entries that hold no word announces nothing.
func (a *api) announced(tenant string, recs []events.Record, t events.Type) (json.RawMessage, error) {
	for i := len(recs) - 1; i >= 0; i-- {
		if recs[i].Payload.EventType() == t {
			return a.Payload(tenant, recs[i].Payload)
		}
	}
	return nil, wire.Invalid("memoryRef", "there is nothing in it to condense")
}

// canaries are two texts of one secret, which is redacted when they are stored.
var canaries = []string{"The key " + testSecret + " is for the deploy.", "The key " + testSecret + " is for the deploy"}

// plant puts texts into a ref that it does not have yet, and returns the entries of all, by their ids.
func plant(ctx context.Context, job *memory.Job, ref string, texts []string) (map[string]bool, error) {
	have := map[string]string{}
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return nil, err
		}
		if len(e.Sources) == 0 {
			have[e.Content] = e.ID
		}
	}
	ids := map[string]bool{}
	for _, text := range texts {
		clean, err := job.Redact(ctx, text)
		if err != nil {
			return nil, err
		}
		if have[clean] == "" {
			e, err := job.Put(ctx, ref, memory.Draft{Content: text})
			if err != nil {
				return nil, err
			}
			have[clean] = e.ID
		}
		ids[have[clean]] = true
	}
	return ids, nil
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

// aboutMemory is what the seams are asked.
type aboutMemory struct {
	MemoryRef              string           `json:"memoryRef"`
	Condition              events.Condition `json:"condition"`
	TokenBudget            int              `json:"tokenBudget"`
	Sources                []source         `json:"sources"`
	IndexEmitted           bool             `json:"indexEmitted"`
	IncludeSecretCanary    bool             `json:"includeSecretCanary"`
	IncludeIntentionCanary bool             `json:"includeIntentionCanary"`
}

// source is a text, or an object with it.
type source string

func (s *source) UnmarshalJSON(raw []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &object.Content); err != nil {
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
	}
	*s = source(object.Content)
	return nil
}

func (a *api) readRequest(r *http.Request) (asked aboutMemory, err error) {
	err = wire.Read(r, 0, &asked)
	if err == nil && asked.MemoryRef == "" {
		err = wire.Invalid("memoryRef", "it is missing")
	}
	return asked, err
}

func (a *api) seamConsolidate(w http.ResponseWriter, r *http.Request, tenant string) error {
	asked, err := a.readRequest(r)
	if err != nil {
		return err
	}
	out, ctx := map[string]any{}, r.Context()
	err = a.inTurn(ctx, tenant, "consolidate", func(job *memory.Job) error {
		if asked.IncludeSecretCanary {
			if _, err := plant(ctx, job, asked.MemoryRef, canaries); err != nil {
				return err
			}
		}
		done, err := a.reconcile(ctx, job, asked.MemoryRef)
		if err != nil {
			return err
		}
		if out["event"], err = a.announced(tenant, done, events.TypeMemoryConsolidated); err != nil {
			return err
		}
		out["secretLeaked"], err = leaked(ctx, job, asked.MemoryRef)
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

// reconcile makes a pass over a ref. It waits for one that a killed process has left.
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

func (a *api) seamDistill(w http.ResponseWriter, r *http.Request, tenant string) error {
	asked, err := a.readRequest(r)
	if err != nil {
		return err
	}
	out, ctx := map[string]any{}, r.Context()
	err = a.inTurn(ctx, tenant, "distill", func(job *memory.Job) error {
		o := distill.Options{TokenBudget: asked.TokenBudget}
		var texts []string
		for _, s := range asked.Sources {
			texts = append(texts, string(s))
		}
		if asked.IncludeSecretCanary {
			texts = append(texts, canaries...)
		}
		if len(texts) == 0 { // the ref's own, and something for one that has none
			for e, err := range job.Scan(ctx, asked.MemoryRef) {
				if err != nil {
					return err
				}
				texts = append(texts, e.Content)
				break
			}
			if len(texts) == 0 {
				texts = []string{"Ann moved to the platform team in March.", "The office is closed on Fridays in August."}
			}
		}
		ids, err := plant(ctx, job, asked.MemoryRef, texts)
		if err != nil {
			return err
		}
		if len(asked.Sources) > 0 {
			o.Select = func(e memory.Entry) bool { return ids[e.ID] }
		}
		done, err := a.distiller.Distill(ctx, job, asked.MemoryRef, o)
		if err != nil {
			return err
		}
		out["archiveChecksum"], out["indexUpdated"] = done.Archive, done.IndexUpdated
		if out["event"], err = a.announced(tenant, done.Events, events.TypeMemoryCompacted); err != nil {
			return err
		}
		if asked.IndexEmitted { // also if this pass has brought nothing new, the file is written again
			index, _, err := a.distiller.Index(ctx, job)
			if err != nil {
				return err
			}
			out["indexFile"], out["indexUpdated"] = index.Encode(), true
		}
		out["secretLeaked"], err = leaked(ctx, job, asked.MemoryRef)
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

func (a *api) seamFire(w http.ResponseWriter, r *http.Request, tenant string) error {
	asked, err := a.readRequest(r)
	if err != nil {
		return err
	}
	if asked.Condition != "" && asked.Condition != events.ConditionTime && asked.Condition != events.ConditionPredicate {
		return wire.Invalid("condition", "it is neither time nor predicate")
	}
	const intention = "Remind Ann of the quarterly report."
	ctx := r.Context()
	var armed commitment.Commitment
	err = a.pass(ctx, tenant, "arm", func(job *memory.Job) error {
		e, err := job.Put(ctx, asked.MemoryRef, memory.Draft{Content: intention})
		if err != nil {
			return err
		}
		arm := commitment.Arm{At: a.bank.Now().Add(500 * time.Millisecond)}
		if asked.Condition == events.ConditionPredicate {
			arm = commitment.Arm{Predicate: "ticket.closed", Once: true}
		}
		armed, err = a.commitments.Arm(ctx, job, commitment.Source{Ref: asked.MemoryRef, MemoryID: e.ID}, arm)
		return err
	})
	if err != nil {
		return err
	}
	if asked.Condition == events.ConditionPredicate {
		o := commitment.Observation{Tenant: tenant, Predicate: "ticket.closed", Position: time.Now().UnixNano(), State: []byte(rand.Text()), Holds: true}
		if _, err := a.commitments.Observe(ctx, o); err != nil {
			return err
		}
	}
	var fired []events.Record
	for len(fired) == 0 { // the host's own loop may fire it, too: it fires once
		if _, err := a.commitments.Tick(ctx); err != nil {
			return err
		}
		if fired, err = a.firings(ctx, armed); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	event, err := a.announced(tenant, fired, events.TypeCommitmentFired)
	if err != nil {
		return err
	}
	out := map[string]any{"event": event, "fireCount": len(fired)}
	if asked.IncludeIntentionCanary {
		out["intentionCanary"] = intention
	}
	return wire.Reply(w, http.StatusOK, out)
}

// fired counts the runs of firings by their keys.
type fired map[string]bool

func (runs fired) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	runs[f.Key] = true
	return runID("firing", f.Key), nil
}

// seamTick lets a schedule of every minute fire, by a clock of its own over memory that ends with the
// answer, after the ticks that were missed.
func (a *api) seamTick(w http.ResponseWriter, r *http.Request, tenant string) error {
	var asked struct {
		Scenario    string `json:"scenario"`
		MissedTicks int    `json:"missedTicks"`
	}
	if err := wire.Read(r, 0, &asked); err != nil {
		return err
	}
	if asked.Scenario != "single-tick" && asked.Scenario != "missed-window" || asked.MissedTicks < 0 || asked.MissedTicks > 1000 {
		return wire.Invalid("scenario", "it is neither single-tick nor missed-window with up to 1000 missedTicks")
	}
	ctx, now, runs := r.Context(), a.bank.Now(), fired{}
	bank, err := memory.New(inmem.New(), memory.Config{Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	secrets := func(context.Context, string) (memory.Redactor, error) { return newVault(nil) }
	engine, err := commitment.New(bank, commitment.Config{Redactor: secrets, Schedule: dates.Cron, Enqueuer: runs})
	if err != nil {
		return err
	}
	vault, err := newVault(nil)
	if err != nil {
		return err
	}
	err = bank.Pass(ctx, memory.JobConfig{ID: "arm", Tenant: tenant, Redactor: vault}, func(job *memory.Job) error {
		e, err := job.Put(ctx, conformanceRef, memory.Draft{Content: "Look at the tickets."})
		if err != nil {
			return err
		}
		_, err = engine.Arm(ctx, job, commitment.Source{Ref: conformanceRef, MemoryID: e.ID}, commitment.Arm{Spec: "* * * * *"})
		return err
	})
	now = now.Add(time.Duration(1+asked.MissedTicks) * time.Minute)
	for range 3 { // a second tick fires nothing more
		if err == nil {
			_, err = engine.Tick(ctx)
		}
	}
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, map[string]int{"runsFired": len(runs)})
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
		log, err := h.recorded(ctx, c.Tenant, c.Pass)
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

// seamSeed stores entries. Their ids are the host's: those of the request are not used.
func (a *api) seamSeed(w http.ResponseWriter, r *http.Request, tenant string) error {
	var asked struct {
		MemoryRef string `json:"memoryRef"`
		Entries   []struct {
			ID        string    `json:"id"`
			Content   string    `json:"content"`
			Tags      []string  `json:"tags"`
			ExpiresAt time.Time `json:"expiresAt"`
		} `json:"entries"`
	}
	if err := wire.Read(r, 0, &asked); err != nil {
		return err
	}
	if len(asked.Entries) == 0 {
		return wire.Invalid("entries", "there is none")
	}
	stored := []memory.Entry{}
	err := a.pass(r.Context(), tenant, "seed", func(job *memory.Job) error {
		for _, e := range asked.Entries {
			put, err := job.Put(r.Context(), asked.MemoryRef, memory.Draft{Content: e.Content, Tags: e.Tags, ExpiresAt: e.ExpiresAt})
			if err != nil {
				return err
			}
			stored = append(stored, put)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusCreated, map[string]any{"entries": stored})
}

func (a *api) seamCompact(w http.ResponseWriter, r *http.Request, tenant string) error {
	asked, err := a.readRequest(r)
	if err != nil {
		return err
	}
	out := map[string]any{"type": a.EventType(events.TypeMemoryCompacted)}
	err = a.inTurn(r.Context(), tenant, "compact", func(job *memory.Job) error {
		done, err := a.distiller.Compact(r.Context(), job, asked.MemoryRef, distill.Options{Sources: distill.ExpireSources})
		if err != nil {
			return err
		}
		out["outputContent"] = done.Output.Content
		out["payload"], err = a.announced(tenant, done.Events, events.TypeMemoryCompacted)
		return err
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

func (a *api) seamList(w http.ResponseWriter, r *http.Request, tenant string) error {
	var o memory.ListOptions
	if asked := r.URL.Query().Get("limit"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil {
			return wire.Invalid("limit", "it is not a number")
		}
		o.Limit = n
	}
	entries, err := a.bank.Reader(tenant).List(r.Context(), r.PathValue("ref"), o)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, map[string]any{"entries": entries})
}

// seamFiles reads and writes files as an owner that it is told. Each pair of names is a tenant of its
// own, below that of the caller.
func (a *api) seamFiles(w http.ResponseWriter, r *http.Request, tenant string) error {
	var asked struct {
		Tenant    string `json:"tenant"`
		Workspace string `json:"workspace"`
		Op        string `json:"op"`
		Path      string `json:"path"`
		Content   string `json:"content"`
	}
	if err := wire.Read(r, 0, &asked); err != nil {
		return err
	}
	owner := tenant + "-" + digest(fmt.Sprintf("%q", []string{asked.Tenant, asked.Workspace}))
	files := &workspace.Handler{Workspace: a.files, Wire: a.Encoder, Job: func(*http.Request) (*memory.Job, error) { return a.job(owner, "host-files") }}
	body, err := json.Marshal(map[string]string{"content": asked.Content})
	if err != nil {
		return err
	}
	method, path := map[string]string{"put": "PUT", "get": "GET", "list": "GET", "delete": "DELETE"}[asked.Op], a.Files("")
	if method == "" {
		return wire.Invalid("op", "it is none of put, get, list and delete")
	}
	if asked.Op != "list" {
		path += "/" + url.PathEscape(asked.Path)
	}
	op, err := http.NewRequestWithContext(r.Context(), method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	files.ServeHTTP(w, op)
	return nil
}

// seamPropose makes a proposal, as an agent of a real host would of its own runs.
func (a *api) seamPropose(w http.ResponseWriter, r *http.Request, tenant string) error {
	var asked struct {
		Kind         events.ArtifactKind `json:"kind"`
		Artifact     json.RawMessage     `json:"artifact"`
		Title        string              `json:"title"`
		Rationale    string              `json:"rationale"`
		SourceRunIDs []string            `json:"sourceRunIds"`
	}
	if err := wire.Read(r, 0, &asked); err != nil {
		return err
	}
	var made proposal.Proposal
	err := a.pass(r.Context(), tenant, "propose", func(job *memory.Job) (err error) {
		made, err = a.proposals.Create(r.Context(), job, proposal.Draft{
			Kind: asked.Kind, Artifact: asked.Artifact, Title: asked.Title, Rationale: asked.Rationale, SourceRunIDs: asked.SourceRunIDs,
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
	vault, err := newVault(nil)
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
	doc, err := h.start(ctx, tenantA, beginning{id: id, workflow: "conformance-noop"})
	if err != nil {
		return err
	}
	points, err := h.points(ctx, tenantA, doc.RunID)
	for n := range points {
		err = errors.Join(err, h.keepPoint(ctx, tenantA, doc.RunID, n, token))
	}
	return err
}
