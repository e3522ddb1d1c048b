package distill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// archiveKind are the documents that hold archives: content of the entry that names them.
// The key is that of the question, the group the archive's address.
const archiveKind = "distill/archive"

// answer is the archive that answers a question.
type answer struct {
	archive *Archive
	address Digest
	doc     driver.Document // as it is to be kept; Rev is 0 for a new one
}

// swap keeps the archive as content of an entry.
func (a *answer) swap(id string) driver.DocumentSwap {
	x := driver.DocumentSwap{Document: a.doc}
	x.Of = []string{id}
	if a.doc.Rev != 0 {
		x.Act = driver.Retain
	}
	return x
}

// answer finds the archive of the sources or makes it; nil if they say nothing.
func (r *Runner) answer(ctx context.Context, job *memory.Job, ref string, in *input, budget int) (*answer, error) {
	if len(in.sources) == 0 {
		return nil, nil
	}
	version, err := hostcall.Inline("the summarizer", func() (string, error) { return r.cfg.Summarizer.Version(), nil })
	if err != nil {
		return nil, hostFailed(ctx, "the summarizer", err)
	}
	a := &Archive{
		Budget: budget, Format: Format, MaxBytes: r.cfg.MaxOutputBytes, MemoryRef: ref, Parents: in.parents,
		Redactor: r.cfg.RedactorVersion, Sources: in.archived, Summarizer: version,
		Tokenizer: r.cfg.Tokenizer.Name(), Tokens: Tokens{Input: in.tokens},
	}
	a.Key = a.Question()
	for _, name := range []string{ref, a.Redactor, a.Summarizer, a.Tokenizer} {
		if clean, err := isClean(ctx, job, name); err != nil || !clean {
			return nil, cmp.Or(err, leaks("a ref, a name or a version holds a secret"))
		}
	}
	doc, err := job.Document(ctx, ref, archiveKind, a.Key.String())
	if err != nil {
		return nil, err
	}
	if doc.Rev != 0 {
		return loadArchive(ctx, job, ref, doc)
	}
	if in.tokens < budget {
		if a.Items, a.Fallback, err = r.summarize(ctx, job, in, budget-in.tokens); err != nil {
			return nil, err
		}
	}
	if len(a.Items) == 0 {
		output, err := minimum(ctx, r.request(ctx, job, in, 0))
		if err != nil || output == 0 {
			return nil, err
		}
		return nil, &BudgetError{Budget: budget, MinimumRequired: in.tokens + output}
	}
	if doc.Value, err = r.encodeRedacted(ctx, job, a); err != nil {
		return nil, err
	}
	address := DigestOf(doc.Value)
	doc.Class, doc.Group = driver.Content, address.String()
	return &answer{a, address, doc}, nil
}

// encodeRedacted encodes a new archive in a form that the redactor leaves as it is: beside each
// other on one line, two texts may look like a secret that neither is.
func (r *Runner) encodeRedacted(ctx context.Context, job *memory.Job, a *Archive) ([]byte, error) {
	for range 4 {
		a.Tokens.Output = r.cfg.Tokenizer.Count(a.Text())
		data := a.Encode()
		if len(data) > MaxArchiveBytes {
			return nil, invalid("the archive of these sources would be larger than a document: narrow Options.Tag or Select")
		}
		clean, err := job.Redact(ctx, string(data))
		if err != nil {
			return nil, err
		}
		if clean == string(data) {
			if a.Tokens.used() > a.Budget || len(a.Text()) > a.MaxBytes {
				break
			}
			return data, nil
		}
		var cleaned Archive
		if json.Unmarshal([]byte(clean), &cleaned) != nil {
			break
		}
		a.Items = cleaned.Items
	}
	return nil, leaks("an archive that cannot be redacted")
}

// loadArchive returns a stored archive, if it is intact and clean by today's redactor. One
// that is not is erased with the entries that name it, and the pass begins anew.
func loadArchive(ctx context.Context, job *memory.Job, ref string, doc driver.Document) (*answer, error) {
	a, err := readArchive(ctx, job, doc)
	if err == nil {
		return &answer{a, DigestOf(doc.Value), doc}, nil
	}
	if !errors.Is(err, ErrArchive) && !errors.Is(err, errUnclean) {
		return nil, err
	}
	if _, err := job.Rewrite(ctx, ref, memory.Rewrite{Erase: doc.Of}); err != nil {
		return nil, err
	}
	return nil, memory.ErrConflict
}

// errUnclean: the redactor finds in an archive today what it did not find when it was made.
var errUnclean = leaks("the archive holds what is a secret today")

// readArchive returns the archive that a document holds: the one that it is named for, in which
// today's redactor finds nothing.
func readArchive(ctx context.Context, job *memory.Job, doc driver.Document) (*Archive, error) {
	if DigestOf(doc.Value).String() != doc.Group {
		return nil, broken("has another address")
	}
	a, err := Decode(doc.Value)
	if err != nil {
		return nil, err
	}
	if a.Key.String() != doc.Key {
		return nil, broken("has the key of another question")
	}
	whole, err := job.Redact(ctx, string(doc.Value))
	if err != nil {
		return nil, err
	}
	clean, err := isClean(ctx, job, a.Text())
	if err != nil {
		return nil, err
	}
	if !clean || whole != string(doc.Value) {
		return nil, errUnclean
	}
	return a, nil
}

// isClean reports whether the redactor leaves a text as it is, in the form that an archive
// holds it in too.
func isClean(ctx context.Context, job *memory.Job, text string) (bool, error) {
	out, err := redactFully(redacting(ctx, job), text)
	return out == text, err
}

// Open returns the archive that a live output of a distillation names. A reader
// reaches an archive in no other way (D3). It is verified, and today's redactor must
// find nothing in it; otherwise the error matches [memory.ErrSecretLeakage], and a
// [memory.Bank.Scrub] is due. An entry that is not live, or names no archive, is
// [memory.ErrNotFound].
func (r *Runner) Open(ctx context.Context, job *memory.Job, ref, entryID string) (*Archive, error) {
	if job == nil {
		return nil, errJob
	}
	e, err := job.Get(ctx, ref, entryID)
	if err != nil {
		return nil, err
	}
	if out, ok := asOutput(e); ok && !out.archive.IsZero() {
		for doc, err := range job.Documents(ctx, ref, driver.DocumentQuery{Kind: archiveKind, Group: out.archive.String()}) {
			if err != nil {
				return nil, err
			}
			if slices.Contains(doc.Of, e.ID) {
				return readArchive(ctx, job, doc)
			}
		}
	}
	return nil, memory.ErrNotFound.In("distill", "the entry has no archive tag: it was not distilled", nil)
}
