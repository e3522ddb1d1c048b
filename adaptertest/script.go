package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// script is what a case of any kind goes by: the clock, the random numbers, and the
// steps that were taken so far.
type script struct {
	ctx   context.Context
	stop  func()      // ends ctx
	alarm *time.Timer // ends ctx if no call is made for a stepTimeout
	found *Report
	seed  uint64 // of the configuration
	part  uint64 // the case's own
	rng   *rand.Rand
	dice  *rand.Rand // of the audit under way
	now   time.Time  // the kit's clock; a case moves it

	watch    watch
	thorough bool // a failure is shrunk: audits ask more, and each call is looked at

	mu    sync.Mutex
	steps []action
	quiet int  // steps are not noted while it is above zero
	raced bool // goroutines have used the store at once
	names map[driver.Version]string
}

// action is a step that was taken. It is described only in the text of a failure.
type action struct {
	format string // which says what operation it is
	args   []any
}

func (n action) String() string {
	described := make([]any, len(n.args))
	for i, arg := range n.args {
		described[i] = inWords(arg)
	}
	return fmt.Sprintf(n.format, described...)
}

// named is a name that a step's text quotes.
type named string

// inWords is an argument in the words of texts. A text and a number stay as they are.
func inWords(value any) any {
	switch x := value.(type) {
	case named:
		return short(x)
	case driver.Entry:
		return "(" + describe(x) + ")"
	case driver.Scope, driver.Query, driver.Mutation, driver.DocumentQuery, []string, time.Time:
		return describe(x)
	}
	return value
}

// failure is what was wrong.
type failure struct{ expected, came string }

// kind tells failures apart that may have one cause from those that cannot.
func (f *failure) kind() string {
	switch {
	case strings.HasPrefix(f.came, "a panic"):
		return " panics"
	case strings.HasPrefix(f.came, "error"):
		return " fails"
	}
	return ""
}

// did notes a step for the text of a failure.
func (s *script) did(format string, args ...any) {
	s.alarm.Reset(stepTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == 0 {
		s.steps = append(s.steps, action{format, args})
	}
}

// lastStep is the kind of the last step that was noted. A store that hangs may still be at it.
func (s *script) lastStep() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 {
		return ""
	}
	return s.steps[len(s.steps)-1].format
}

// quietly takes many steps, or such in no certain order, under one description.
func (s *script) quietly(description string, f func()) {
	s.did("%s", description)
	s.silently(f)
}

// silently takes steps that are not noted.
func (s *script) silently(f func()) {
	s.mu.Lock()
	s.quiet++
	s.mu.Unlock()
	f()
	s.mu.Lock()
	s.quiet--
	s.mu.Unlock()
}

// begin begins the script anew.
func (s *script) begin() {
	s.mu.Lock()
	s.steps, s.quiet = nil, 0
	s.mu.Unlock()
	s.now = epoch
}

// fail ends the case.
func (s *script) fail(expected, came string) { panic(&failure{expected, came}) }

// must ends the case if a step that should have succeeded did not.
func (s *script) must(err error) {
	if err != nil {
		s.fail("success", describeError(err))
	}
}

// mustBe ends the case unless err is of the class.
func (s *script) mustBe(err error, class error) {
	if !errors.Is(err, class) {
		s.fail(describeError(class), describeError(err))
	}
}

// check ends the case unless ok. The description of what came is a format.
func (s *script) check(ok bool, expected, came string, args ...any) {
	if !ok {
		s.fail(expected, fmt.Sprintf(came, args...))
	}
}

// text is a failure as it is shown.
func (s *script) text(head string, f *failure) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	b.WriteString(head + "\n")
	const most = 30
	for i, step := range s.steps {
		switch {
		case len(s.steps) > most && i == 5:
			fmt.Fprintf(&b, "  %4s %d more steps\n", "…", len(s.steps)-most)
		case len(s.steps) > most && i > 5 && i < len(s.steps)-most+5:
		default:
			fmt.Fprintf(&b, "  %3d. %s\n", i+1, step)
		}
	}
	fmt.Fprintf(&b, "  expected: %s\n  came:     %s\n", indent(f.expected), indent(f.came))
	if s.raced {
		b.WriteString("  (" + racedNote + ")\n")
	}
	return rename(b.String(), s.names)
}

// racedNote is in the texts that the same seed need not give again.
const racedNote = "goroutines used the store at once: another run with the same seed may go another way"

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n            ") }

// name gives a version a short name, v1 being the first that the case met.
func (s *script) name(v driver.Version) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[driver.Version]string{}
	}
	if _, known := s.names[v]; !known {
		s.names[v] = fmt.Sprintf("v%d", len(s.names)+1)
	}
	return s.names[v]
}
