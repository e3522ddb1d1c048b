package distill

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Summarizer makes a summary: a host's model, or [Extractive]. It need not give the
// same answer twice: the answer to a question is kept, and of two that race one
// wins (D2). It is safe for concurrent use.
type Summarizer interface {
	// Version identifies the summarizer and how it works, prompts included. An archive
	// made by another version is another archive. It is called in place.
	Version() string
	// Summarize returns the summary, most valuable items first. The context carries
	// the deadline, Config.SummarizerTimeout. An error stops the pass, and nothing is written,
	// and so do a panic and a call that outlives its deadline. An answer that
	// does not keep to the request's limits, names a source that is none, or is empty
	// is replaced by the default summarizer's.
	//
	// Each line of the items is held to what their sources say, as consolidate.Unsupported
	// does (C8). A line that adds or changes something is left out, and passages of its
	// sources take its place as far as there is room. A line that is relative to its day, or
	// of a language that is not known, is given the day on which its sources were written; one
	// that begins with a day is held to what was written then. If sources of several days are
	// behind a line with words such as "tomorrow", it is left out too.
	Summarize(ctx context.Context, req Request) ([]Item, error)
}

// Item is a part of a summary.
type Item struct {
	// Sources are the ids of the sources that it was made from; none means all
	// of them.
	Sources []string `json:"sources"`
	Text    string   `json:"text"`
}

// Request is what a summarizer is asked.
type Request struct {
	// Sources are redacted, newest first.
	Sources []Source
	// MaxTokens bounds the items' texts, joined by line ends, as Count counts them;
	// 0 does not. What the sources themselves take is already off.
	MaxTokens int
	// MaxBytes bounds the same text in bytes.
	MaxBytes int
	// Count is the tokenizer of the budget.
	Count func(text string) int
	// Redact gives the form in which a text will be stored. The runner applies it to
	// every item and counts after that.
	Redact func(text string) (string, error)
}

// join is the summary as one text.
func join(items []Item) string {
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = items[i].Text
	}
	return strings.Join(texts, "\n")
}

// fits reports whether a text keeps to the limits.
func (q *Request) fits(text string) bool {
	return len(text) <= q.MaxBytes && (q.MaxTokens == 0 || q.Count(text) <= q.MaxTokens)
}

// summarize asks the summarizer, and the default one if nothing is left of its answer. No items means that not even the
// smallest would fit.
func (p *pass) summarize(ctx context.Context, maxTokens int) (made summarized, err error) {
	req := p.request(ctx, maxTokens)
	if _, ok := p.Summarizer.(Extractive); !ok {
		answer, err := p.callSummarizer(ctx, req)
		if err != nil {
			return summarized{}, err
		}
		made.items, made.refused, err = supported(ctx, req, answer)
		if err != nil || len(made.items) > 0 {
			return made, err
		}
		made.fallback = true
	}
	made.items, err = Extractive{}.Summarize(ctx, req)
	return made, err
}

// summarized is a summary, with what Result tells of it.
type summarized struct {
	items    []Item
	fallback bool
	refused  int
}

func (p *pass) request(ctx context.Context, maxTokens int) Request {
	return Request{
		Sources: p.sources, MaxTokens: maxTokens, MaxBytes: p.MaxOutputBytes, Count: p.Tokenizer.Count,
		Redact: func(text string) (string, error) { return redactFully(redacting(ctx, p.job), text) },
	}
}

// callSummarizer calls the host's summarizer and returns its answer, or nothing if it does not keep to the limits.
func (p *pass) callSummarizer(ctx context.Context, req Request) ([]Item, error) {
	own := req
	own.Sources = slices.Clone(req.Sources)
	const part = "the summarizer"
	answer, err := hostcall.Call(ctx, part, p.SummarizerTimeout, func(ctx context.Context) ([]Item, error) { return p.Summarizer.Summarize(ctx, own) })
	if err != nil {
		return nil, hostcall.Failed(ctx, part, err, internal)
	}
	ids := make(map[string]bool, len(req.Sources))
	for i := range req.Sources {
		ids[req.Sources[i].ID] = true
	}
	items := make([]Item, 0, len(answer))
	for _, it := range answer {
		for _, id := range it.Sources {
			if !ids[id] {
				return nil, nil
			}
		}
		text, err := req.Redact(it.Text)
		if errors.Is(err, memory.ErrValidation) {
			return nil, nil // not text that can be stored
		}
		if err != nil {
			return nil, err
		}
		items = append(items, Item{sortedIDs(it.Sources), text})
	}
	if !req.fits(join(items)) {
		return nil, nil
	}
	return items, nil
}

// fitted leaves out as many of the last items as the limits demand.
func fitted(ctx context.Context, req Request, items []Item) (kept []Item, err error) {
	least, over := 0, len(items)+1 // so many fit, and so many do not
	for n := len(items); least < n && n < over; n = (least + over) / 2 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := items[:n:n]
		text, err := joinRedacted(req, &some)
		if err != nil {
			return nil, err
		}
		if req.fits(text) { // costs of items need not add up to that of their text
			kept, least = some, n
		} else {
			over = n
		}
	}
	return kept, nil
}

func sortedIDs(ids []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// joinRedacted returns the joined text. If redaction finds something only across items,
// they become one.
func joinRedacted(req Request, items *[]Item) (string, error) {
	text := join(*items)
	clean, err := req.Redact(text)
	if err == nil && clean != text {
		*items = []Item{{Text: clean}}
	}
	return clean, err
}

// redacting is [memory.Job.Redact] within a pass.
func redacting(ctx context.Context, job *memory.Job) func(string) (string, error) {
	return func(text string) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err // a redactor that is called in place does not look at it
		}
		return job.Redact(ctx, text)
	}
}

// redactFully redacts text until neither it nor its form inside a JSON string, in which
// an archive holds it, has anything more to redact.
func redactFully(redact func(string) (string, error), text string) (string, error) {
	for range 4 {
		clean, err := redact(text)
		if err != nil {
			return "", err
		}
		if !strings.ContainsFunc(clean, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
			return clean, nil // nothing to escape
		}
		inner := escaped(clean)
		twice, err := redact(inner)
		if err != nil {
			return "", err
		}
		if twice == inner {
			return clean, nil
		}
		if json.Unmarshal([]byte(`"`+twice+`"`), &text) != nil {
			break
		}
	}
	return "", leaks("a text that cannot be redacted")
}
