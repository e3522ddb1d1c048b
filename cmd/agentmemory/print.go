package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// plainSteps is how often progress is told of where no line can be rewritten.
const plainSteps = 1000

// count is a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// progress tells how far a long piece of work has come. It is safe for concurrent use.
type progress struct {
	p               *program
	mu              sync.Mutex
	ended           bool
	what, one, many string
	total           int // 0 if it is not known
	done            int
	shown           time.Time
}

func (p *program) progress(what string, total int, one, many string) *progress {
	return &progress{p: p, what: what, total: total, one: one, many: many}
}

func (g *progress) String() string {
	if g.total > 0 {
		return fmt.Sprintf("%s %d of %s", g.what, g.done, count(g.total, g.one, g.many))
	}
	return g.what + " " + count(g.done, g.one, g.many)
}

// step tells that one more is done.
func (g *progress) step() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	switch {
	case g.ended:
	case g.p.rewrites && time.Since(g.shown) > 100*time.Millisecond:
		g.shown = time.Now()
		g.p.rewrite(g.String())
	case !g.p.rewrites && g.done%plainSteps == 0:
		fmt.Fprintln(g.p.err, g)
	}
}

// rewrite shows a line in the place of the one before, on a terminal.
func (p *program) rewrite(line string) {
	if p.rewrites {
		fmt.Fprint(p.err, "\r\x1b[K", line)
	}
}

// end takes the rewritten line away; a step that comes later says nothing.
func (g *progress) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended = true; !g.shown.IsZero() {
		g.p.rewrite("")
	}
}

// printJSON prints a value on one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// record is the JSON form of an entry with what became of it.
type record struct {
	Ref        string       `json:"ref"`
	State      string       `json:"state"` // live, expired, merged, superseded, deleted or erased
	ReplacedBy string       `json:"replacedBy,omitempty"`
	RunID      string       `json:"runId,omitempty"`
	Subjects   []string     `json:"subjects,omitempty"`
	Sources    []string     `json:"sources,omitempty"`
	Entry      memory.Entry `json:"entry"`
}

func recordOf(r memory.Record, now time.Time) record {
	return record{Ref: r.Ref, State: stateOf(r, now), ReplacedBy: r.For, RunID: r.Entry.RunID,
		Subjects: r.Entry.Subjects, Sources: r.Entry.Sources, Entry: r.Entry}
}

func stateOf(r memory.Record, now time.Time) string {
	switch {
	case r.Erased:
		return "erased"
	case r.State == memory.Live && !r.Entry.LiveAt(now):
		return "expired"
	}
	return r.State.String()
}

// text prints a record for a person: quoted, so that no stored text can steer a terminal.
func (r record) text(w io.Writer) {
	fmt.Fprintf(w, "%s  %s  %-10s  %q\n", r.Entry.CreatedAt.Format(time.RFC3339Nano), r.Entry.ID, r.State, r.Entry.Content)
	list := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(w, "    %s: %q\n", name, values)
		}
	}
	list("tags", r.Entry.Tags)
	list("subjects", r.Subjects)
	list("made of", r.Sources)
	if r.ReplacedBy != "" {
		fmt.Fprintf(w, "    replaced by: %q\n", r.ReplacedBy)
	}
	if !r.Entry.ExpiresAt.IsZero() {
		fmt.Fprintf(w, "    expires: %s\n", r.Entry.ExpiresAt.Format(time.RFC3339Nano))
	}
}

// document is the JSON form of a document that holds content or a host's text.
type document struct {
	Ref      string   `json:"ref,omitempty"`
	Class    string   `json:"class"`
	Kind     string   `json:"kind"`
	Key      string   `json:"key"`
	Of       []string `json:"of,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	Text     string   `json:"text,omitempty"`
	Bytes    []byte   `json:"bytes,omitempty"` // base64, of a value that is no text
}

func documentOf(d driver.Document) document {
	class := map[bool]string{true: "content", false: "host text"}[d.Class == driver.Content]
	shown := document{Ref: d.Ref, Class: class, Kind: d.Kind, Key: d.Key, Of: d.Of, Subjects: d.Subjects}
	if utf8.Valid(d.Value) {
		shown.Text = string(d.Value)
	} else {
		shown.Bytes = d.Value
	}
	return shown
}

func (d document) text(w io.Writer) {
	fmt.Fprintf(w, "%s %q %q in %q: %q\n", d.Class, d.Kind, d.Key, d.Ref, d.Text+string(d.Bytes))
}
