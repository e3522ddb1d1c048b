package langchaingo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	lcmemory "github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// Config says what a chain recalls and remembers.
type Config struct {
	// Ref is the memoryRef that is read and written, of the run's tenant.
	Ref string
	// RecallTokens bounds what one recall puts into the prompt, with some 100 around the entries. It must be positive.
	RecallTokens int
	// RememberTokens bounds what is remembered of an exchange. A longer one is not remembered, and with 0 none is.
	RememberTokens int
	// Tokens counts both; nil is [distill.Estimator].
	Tokens distill.Tokenizer
	// Draft makes of an input and its output what is to be remembered; one without content is nothing. Nil is one
	// entry of both, with the tag "exchange".
	Draft func(ctx context.Context, input, output string) memory.Draft
	// MemoryKey names the variable of the prompt; empty is "history". InputKey and OutputKey name what is remembered;
	// empty is the only input or output that there is.
	MemoryKey, InputKey, OutputKey string
	// Logger, if set, is told when an exchange was not remembered, and why: by a code, never by what it says.
	Logger *slog.Logger
}

// Recalled is how many entries that answer an input a recall looks at, and how many of the newest.
const Recalled = 10

// Memory is a [schema.Memory] of one run. Use [New].
type Memory struct {
	bank *memory.Bank
	run  *memory.Run
	who  memory.RunConfig
	cfg  Config

	mu    sync.Mutex
	shown map[string][]string // ids by the input for which they were loaded; without one they count for every input
	gone  map[string]bool     // ids of what was cleared, which the run goes on seeing if others wrote it
}

var _ schema.Memory = (*Memory)(nil)

// New starts a run and returns its memory. The bank needs a store whose runs have views; with a Config.Ranker it recalls
// by words and meaning. It fails if the ref is missing or a budget is none, or as [memory.Bank.Start] does.
func New(ctx context.Context, bank *memory.Bank, run memory.RunConfig, cfg Config) (*Memory, error) {
	if cfg.Ref == "" || cfg.RecallTokens <= 0 || cfg.RememberTokens < 0 {
		return nil, errors.New("langchaingo: the ref is missing, or a budget is not positive")
	}
	if cfg.Tokens == nil {
		cfg.Tokens = distill.Estimator{}
	}
	if cfg.Draft == nil {
		cfg.Draft = exchange
	}
	if cfg.MemoryKey == "" {
		cfg.MemoryKey = "history"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	started, err := bank.Start(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("langchaingo: the run cannot be started: %w", err)
	}
	return &Memory{bank: bank, run: started, who: run, cfg: cfg, shown: map[string][]string{}, gone: map[string]bool{}}, nil
}

func exchange(_ context.Context, input, output string) memory.Draft {
	return memory.Draft{Content: "Asked: " + input + "\nAnswered: " + output, Tags: []string{"exchange"}}
}

// Run returns the run, for what a host itself reads, writes or emits in it.
func (m *Memory) Run() *memory.Run { return m.run }

// End ends the run, see [memory.Run.End].
func (m *Memory) End(ctx context.Context) error { return m.run.End(ctx) }

// GetMemoryKey returns the name of the prompt's variable.
func (m *Memory) GetMemoryKey(context.Context) string { return m.cfg.MemoryKey }

// MemoryVariables returns the names of the prompt's variables, which is one.
func (m *Memory) MemoryVariables(context.Context) []string { return []string{m.cfg.MemoryKey} }

// LoadMemoryVariables returns what is known that may bear on the input. Without inputs it is the newest entries.
func (m *Memory) LoadMemoryVariables(ctx context.Context, inputs map[string]any) (map[string]any, error) {
	question, err := "", error(nil)
	if len(inputs) > 0 {
		question, err = value(inputs, m.cfg.InputKey)
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	hits, err := m.search(ctx, conversation.Question(question))
	if err != nil {
		return nil, err
	}
	kept, text := conversation.Fit(hits, func(text string) bool { return m.cfg.Tokens.Count(text) <= m.cfg.RecallTokens }, conversation.Notes)
	if len(kept) == 0 {
		return map[string]any{m.cfg.MemoryKey: ""}, nil
	}
	ids := make([]string, len(kept))
	for i := range kept {
		ids[i] = kept[i].Entry.ID
	}
	m.shown[question] = ids
	return map[string]any{m.cfg.MemoryKey: text}, nil
}

// search returns the entries that answer a question, and then the newest that do not.
func (m *Memory) search(ctx context.Context, question string) (hits []memory.Hit, err error) {
	if question != "" {
		if hits, err = m.run.Search(ctx, m.cfg.Ref, memory.Search{Text: question, Limit: Recalled}); err != nil {
			return nil, err
		}
	}
	newest, err := m.run.Search(ctx, m.cfg.Ref, memory.Search{Limit: Recalled})
	for _, n := range newest {
		if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Entry.ID == n.Entry.ID }) {
			hits = append(hits, n)
		}
	}
	return slices.DeleteFunc(hits, func(h memory.Hit) bool { return m.gone[h.Entry.ID] }), err
}

// SaveContext remembers an exchange, unless what it says or was made from stands against it.
func (m *Memory) SaveContext(ctx context.Context, inputs, outputs map[string]any) error {
	input, err := value(inputs, m.cfg.InputKey)
	if err != nil {
		return err
	}
	output, err := value(outputs, m.cfg.OutputKey)
	if err != nil || m.cfg.RememberTokens == 0 {
		return err
	}
	why, err := conversation.Answer{
		Bank: m.bank, Tenant: m.who.Tenant, Redactor: m.who.Redactor, Ref: m.cfg.Ref, Draft: m.cfg.Draft(ctx, input, output), Bridge: "langchaingo",
		HasRoom: func(content string) bool { return m.cfg.Tokens.Count(content) <= m.cfg.RememberTokens },
		Sources: func(ctx context.Context) ([]memory.Entry, bool, error) { return m.sources(ctx, input) },
	}.Remember(ctx, m.run)
	if why != "" {
		m.cfg.Logger.WarnContext(ctx, "an exchange was not remembered", "why", why)
	}
	return err
}

// sources returns the entries that were shown for an input. ok is false if one of them was cleared, was forgotten or has
// expired.
func (m *Memory) sources(ctx context.Context, input string) (found []memory.Entry, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Concat(m.shown[""], m.shown[input]) {
		e, err := m.run.Memory().Get(ctx, m.cfg.Ref, id)
		if errors.Is(err, memory.ErrNotFound) || m.gone[id] {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		found = append(found, e)
	}
	return found, true, nil
}

// Clear deletes every entry of the ref that the run sees, also those of earlier runs.
func (m *Memory) Clear(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e, err := range m.run.Scan(ctx, m.cfg.Ref) {
		if err == nil {
			_, err = m.run.Delete(ctx, m.cfg.Ref, e.ID)
		}
		if err != nil {
			return err
		}
		m.gone[e.ID] = true
	}
	return nil
}

// value returns the text under a key, or the only one there is. Unlike that of langchaingo its error has no values.
func value(values map[string]any, key string) (string, error) {
	if key == "" && len(values) == 1 {
		for key = range values {
		}
	}
	text, ok := values[key].(string)
	if !ok {
		return "", fmt.Errorf("langchaingo: of %d values none is the text to remember, see Config.InputKey and OutputKey: %w",
			len(values), lcmemory.ErrInvalidInputValues)
	}
	return text, nil
}
