package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// story is what the screens share.
type story struct {
	place place
	own   []memory.Draft // the user's, beside the bundled ones
	out   io.Writer
	quiet bool // show the last screen only

	now    time.Time
	host   *process
	queue  queue
	triage memory.Token // where the run of screen 4 ended, for screens 5 and 7

	consolidator *consolidate.Consolidator // of screen 3, for screen 8
	distiller    *distill.Runner
}

func (s *story) clock() time.Time { return s.now }

// screen is one part of the story.
type screen struct {
	title, claim, proof string
	source              string // its file, and the calls to copy
	// show does what is claimed, and fails if that does not come true.
	show func(*story, context.Context) error
}

var screens = []screen{
	{"A secret", "an API key that an agent writes into a note never reaches the disk",
		"the notes are kept, without the keys", "secret.go: redact.New, SecretRegistry.Register, Run.Put", (*story).secret},
	{"Two questions", "a question finds its answer by words, and by meaning if they share no word",
		"one answer was found by its words, the other by its meaning", "questions.go, model.go: recall.New, Bank.Search", (*story).questions},
	{"Notes that repeat", "what is said twice becomes one note, and a new fact replaces the old one",
		"one note of each is left, and the summary kept within its budget", "merge.go: Consolidator.Run, Runner.Distill", (*story).merge},
	{"A restart", "a run sees memory as it began, across a restart, and its replay sees that again",
		"neither saw what others wrote, and the replay wrote nothing", "restart.go: Bank.Start, Run.Token, RunConfig", (*story).restart},
	{"What another tenant sees", "another company on the same host cannot tell that acme is there",
		"to all it asks, the answer is that of an empty memory", "tenants.go: Bank.Reader, Bank.Search, Bank.AsOf", (*story).tenants},
	{"A commitment", "what was promised for Monday happens once, although two processes look for it",
		"one run started, on Monday, and knew what to do", "commitment.go: commitment.New, Engine.Arm, Bank.Maintain", (*story).commitment},
	{"A forgotten customer", "one call erases Lena: her notes, what was made of them, their bytes on the disk",
		"nothing of her is found any more, and a past with her in it is refused", "forget.go: Bank.Export, Bank.Forget, Bank.AsOf", (*story).forget},
	{"What this host may claim", "it has all eight abilities that OpenWOP names, and cannot claim what it has not",
		"each claim is derived from the code that bears it", "abilities.go: capability.Derive", (*story).abilities},
}

// tell loads the notes and shows the screens.
func (s *story) tell(ctx context.Context) (err error) {
	stdout := s.out
	if s.quiet {
		s.out = io.Discard
	}
	s.now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC) // a Thursday
	if s.host, err = s.boot(ctx); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.host.close()) }()
	if err := s.load(ctx); err != nil {
		return err
	}
	for i, screen := range screens {
		if i == len(screens)-1 {
			s.out = stdout
		}
		begin := time.Now()
		s.say("\n%d  %s\n   To prove: %s.\n", i+1, strings.ToUpper(screen.title), screen.claim)
		if err := screen.show(s, ctx); err != nil {
			return fmt.Errorf("screen %d: %w", i+1, err)
		}
		s.say("\n   Proven: %s.\n   (%s; %d ms)", screen.proof, screen.source, time.Since(begin).Milliseconds())
	}
	s.say("\nThese calls, step by step: docs/host-in-an-hour.md. The words: docs/concepts.md.")
	return nil
}

// load begins with a memory that has the notes and nothing else. What an earlier start has left is
// dropped; a database with memory of others is refused, since the story's clock is not theirs.
func (s *story) load(ctx context.Context) error {
	for tenant, err := range s.host.bank.Tenants(ctx) {
		if err != nil {
			return err
		}
		if tenant != acme && tenant != globex {
			return errors.New("the database has memory of other tenants, and was left as it is: name a new one")
		}
	}
	if err := errors.Join(s.host.bank.DropTenant(ctx, acme), s.host.bank.DropTenant(ctx, globex)); err != nil {
		return err
	}
	story, err := readNotes("notes.jsonl", strings.NewReader(bundled))
	if err != nil {
		return err
	}
	redacted := 0
	err = s.host.pass(ctx, acme, func(job *memory.Job) error {
		for i, n := range append(story, s.own...) {
			s.now = s.now.Add(time.Millisecond)
			stored, err := job.Put(ctx, ref, n)
			if err != nil {
				return fmt.Errorf("note %d of -in: %w", i+1-len(story), err)
			}
			if stored.Content != n.Content {
				redacted++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.say("The memory of a support agent, in eight screens. The agent works for acme, in runs: one for each")
	s.say("task. It knows %d notes.", len(story))
	if len(s.own) > 0 {
		s.say("Beside them stand %d of yours; in %d of these a secret was redacted.", len(s.own), redacted)
	}
	s.say("Memory is in %s.", s.place.name)
	return nil
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// row says something under a label of its own; without one it goes on under the last.
func (s *story) row(label, format string, args ...any) {
	s.say("   %-20s %s", label, fmt.Sprintf(format, args...))
}

// quote is the beginning of a text, as a line of a screen can show it.
func quote(text string) string {
	const width = 70
	if runes := []rune(text); len(runes) > width {
		text = string(runes[:width-1]) + "…"
	}
	return strconv.Quote(text)
}
