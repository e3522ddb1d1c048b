package adk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	adkmemory "google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// Place is where the memory of an app's user is.
type Place struct{ Tenant, Ref string }

// Config sets up a Memory.
type Config struct {
	// Bank holds the entries. Its store is one whose runs have views, and with a Config.Ranker it recalls by words and meaning.
	Bank *memory.Bank
	// Place maps an app and a user as ADK names them. Two users of one place share their memory.
	Place func(app, user string) Place
	// Secrets opens the redactor of a run or of a pass of a session, with every secret that the session may see. The id is
	// empty for a question without an invocation.
	Secrets func(ctx context.Context, app, user, sessionID string) (memory.Redactor, error)
	// RecallTokens bounds what one recall shows, with some 100 around the entries. It must be positive.
	RecallTokens int
	// Tokens counts them; nil is [distill.Estimator].
	Tokens distill.Tokenizer
	// Draft, if set, changes what is stored of an event, such as its subjects or its TTL. One without content is nothing.
	Draft func(e *session.Event, d memory.Draft) memory.Draft
	// Logger, if set, is told of what could not be stored, and of runs that did not end well: by codes, never by what was said.
	Logger *slog.Logger
}

// Recalled is how many entries a recall looks at.
const Recalled = 10

// sourcesKey names, in the metadata of an event, the ids of the entries that its invocation was shown.
const sourcesKey = "agentmemory.sources"

// Memory is the memory of agents. Use [New].
type Memory struct {
	cfg Config

	mu          sync.Mutex
	invocations map[string]*invocation
}

// New returns a memory. It fails if something required is missing.
func New(cfg Config) (*Memory, error) {
	if cfg.Bank == nil || cfg.Place == nil || cfg.Secrets == nil || cfg.RecallTokens <= 0 {
		return nil, errors.New("adk: Bank, Place, Secrets and RecallTokens are required")
	}
	if cfg.Tokens == nil {
		cfg.Tokens = distill.Estimator{}
	}
	if cfg.Draft == nil {
		cfg.Draft = func(_ *session.Event, d memory.Draft) memory.Draft { return d }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Memory{cfg: cfg, invocations: map[string]*invocation{}}, nil
}

// Subject is the label of what a session has said.
func Subject(sessionID string) string { return "session:" + sessionID }

// Service returns the memory as ADK's runner takes it.
func (m *Memory) Service() adkmemory.Service { return service{m} }

type service struct{ *Memory }

// AddSessionToMemory stores the events of a session that are not stored yet.
func (m service) AddSessionToMemory(ctx context.Context, s session.Session) error {
	place := m.cfg.Place(s.AppName(), s.UserID())
	secrets, err := m.cfg.Secrets(ctx, s.AppName(), s.UserID(), s.ID())
	if err != nil {
		return fmt.Errorf("adk: the secrets of the session are not known: %w", err)
	}
	pass := memory.JobConfig{ID: "adk-session-" + rand.Text(), Tenant: place.Tenant, Redactor: secrets}
	return m.cfg.Bank.Pass(ctx, pass, func(job *memory.Job) error {
		for e := range s.Events().All() {
			err := m.addEvent(ctx, job, place.Ref, secrets, s.ID(), e)
			switch {
			case errors.Is(err, memory.ErrConflict), errors.Is(err, memory.ErrDeleted): // it was stored before
			case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
				m.cfg.Logger.WarnContext(ctx, "an event was not stored", "why", memory.CodeOf(err))
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// addEvent stores what an event says, unless it says nothing or was made from what has ended.
func (m service) addEvent(ctx context.Context, job *memory.Job, ref string, secrets memory.Redactor, sessionID string, e *session.Event) error {
	d := memory.Draft{Content: textOf(e.Content), Tags: []string{"author:" + e.Author}, Subjects: []string{Subject(sessionID)},
		Key: "adk event " + conversation.Digest(sessionID, e.ID), AgentID: e.Author}
	if e.Partial || d.Content == "" {
		return nil
	}
	if now := job.Now(); e.Timestamp.Before(now) {
		d.CreatedAt = e.Timestamp
	}
	if d = m.cfg.Draft(e, d); strings.TrimSpace(d.Content) == "" {
		return nil
	}
	shown, _ := e.CustomMetadata[sourcesKey].(string)
	ids := strings.Fields(shown)
	sources, err := job.Live(ctx, ref, ids)
	if err != nil || len(sources) < len(ids) {
		return err
	}
	conversation.Inherit(&d, sources, job.Now())
	if e.Author != "user" { // what a model says may repeat what it was told of a secret
		if d.Content, err = secrets.RedactDerived(d.Content); err != nil {
			return err
		}
	}
	_, err = job.Put(ctx, ref, d)
	return err
}

// textOf is what a content says, without thoughts.
func textOf(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var texts []string
	for _, part := range c.Parts {
		if part != nil && !part.Thought && strings.TrimSpace(part.Text) != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// SearchMemory returns the entries that answer a query: in an invocation those that its run sees, and live ones otherwise.
func (m service) SearchMemory(ctx context.Context, r *adkmemory.SearchRequest) (*adkmemory.SearchResponse, error) {
	place := m.cfg.Place(r.AppName, r.UserID)
	hits, shown, err := m.search(ctx, r, place, conversation.Question(r.Query))
	if err != nil {
		return nil, err
	}
	kept, _ := conversation.Fit(hits, m.hasRoom, conversation.Notes)
	shown(kept)
	found := &adkmemory.SearchResponse{}
	for _, h := range kept {
		author := ""
		for _, tag := range h.Entry.Tags {
			author, _ = strings.CutPrefix(tag, "author:")
		}
		found.Memories = append(found.Memories, adkmemory.Entry{ID: h.Entry.ID, Author: author, Timestamp: h.Entry.CreatedAt,
			Content: genai.NewContentFromText(h.Entry.Content, genai.RoleUser)})
	}
	return found, nil
}

// search returns what answers a question, and the function that is told which of it was shown.
func (m service) search(ctx context.Context, r *adkmemory.SearchRequest, place Place, question string) ([]memory.Hit, func([]memory.Hit), error) {
	if question == "" {
		return nil, func([]memory.Hit) {}, nil
	}
	if in, ok := ctx.(agent.InvocationContext); ok {
		if v := m.invocation(in.InvocationID()); v != nil && v.place == place {
			hits, err := v.search(ctx, question)
			return hits, v.show, err
		}
	}
	secrets, err := m.cfg.Secrets(ctx, r.AppName, r.UserID, "")
	if err == nil {
		question, err = secrets.Redact(question)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("adk: the question cannot be redacted: %w", err)
	}
	hits, err := m.cfg.Bank.Search(ctx, place.Tenant, place.Ref, memory.Search{Text: question, Limit: Recalled})
	return hits, func([]memory.Hit) {}, err
}

func (m *Memory) hasRoom(text string) bool { return m.cfg.Tokens.Count(text) <= m.cfg.RecallTokens }

func (m *Memory) invocation(id string) *invocation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.invocations[id]
}

// invocation is one run of the agents of a user.
type invocation struct {
	place Place
	run   *memory.Run

	mu      sync.Mutex
	shown   []string        // ids of entries that the models were shown
	deleted map[string]bool // ids of entries that stay in the run's view, and must not be shown again
}

func (v *invocation) search(ctx context.Context, question string) ([]memory.Hit, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	hits, err := v.run.Search(ctx, v.place.Ref, memory.Search{Text: question, Limit: min(Recalled+len(v.deleted), memory.MaxListLimit)})
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool { return v.deleted[h.Entry.ID] })
	return hits[:min(Recalled, len(hits))], err
}

func (v *invocation) show(hits []memory.Hit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, h := range hits {
		if !slices.Contains(v.shown, h.Entry.ID) {
			v.shown = append(v.shown, h.Entry.ID)
		}
	}
}

// delete takes out an entry that the run sees, once.
func (v *invocation) delete(ctx context.Context, id string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.deleted[id] {
		return false, nil
	}
	existed, err := v.run.Delete(ctx, v.place.Ref, id)
	if existed {
		v.deleted[id] = true
	}
	return existed, err
}
