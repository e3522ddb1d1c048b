package memory

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
)

// Redactor takes the secrets of one run, or of one background pass, out of text.
// *redact.SecretRegistry is one. Its methods must be safe for concurrent use; an
// error refuses the write. If the error has a method ContentFree() string, the bank's error
// says what that returns, which must hold nothing of the text.
//
// A Redactor that is also an [io.Closer] belongs to its run: it is closed when the
// run ends.
//
// Each call has [PluginTimeout], in a goroutine of its own. A Redactor with a method
// Inline() bool that returns true says that all of its methods return promptly, as
// *redact.SecretRegistry does: they are then called in place, which costs nothing, and one
// that hangs would hang the write. A panic is caught in either case. A type that embeds a
// registry has its Inline, and one that asks a service must return false.
type Redactor interface {
	// Redact is for text that a host or a node wrote.
	Redact(text string) (string, error)
	// RedactDerived is for text made from other entries: it also takes out what a
	// model may have copied or made up (RFC 0012 §D).
	RedactDerived(text string) (string, error)
}

// Draft is an entry to be written. The bank redacts it, and issues its id.
type Draft struct {
	// Content is UTF-8 without U+0000. The bank's limit is for its redacted form.
	Content string
	// Tags have at most 256 characters each, redacted. Empty ones are dropped. Tags that
	// begin with "compacted-from:" or "archive:" are the bank's own (RFC 0012 §C) and
	// are refused. In a [Run.Replace] nil names the tags of the entry that is replaced,
	// and an empty list for none.
	//
	// Tags and Subjects together are at most 256 in number and 16 KiB long.
	Tags []string
	// ExpiresAt ends the entry's life; zero never does. It is rounded down to a whole
	// millisecond, and must lie in the future.
	ExpiresAt time.Time
	// TTL says the same as a time from the write on (RFC 0039): the entry ends at the instant
	// of the write plus the TTL, rounded down. It is at least a millisecond; zero is none.
	// Only one of the two is set.
	TTL time.Duration
	// Subjects are labels of whom or what the entry is about, under which
	// [Bank.Forget] finds it: 1 to 256 characters without control characters. They
	// are identifiers: one that holds a secret is refused.
	Subjects []string

	// NodeID and AgentID attribute the write on its event: the workflow node that
	// called, and the agent on whose behalf. Both may be empty.
	NodeID, AgentID string

	// Key makes a second try safe: it names this write for ever within the ref. Putting
	// under a key that the ref has writes nothing and returns the entry that is there,
	// which the run then sees as its own; if it was deleted meanwhile, with [ErrDeleted].
	// Other content, tags or subjects under the key are [ErrConflict]. A forgotten entry
	// frees its key. Keys have 1 to 512 bytes without control characters, and need a store
	// that is a Transactor. Empty is no key.
	Key string
	// Name, such as the path of a file, is held by at most one live entry of the ref: a write is
	// [ErrConflict] while another live entry holds it. An entry holds its name until it ends. One
	// that replaces it without a name of its own holds it then; one that is restored after another
	// took its name holds none. Names have 1 to 512 bytes without control characters, are stored as
	// digests, and need a store that is a Transactor. One that holds a secret is
	// [ErrSecretLeakage]. Empty is no name.
	Name string
	// Replaces are the ids of entries that are [Superseded] by this one in the mutation that
	// writes it, see [Run.PutAll]. The first gives its tags and expiry, and all give their subjects, as
	// [Run.Replace] says. Neither Name nor Replaces goes with a Key.
	Replaces []string
	// CreatedAt backdates an entry that a [Job] imports from elsewhere, rounded down to a
	// whole millisecond; zero is now. A run cannot backdate.
	CreatedAt time.Time
}

// conditional reports whether the draft is written only if other entries are as it says.
func (d *Draft) conditional() bool { return d.Name != "" || len(d.Replaces) > 0 }

// writer is what a run and a job have in common: whose they are, and their
// redactor.
type writer struct {
	bank     *Bank
	tenant   string
	runID    string
	redactor Redactor
	inline   bool // the redactor says that it returns promptly

	background bool

	closed *atomic.Bool // whether the redactor is, by the end of the run or job that owns it
}

func newWriter(b *Bank, tenant, runID string, r Redactor, background bool) (writer, error) {
	w := writer{bank: b, tenant: tenant, runID: runID, redactor: r, background: background, closed: new(atomic.Bool)}
	if p, ok := r.(interface{ Inline() bool }); ok {
		inline, err := hostcall.Inline(theRedactor, func() (bool, error) { return p.Inline(), nil })
		if err != nil {
			return writer{}, failWith(ErrInternal, hostcall.Describe(theRedactor, err), err)
		}
		w.inline = inline
	}
	return w, w.check()
}

// check refuses malformed names, and to be without a redactor.
func (w writer) check() error {
	if err := checkTenant(w.tenant); err != nil {
		return err
	}
	if err := checkName(w.run().what, w.runID, maxRunIDBytes); err != nil {
		return err
	}
	if w.redactor == nil {
		return fail(ErrValidation, "the Redactor is nil: give an empty registry, redact.New, to declare that there are no secrets")
	}
	return nil
}

// run is the id of the run or job.
func (w writer) run() name {
	if w.background {
		return name{"the job's id", w.runID}
	}
	return name{"the run's id", w.runID}
}

func (w writer) owner() name { return name{"the tenant", w.tenant} }

// entry turns a draft into the entry to store as of the instant now (M3, M4, M9).
// derived asks for the redaction of derived text.
func (w writer) entry(ctx context.Context, d Draft, derived bool, now time.Time) (Entry, error) {
	e := Entry{CreatedAt: now, RunID: w.runID}
	if !d.CreatedAt.IsZero() {
		if e.CreatedAt = millis(d.CreatedAt); e.CreatedAt.After(now) {
			return Entry{}, fail(ErrValidation, "Draft.CreatedAt lies in the future")
		}
	}
	if !validInstant(e.CreatedAt) {
		return Entry{}, fail(ErrValidation, "Draft.CreatedAt, or the bank's clock, is outside the years 1 to 9999")
	}
	if d.TTL != 0 {
		if d.TTL < 0 {
			return Entry{}, fail(ErrValidation, "Draft.TTL is below zero: 0 is none")
		}
		if !d.ExpiresAt.IsZero() {
			return Entry{}, fail(ErrValidation, "Draft has both TTL and ExpiresAt: set one of them")
		}
		d.ExpiresAt = now.Add(d.TTL)
	}
	if !d.ExpiresAt.IsZero() {
		e.ExpiresAt = millis(d.ExpiresAt)
		if !validInstant(e.ExpiresAt) {
			return Entry{}, fail(ErrValidation, "Draft.ExpiresAt, or the end of Draft.TTL, is outside the years 1 to 9999")
		}
		if !e.LiveAt(now) {
			return Entry{}, fail(ErrValidation, "Draft.ExpiresAt, or the end of Draft.TTL, is not in the future of the bank's clock")
		}
	}
	var err error
	if e.Content, err = w.clean(ctx, d.Content, derived); err != nil {
		return Entry{}, err
	}
	if len(e.Content) > w.bank.cfg.MaxEntryBytes {
		return Entry{}, fail(ErrValidation, fmt.Sprintf("Draft.Content has more than %d bytes once redacted: see Config.MaxEntryBytes", w.bank.cfg.MaxEntryBytes))
	}
	if e.Tags, err = w.tags(ctx, d.Tags, derived); err != nil {
		return Entry{}, err
	}
	for _, s := range d.Subjects {
		if err := checkSubject(s); err != nil {
			return Entry{}, err
		}
	}
	if err := checkLabels(e.Tags, d.Subjects); err != nil {
		return Entry{}, err
	}
	attributed := []name{{"Draft.NodeID", d.NodeID}, {"Draft.AgentID", d.AgentID}}
	for _, n := range attributed {
		if n.id == "" {
			continue
		}
		if err := checkName(n.what, n.id, maxRunIDBytes); err != nil {
			return Entry{}, err
		}
	}
	if err := w.checkKey(d.Key); err != nil {
		return Entry{}, err
	}
	if d.Name != "" {
		if err := checkName("Draft.Name", d.Name, driver.MaxKeyBytes); err != nil {
			return Entry{}, err
		}
	}
	attributed = append(attributed, name{"Draft.Key", d.Key}, name{"Draft.Name", d.Name})
	if err := w.identifiers(ctx, append(attributed, names("a subject", d.Subjects...)...)...); err != nil {
		return Entry{}, err
	}
	e.Subjects = slices.Clone(d.Subjects)
	e.ID = w.bank.ids.next(entryPrefix, now)
	return e, nil
}

func (w writer) tags(ctx context.Context, tags []string, derived bool) ([]string, error) {
	out := make([]string, 0, len(tags))
	for _, t := range tags {
		if t == "" {
			continue
		}
		t, err := w.clean(ctx, t, derived)
		if err != nil {
			return nil, err
		}
		if !validTag(t) {
			return nil, fail(ErrValidation, fmt.Sprintf("a tag is longer than %d characters once redacted", maxTagChars))
		}
		if isProvenance(t) {
			return nil, fail(ErrValidation, "a tag begins with compacted-from: or archive:, which only the bank writes")
		}
		out = append(out, t)
	}
	return out, nil
}

// checkLabels bounds what a draft carries beside its content (M9).
func checkLabels(tags, subjects []string) error {
	size := 0
	for _, labels := range [][]string{tags, subjects} {
		for _, l := range labels {
			size += len(l)
		}
	}
	if len(tags)+len(subjects) > maxLabels || size > maxLabelBytes {
		return fail(ErrValidation, fmt.Sprintf("tags and subjects are more than %d or have more than %d bytes together", maxLabels, maxLabelBytes))
	}
	return nil
}

// clean redacts free text.
func (w writer) clean(ctx context.Context, text string, derived bool) (string, error) {
	if !validText(text) {
		return "", fail(ErrValidation, "a text, such as Draft.Content or a tag, is not UTF-8 or has U+0000")
	}
	redact := Redactor.Redact
	if derived {
		redact = Redactor.RedactDerived
	}
	out, err := w.redacted(ctx, redact, text)
	if err != nil {
		return "", w.refused(ctx, err)
	}
	if out != text && !validText(out) {
		return "", fail(ErrSecretLeakage, "the redactor gave text that is not UTF-8 or has U+0000")
	}
	return out, nil
}

const theRedactor = "the redactor"

// redacted calls a method of the redactor, in place if that says that it returns promptly.
func (w writer) redacted(ctx context.Context, redact func(Redactor, string) (string, error), text string) (string, error) {
	if w.inline {
		return hostcall.Inline(theRedactor, func() (string, error) { return redact(w.redactor, text) })
	}
	return hostcall.Call(ctx, theRedactor, PluginTimeout, func(context.Context) (string, error) { return redact(w.redactor, text) })
}

// refused is the error of a text that the redactor did not let through.
func (w writer) refused(ctx context.Context, err error) error {
	if err == ctx.Err() || hostcall.Misbehaved(err) {
		return hostFailed(ctx, theRedactor, err)
	}
	reason := contentFree(err)
	switch {
	case w.closed.Load():
		reason = "the run that this child belongs to has ended, and its redactor is closed: end children before their parent"
	case reason == "":
		reason = "the redactor failed"
	}
	return failWith(ErrSecretLeakage, reason, err)
}

// name is an identifier, with what an error calls it.
type name struct{ what, id string }

func names(what string, ids ...string) []name {
	out := make([]name, len(ids))
	for i, id := range ids {
		out[i] = name{what, id}
	}
	return out
}

// identifiers refuses names that hold a secret: rewriting one would make it another
// name. Every identifier on its way to the store or the sink comes through here.
func (w writer) identifiers(ctx context.Context, ids ...name) error {
	for _, n := range ids {
		if n.id == "" {
			continue
		}
		out, err := w.redacted(ctx, Redactor.Redact, n.id)
		if err != nil {
			return w.refused(ctx, err)
		}
		if out != n.id {
			return fail(ErrSecretLeakage, n.what+" holds a secret: an identifier is stored as it is")
		}
	}
	return nil
}

func validTag(t string) bool {
	return validText(t) && len(t) <= 4*maxTagChars && utf8.RuneCountInString(t) <= maxTagChars
}
