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
	location location
	own      []memory.Draft // the user's, beside the bundled ones
	out      io.Writer
	quiet    bool // show the last screen only

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
	{"A secret", "an API key that an agent writes into a note does not reach the disk",
		"both notes are kept, and neither key is in the files", "secret.go: redact.New, SecretRegistry.Register, Run.Put", (*story).secret},
	{"Two questions", "a question finds notes by the words they share with it, and with a model by meaning",
		"the second answer has no word of its question, and the model found it", "questions.go, model.go: recall.New, Bank.Search", (*story).questions},
	{"Notes that repeat", "what is said twice becomes one note; of notes with one slot tag the newest stays",
		"one note of each pair is left, and a summary is made within a budget of tokens", "merge.go: Consolidator.Run, Runner.Distill", (*story).merge},
	{"A restart", "a run sees memory as it was when it began, also after a restart, and in a replay",
		"neither the resumed run nor its replay saw what others did, and the replay stored nothing", "restart.go: Bank.Start, Run.Token, RunConfig", (*story).restart},
	{"What another tenant sees", "globex, another company on the same host, reads nothing of acme's",
		"globex gets the same answers for acme's data as for data that never existed", "tenants.go: Bank.Reader, Bank.Search, Bank.AsOf", (*story).tenants},
	{"A commitment", "a promise due on Monday starts exactly one run, even if two workers poll for it",
		"one run was started, on Monday, and with the note that says why", "commitment.go: commitment.New, Engine.Arm, Bank.Maintain", (*story).commitment},
	{"A forgotten customer", "one call erases Lena: her notes, what was derived from them, their bytes on the disk",
		"nothing of her is left, the notes of others are, and a past with her in it is refused", "forget.go: Bank.Export, Bank.Forget, Bank.AsOf", (*story).forget},
	{"What this host may claim", "what a host says of its memory in the OpenWOP protocol is computed, not written by hand",
		"the host may claim all eight abilities of the protocol, and no more than it has", "abilities.go: capability.Derive", (*story).abilities},
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
		s.say("\n%d  %s\n   To show: %s.\n", i+1, strings.ToUpper(screen.title), screen.claim)
		if err := screen.show(s, ctx); err != nil {
			return fmt.Errorf("screen %d: %w", i+1, err)
		}
		s.say("\n   Shown: %s.\n   (to read: %s; it took %d ms)", screen.proof, screen.source, time.Since(begin).Milliseconds())
	}
	s.say("\nThese calls, step by step: docs/host-in-an-hour.md. The words: docs/concepts.md.")
	s.say("With notes of your own: go run -C examples/quickstart . -in FILE, one JSON object a line.")
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
	s.say("This is agentmemory, memory for AI agents in Go, at work for a support agent of the company acme.")
	s.say("acme is a tenant. A run is one task of the agent; the program, its host, starts runs and gives them")
	s.say("memory through a bank. There are %d notes about customers. Dates are simulated, times to run are not.", len(story))
	if len(s.own) > 0 {
		s.say("Beside them stand %d of yours; in %d of these a secret was redacted.", len(s.own), redacted)
	}
	s.say("Memory is in %s.", s.location.name)
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
