package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

// Limits of what an [Extractor] takes at once, and of the facts that it returns.
const (
	MaxMessages      = 64
	MaxMessagesBytes = 128 << 10
	MaxFacts         = 64
	MaxFactBytes     = 4 << 10
)

// Message is one of a conversation.
type Message struct {
	// ID names the message within the ref, for ever: facts are written once by it. It is 1 to 256 bytes.
	ID string
	// Speaker is who says it, such as a name, "user" or "assistant". A fact may begin with it.
	Speaker string
	Text    string
	// At is when it was said. A fact is as old as the newest of its messages.
	At time.Time
	// Subjects are of every fact that is taken from the message, also if the model names none, so that forgetting one reaches it.
	Subjects []string
}

// Fact is what messages tell. Its Draft has a text without registered secrets, subjects, the instant of its newest message,
// an expiry if a message says one, and a Key.
type Fact struct {
	memory.Draft
	// Messages are the ids of those it was taken from.
	Messages []string
}

// Refused is a fact that was left out. It holds no text.
type Refused struct {
	// Why is a reason for a person to read.
	Why string
	// Messages are the ids of those it was said to be taken from, as far as there are such.
	Messages []string
}

// Extracted is what came of messages.
type Extracted struct {
	Facts   []Fact
	Refused []Refused
	// Unread is [CodeRefused] or [CodeUnusable] if the model gave no answer that can be used. Then there are no facts.
	Unread memory.Code
}

// Extractor takes facts out of conversations by asking the model. The context of each call must carry a redactor, see
// [WithRedactor].
type Extractor struct {
	m    *Models
	zone *time.Location
}

// Extractor returns the extractor of the model. The times that messages speak of are those of the zone, an IANA name;
// empty is UTC. It fails with memory.ErrValidation for one that is not known.
func (m *Models) Extractor(zone string) (Extractor, error) {
	in, err := zoneOf(zone)
	return Extractor{m, in}, err
}

// Version names the model, the prompt and the zone.
func (x Extractor) Version() string {
	return version(x.m.cfg.Model, extracting.version) + " zone " + x.zone.String()
}

// Extract returns the facts of some messages. Besides those of its messages, a fact has the subjects that the model chose
// out of a list; it can choose no others. What a fact says must stand in its messages, as [consolidate.Unsupported] has
// it, and an expiry in words of theirs. It fails with memory.ErrValidation for messages beyond the limits, without an id
// of their own or an instant, and if the model cannot be reached.
func (x Extractor) Extract(ctx context.Context, messages []Message, subjects []string) (Extracted, error) {
	notes, err := x.notes(ctx, messages)
	if err != nil {
		return Extracted{}, err
	}
	var answer struct {
		Facts *[]proposal `json:"facts"`
	}
	listed, err := redacted(ctx, subjects)
	if err != nil {
		return Extracted{}, err
	}
	head := fmt.Sprintf("Subjects: %q.\n", listed)
	err = x.m.ask(ctx, extracting.prompt(head, notes), &answer, func() bool {
		return answer.Facts != nil && len(*answer.Facts) <= MaxFacts
	})
	if aboutTheText(err) {
		return Extracted{Unread: memory.CodeOf(err)}, nil
	}
	if err != nil {
		return Extracted{}, err
	}
	var found Extracted
	places := map[string]int{}
	for _, p := range *answer.Facts {
		fact, why, err := x.fact(ctx, p, messages, notes, subjects)
		if err != nil {
			return Extracted{}, err
		}
		if why != "" {
			found.Refused = append(found.Refused, Refused{why, fact.Messages})
			continue
		}
		from := digest(fact.Messages...)
		fact.Key = fmt.Sprint("fact ", from, " ", places[from])
		places[from]++
		found.Facts = append(found.Facts, fact)
	}
	return found, nil
}

// notes are messages as the model is shown them, with who says them.
func (x Extractor) notes(ctx context.Context, messages []Message) ([]note, error) {
	if len(messages) == 0 || len(messages) > MaxMessages {
		return nil, invalid(fmt.Sprintf("there must be 1 to %d messages", MaxMessages))
	}
	texts, ids, size := make([]string, len(messages)), map[string]bool{}, 0
	for i, m := range messages {
		if m.ID == "" || len(m.ID) > 256 || ids[m.ID] || m.At.IsZero() {
			return nil, invalid("each message must have an id of its own, of 1 to 256 bytes, and an instant")
		}
		ids[m.ID] = true
		texts[i] = m.Speaker + ": " + m.Text
		size += len(texts[i])
	}
	if size > MaxMessagesBytes {
		return nil, invalid(fmt.Sprintf("the messages must have at most %d bytes together", MaxMessagesBytes))
	}
	texts, err := redacted(ctx, texts)
	if err != nil {
		return nil, err
	}
	notes := make([]note, len(texts))
	for i := range texts {
		notes[i] = note{" written=" + messages[i].At.In(x.zone).Format("2006-01-02T15:04"), texts[i]}
	}
	return notes, nil
}

// proposal is a fact as the model gives it.
type proposal struct {
	Messages   []int    `json:"messages"`
	Text       string   `json:"text"`
	Subjects   []string `json:"subjects"`
	Until      string   `json:"until"`
	UntilWords string   `json:"until_words"`
}

// fact checks a proposal. why is not empty if it cannot be kept.
func (x Extractor) fact(ctx context.Context, p proposal, messages []Message, notes []note, subjects []string) (f Fact, why string, err error) {
	slices.Sort(p.Messages)
	p.Messages = slices.Compact(p.Messages)
	f.Content = strings.TrimSpace(p.Text)
	var sources []string
	for _, n := range p.Messages {
		if n < 1 || n > len(messages) {
			return f, "it names a message that there is not", nil
		}
		m := messages[n-1]
		f.Messages = append(f.Messages, m.ID)
		f.Subjects = append(f.Subjects, m.Subjects...)
		sources = append(sources, notes[n-1].text)
		if m.At.After(f.CreatedAt) {
			f.CreatedAt = m.At
		}
	}
	for _, s := range p.Subjects {
		if !slices.Contains(subjects, s) {
			return f, "it names a subject that is not in the list", nil
		}
	}
	f.Subjects = append(f.Subjects, p.Subjects...)
	slices.Sort(f.Subjects)
	f.Subjects = slices.Compact(f.Subjects)
	switch {
	case len(sources) == 0:
		return f, "it names no message", nil
	case f.Content == "" || len(f.Content) > MaxFactBytes || strings.ContainsFunc(f.Content, unicode.IsControl):
		return f, "it is not one line of text", nil
	}
	if f.ExpiresAt, why = x.until(p, sources, f.CreatedAt); why != "" {
		return f, why, nil
	}
	clean, err := redacted(ctx, []string{f.Content})
	if err != nil {
		return f, "", err
	}
	f.Content = clean[0]
	why, err = consolidate.Unsupported(ctx, f.Content, sources)
	return f, why, err
}

// until reads the end of a fact, which words of a source must say and which must lie behind its instant.
func (x Extractor) until(p proposal, sources []string, said time.Time) (end time.Time, why string) {
	if p.Until == "" && p.UntilWords == "" {
		return time.Time{}, ""
	}
	end, ok := localTime(p.Until, x.zone)
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	says := func(source string) bool { return strings.Contains(source, p.UntilWords) }
	if !ok || !end.After(said) || !strings.ContainsFunc(p.UntilWords, isWord) || !slices.ContainsFunc(sources, says) {
		return time.Time{}, "no message says the end that it has"
	}
	return end, ""
}

// Remember extracts facts and writes them in a pass. Messages that are tried again write nothing anew if the model says the
// same again, and a fact that it words otherwise then is refused: its Key names the messages and its place among their
// facts. A fact that has ended by now is refused too. It returns the entries that are there, and fails as Extract and
// [memory.Job.Put] do; what was written before stays and is found by the next try.
func (x Extractor) Remember(ctx context.Context, job *memory.Job, ref string, messages []Message, subjects []string) ([]memory.Entry, Extracted, error) {
	found, err := x.Extract(ctx, messages, subjects)
	if err != nil {
		return nil, found, err
	}
	var entries []memory.Entry
	for _, f := range found.Facts {
		if !f.ExpiresAt.IsZero() && !f.ExpiresAt.After(job.Now()) {
			found.Refused = append(found.Refused, Refused{"it has ended", f.Messages})
			continue
		}
		e, err := job.Put(ctx, ref, f.Draft)
		switch {
		case err == nil:
			entries = append(entries, e)
		case errors.Is(err, memory.ErrConflict), errors.Is(err, memory.ErrDeleted):
			found.Refused = append(found.Refused, Refused{"its messages were tried before", f.Messages})
		case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
			found.Refused = append(found.Refused, Refused{string(memory.CodeOf(err)), f.Messages})
		default:
			return entries, found, err
		}
	}
	return entries, found, nil
}
