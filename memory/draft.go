package memory

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// Redactor takes the secrets of one run, or of one background pass, out of text.
// *redact.SecretRegistry is one. Its methods must be safe for concurrent use; an
// error refuses the write.
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
	// are refused.
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
	// CreatedAt backdates an entry that a [Job] imports from elsewhere, rounded down to a
	// whole millisecond; zero is now. A run cannot backdate.
	CreatedAt time.Time
}

// writer is what a run and a job have in common: whose they are, and their
// redactor.
type writer struct {
	bank     *Bank
	tenant   string
	runID    string
	redactor Redactor
	inline   bool // the redactor says that it returns promptly
}

func newWriter(b *Bank, tenant, runID string, r Redactor) (writer, error) {
	switch {
	case !validTenant(tenant):
		return writer{}, fail(ErrValidation, "malformed tenant")
	case !validRunID(runID):
		return writer{}, fail(ErrValidation, "malformed run id")
	case r == nil:
		return writer{}, fail(ErrValidation, "no redactor: give an empty registry to declare that there are no secrets")
	}
	w := writer{bank: b, tenant: tenant, runID: runID, redactor: r}
	if p, ok := r.(interface{ Inline() bool }); ok {
		inline, err := hostcall.Inline(theRedactor, func() (bool, error) { return p.Inline(), nil })
		if err != nil {
			return writer{}, failWith(ErrInternal, hostcall.Describe(theRedactor, err), err)
		}
		w.inline = inline
	}
	return w, nil
}

// entry turns a draft into the entry to store as of the instant now (M3, M4, M9).
// derived asks for the redaction of derived text.
func (w writer) entry(ctx context.Context, d Draft, derived bool, now time.Time) (Entry, error) {
	e := Entry{CreatedAt: now, RunID: w.runID}
	if !d.CreatedAt.IsZero() {
		if e.CreatedAt = millis(d.CreatedAt); e.CreatedAt.After(now) {
			return Entry{}, fail(ErrValidation, "createdAt lies in the future")
		}
	}
	if !validInstant(e.CreatedAt) {
		return Entry{}, fail(ErrValidation, "createdAt is outside the years 1 to 9999")
	}
	if d.TTL != 0 {
		if d.TTL < 0 || !d.ExpiresAt.IsZero() {
			return Entry{}, fail(ErrValidation, "a TTL below zero, or beside expiresAt")
		}
		d.ExpiresAt = now.Add(d.TTL)
	}
	if !d.ExpiresAt.IsZero() {
		e.ExpiresAt = millis(d.ExpiresAt)
		if !validInstant(e.ExpiresAt) {
			return Entry{}, fail(ErrValidation, "expiresAt is outside the years 1 to 9999")
		}
		if !e.LiveAt(now) {
			return Entry{}, fail(ErrValidation, "expiresAt is not in the future")
		}
	}
	var err error
	if e.Content, err = w.clean(ctx, d.Content, derived); err != nil {
		return Entry{}, err
	}
	if len(e.Content) > w.bank.cfg.MaxEntryBytes {
		return Entry{}, fail(ErrValidation, "the content is too large")
	}
	if e.Tags, err = w.tags(ctx, d.Tags, derived); err != nil {
		return Entry{}, err
	}
	for _, s := range d.Subjects {
		if !validLabel(s) {
			return Entry{}, fail(ErrValidation, "malformed subject")
		}
	}
	if err := checkLabels(e.Tags, d.Subjects); err != nil {
		return Entry{}, err
	}
	for _, id := range []string{d.NodeID, d.AgentID} {
		if id != "" && !validRunID(id) {
			return Entry{}, fail(ErrValidation, "malformed node or agent id")
		}
	}
	if err := w.checkKey(d.Key); err != nil {
		return Entry{}, err
	}
	if err := w.identifiers(ctx, append([]string{d.NodeID, d.AgentID, d.Key}, d.Subjects...)...); err != nil {
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
			return nil, fail(ErrValidation, "a tag is too long")
		}
		if isProvenance(t) {
			return nil, fail(ErrValidation, "a tag of the bank's own")
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
		return fail(ErrValidation, "too many or too long tags and subjects")
	}
	return nil
}

// clean redacts free text.
func (w writer) clean(ctx context.Context, text string, derived bool) (string, error) {
	if !validText(text) {
		return "", fail(ErrValidation, "text is not UTF-8 or holds U+0000")
	}
	redact := Redactor.Redact
	if derived {
		redact = Redactor.RedactDerived
	}
	out, err := w.redacted(ctx, redact, text)
	if err != nil {
		return "", refused(ctx, err)
	}
	if out != text && !validText(out) {
		return "", fail(ErrSecretLeakage, "the redactor gave text that is not UTF-8")
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

// refused is the error of a text that the redactor did not give back.
func refused(ctx context.Context, err error) error {
	if err == ctx.Err() || hostcall.Misbehaved(err) {
		return hostFailed(ctx, theRedactor, err)
	}
	return failWith(ErrSecretLeakage, "the redactor refused", err)
}

// identifiers refuses names that hold a secret: rewriting one would make it another
// name. Every identifier on its way to the store or the sink comes through here.
func (w writer) identifiers(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if id == "" {
			continue
		}
		out, err := w.redacted(ctx, Redactor.Redact, id)
		if err != nil {
			return refused(ctx, err)
		}
		if out != id {
			return fail(ErrSecretLeakage, "an identifier holds a secret")
		}
	}
	return nil
}

func validTag(t string) bool {
	return validText(t) && len(t) <= 4*maxTagChars && utf8.RuneCountInString(t) <= maxTagChars
}
