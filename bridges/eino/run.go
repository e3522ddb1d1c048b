package eino

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/adk"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// TokenKey is the name of the session value that holds the run's token, a string that is a [memory.Token].
const TokenKey = "agentmemory.token"

// stateKey is that of what else a resumed run must know, as JSON.
const stateKey = "agentmemory.state"

// Run is one execution of agents, over as many interrupts as it has. Its view is fixed when a model, a tool or a
// Retriever needs it for the first time, or is that of the checkpoint from which it is resumed.
type Run struct {
	bank *memory.Bank
	cfg  memory.RunConfig

	mu    sync.Mutex
	run   *memory.Run // nil until it is opened
	state state
}

// state holds ids by ref.
type state struct {
	// Shown entries were put before the model.
	Shown map[string][]string `json:"shown,omitempty"`
	// Deleted entries stay in the run's view if others wrote them, and must not be shown again.
	Deleted map[string][]string `json:"deleted,omitempty"`
}

type runKey struct{}

// WithRun returns a context for one execution of agents: for Runner.Run, or for Runner.Resume with the same
// configuration after an interrupt. The bank needs a Config.Ranker, and a store whose runs have views.
func WithRun(ctx context.Context, bank *memory.Bank, cfg memory.RunConfig) (context.Context, *Run) {
	r := &Run{bank: bank, cfg: cfg}
	return context.WithValue(ctx, runKey{}, r), r
}

// Open returns the run of memory, for what a host itself reads, writes or emits in it. Unless it is open already
// it is started, from the token in the context's session if there is one. A host that resumes does not
// call it before the agent has gone on, since the session is in the checkpoint. What a host deletes by it goes on
// being shown, as the run's view has it; only what the tool deletes is hidden.
func (r *Run) Open(ctx context.Context) (*memory.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		return r.run, nil
	}
	cfg, saved := r.cfg, state{}
	token, goesOn := adk.GetSessionValue(ctx, TokenKey)
	known, hasState := adk.GetSessionValue(ctx, stateKey)
	if goesOn || hasState {
		text, _ := token.(string)
		cfg.Resume = memory.Token(text)
		if text, _ = known.(string); text == "" || json.Unmarshal([]byte(text), &saved) != nil || cfg.Resume == "" {
			return nil, fmt.Errorf("eino: the session's values are not those of a run: %w", memory.ErrSnapshotUnavailable)
		}
	}
	run, err := r.bank.Start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("eino: the run cannot be opened: %w", err)
	}
	r.run, r.state = run, saved
	return run, nil
}

// End ends the run of memory when the agents are done: its registry is closed and its events are with the sink,
// see [memory.Run.End]. After an interrupt it is not called until the run was resumed and has come to its end.
func (r *Run) End(ctx context.Context, last ...events.Record) error {
	run, err := r.Open(ctx)
	if err != nil {
		return err
	}
	return run.End(ctx, last...)
}

// in calls f with the run of the context, and puts the position that the run has then into the session. An
// error that is not of f is fatal.
func in(ctx context.Context, f func(*Run, *memory.Run) error) (failed, fatal error) {
	r, ok := ctx.Value(runKey{}).(*Run)
	if !ok {
		return nil, errors.New("eino: the context has no run of memory, see WithRun")
	}
	run, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	failed = f(r, run)
	if err := r.save(ctx); err != nil {
		return nil, err
	}
	return failed, ctx.Err()
}

// save puts the run's position into the session. It holds the lock, so that of two that save at once the
// later one has everything.
func (r *Run) save(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, err := r.run.Token(ctx)
	if errors.Is(err, memory.ErrNotProvided) || errors.Is(err, memory.ErrEnded) {
		return nil // a replay has no position, and an ended run none that anybody goes on from
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	adk.AddSessionValues(ctx, map[string]any{TokenKey: string(token), stateKey: string(text)})
	return nil
}

// recall returns what the run sees and has not deleted.
func (r *Run) recall(ctx context.Context, run *memory.Run, ref string, q memory.Search) ([]memory.Hit, error) {
	r.mu.Lock()
	gone := slices.Clone(r.state.Deleted[ref])
	r.mu.Unlock()
	limit := q.Limit
	q.Limit = min(limit+len(gone), memory.MaxListLimit)
	hits, err := run.Search(ctx, ref, q)
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool { return slices.Contains(gone, h.Entry.ID) })
	return hits[:min(limit, len(hits))], err
}

func (r *Run) delete(ctx context.Context, run *memory.Run, ref, id string) (bool, error) {
	r.mu.Lock()
	again := slices.Contains(r.state.Deleted[ref], id)
	r.mu.Unlock()
	if again {
		return false, nil
	}
	existed, err := run.Delete(ctx, ref, id)
	if err == nil && existed {
		r.mu.Lock()
		note(&r.state.Deleted, ref, id)
		r.mu.Unlock()
	}
	return existed, err
}

// show notes that the model was shown entries.
func (r *Run) show(ref string, hits []memory.Hit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range hits {
		note(&r.state.Shown, ref, h.Entry.ID)
	}
}

func note(ids *map[string][]string, ref, id string) {
	if *ids == nil {
		*ids = map[string][]string{}
	}
	if !slices.Contains((*ids)[ref], id) {
		(*ids)[ref] = append((*ids)[ref], id)
	}
}

// sources returns the entries that the model was shown. ok is false if one of them was deleted by the run, was
// forgotten or has expired.
func (r *Run) sources(ctx context.Context, run *memory.Run) (found []memory.Entry, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, ids := range r.state.Shown {
		for _, id := range ids {
			e, err := run.Memory().Get(ctx, ref, id)
			if errors.Is(err, memory.ErrNotFound) || slices.Contains(r.state.Deleted[ref], id) {
				return nil, false, nil
			}
			if err != nil {
				return nil, false, err
			}
			found = append(found, e)
		}
	}
	return found, true, nil
}
