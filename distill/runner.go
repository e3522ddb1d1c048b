package distill

import (
	"cmp"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Defaults of a [Config].
const (
	DefaultMaxTokenBudget    = 128_000
	DefaultSummarizerTimeout = 2 * time.Minute
)

// Config sets up a [Runner]. The zero value compacts and distills.
type Config struct {
	// Summarizer is the host's model; nil is [Extractive].
	Summarizer Summarizer
	// SummarizerTimeout is the deadline of one call to it; 0 means
	// [DefaultSummarizerTimeout].
	SummarizerTimeout time.Duration
	// Tokenizer counts budgets; nil is [Estimator].
	Tokenizer Tokenizer
	// MaxTokenBudget is the largest budget that the host honours, and the one where
	// none is given; 0 means [DefaultMaxTokenBudget].
	MaxTokenBudget int
	// MaxInputEntries bounds the sources of one compaction; 0 does not.
	MaxInputEntries int
	// MaxOutputBytes bounds the content of a new entry; 0 means
	// [memory.DefaultMaxEntryBytes]. It should not be above the bank's own limit.
	MaxOutputBytes int
	// ArchiveRetention is an ISO 8601 duration, such as P90D: how long an archive and
	// the entry that names it live. Empty keeps them for ever.
	ArchiveRetention string
	// RedactorVersion changes when the host changes how its redactor works, other
	// than by the secrets it holds. Archives made under another one are not reused.
	RedactorVersion string
}

// Runner compacts and distills. It holds no state of a pass and is safe for
// concurrent use, in any number of processes over the same stores.
type Runner struct {
	cfg       Config
	retention retention
}

// New returns a runner. It fails with [memory.ErrValidation] for a Config that
// contradicts itself.
func New(cfg Config) (*Runner, error) {
	retention, err := parseRetention(cfg.ArchiveRetention)
	if err != nil {
		return nil, err
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxTokenBudget", int64(cfg.MaxTokenBudget)}, {"MaxInputEntries", int64(cfg.MaxInputEntries)},
		{"MaxOutputBytes", int64(cfg.MaxOutputBytes)}, {"SummarizerTimeout", int64(cfg.SummarizerTimeout)},
	} {
		if limit.value < 0 {
			return nil, invalid("Config." + limit.name + " is below zero: 0 means the default")
		}
	}
	if int64(max(cfg.MaxTokenBudget, cfg.MaxOutputBytes)) > events.MaxInteger {
		return nil, invalid("Config.MaxTokenBudget or Config.MaxOutputBytes is above 2^53-1")
	}
	cfg.Tokenizer = cmp.Or[Tokenizer](cfg.Tokenizer, Estimator{})
	cfg.Summarizer = cmp.Or[Summarizer](cfg.Summarizer, Extractive{})
	cfg.MaxTokenBudget = cmp.Or(cfg.MaxTokenBudget, DefaultMaxTokenBudget)
	cfg.MaxOutputBytes = cmp.Or(cfg.MaxOutputBytes, memory.DefaultMaxEntryBytes)
	cfg.SummarizerTimeout = cmp.Or(cfg.SummarizerTimeout, DefaultSummarizerTimeout)
	return &Runner{cfg: cfg, retention: retention}, nil
}

// The facts that a host advertises (RFC 0012 §A, RFC 0062 §A).

// MaxTokenBudget is the largest budget that is honoured.
func (r *Runner) MaxTokenBudget() int { return r.cfg.MaxTokenBudget }

// TokenizerName is the name of what budgets are counted by.
func (r *Runner) TokenizerName() string { return r.cfg.Tokenizer.Name() }

// Retention is how long an archive is kept, as ArchiveRetention of the [Config] gave it;
// empty if it is kept for ever.
func (r *Runner) Retention() string { return r.retention.String() }

// MaxInputEntries bounds the sources of one compaction; 0 does not.
func (r *Runner) MaxInputEntries() int { return r.cfg.MaxInputEntries }

// MaxOutputBytes bounds the content of what a pass writes.
func (r *Runner) MaxOutputBytes() int { return r.cfg.MaxOutputBytes }
