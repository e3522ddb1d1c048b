package distill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// archiveKind are the documents that hold archives: content of the entry that names them.
// The key is that of the question, the group the archive's address.
const archiveKind = "distill/archive"

// swap keeps the archive as content of an entry.
func (s *summary) swap(id string) driver.DocumentSwap {
	x := driver.DocumentSwap{Document: s.doc}
	x.Of = []string{id}
	if s.doc.Rev != 0 {
		x.Act = driver.Retain
	}
	return x
}

// question is the archive of the sources without its items.
func (p *pass) question(ctx context.Context) (*Archive, error) {
	version, err := hostcall.Inline("the summarizer", func() (string, error) { return p.Summarizer.Version(), nil })
	if err != nil {
		return nil, hostcall.Failed(ctx, "the summarizer", err, internal)
	}
	a := &Archive{
		Budget: p.budget, Format: Format, MaxBytes: p.MaxOutputBytes, MemoryRef: p.ref,
		Redactor: p.RedactorVersion, Summarizer: version, Tokenizer: p.Tokenizer.Name(), Tokens: Tokens{Input: p.tokens},
	}
	for i, s := range p.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.Sources = append(a.Sources, ArchivedSource{sourceDigest(p.entries[i]), s.ID, s.Weight})
		if s.Archive != "" {
			a.Parents = append(a.Parents, s.Archive)
		}
	}
	slices.SortFunc(a.Sources, func(a, b ArchivedSource) int { return strings.Compare(a.ID, b.ID) })
	a.Parents = sortedIDs(a.Parents)
	a.Key = a.Question()
	for _, name := range []string{p.ref, a.Redactor, a.Summarizer, a.Tokenizer} {
		if clean, err := isClean(ctx, p.job, name); err != nil || !clean {
			return nil, cmp.Or(err, leaks("a ref, a name or a version holds a secret"))
		}
	}
	return a, nil
}

// answer finds the archive of the sources or makes it; nil if they say nothing.
func (p *pass) answer(ctx context.Context) (*summary, error) {
	a, err := p.question(ctx)
	if err != nil {
		return nil, err
	}
	s := &summary{archive: a}
	if s.doc, err = p.job.Document(ctx, p.ref, archiveKind, a.Key); err != nil {
		return nil, err
	}
	if s.doc.Rev == 0 {
		if err := p.make(ctx, s); err != nil || s.text == "" {
			return nil, err
		}
	} else if s.archive, err = readArchive(ctx, p.job, s.doc); errors.Is(err, ErrArchive) || errors.Is(err, errUnclean) {
		// It is erased with the entries that name it, and the pass begins anew.
		_, err := p.job.Rewrite(ctx, p.ref, memory.Rewrite{Erase: s.doc.Of})
		return nil, cmp.Or(err, error(memory.ErrConflict))
	} else if err != nil {
		return nil, err
	}
	s.text, s.fallback, s.address = s.archive.Text(), s.archive.Fallback, DigestOf(s.doc.Value)
	for _, id := range s.doc.Of {
		i := slices.IndexFunc(p.outputs, func(e memory.Entry) bool { return e.ID == id })
		if i >= 0 && p.outputs[i].Content == s.text {
			s.existing = &p.outputs[i]
		} else if i < 0 {
			// If it is live, another pass has published it since this one read: the pass begins anew.
			if _, err := p.job.Get(ctx, p.ref, id); !errors.Is(err, memory.ErrNotFound) {
				return nil, cmp.Or(err, error(memory.ErrConflict))
			}
		}
	}
	return s, nil
}

// make summarizes the sources, and encodes the archive in a form that the redactor leaves as it
// is: beside each other on one line, two texts may look like a secret that neither is. The text
// stays empty if the sources say nothing.
func (p *pass) make(ctx context.Context, s *summary) (err error) {
	a := s.archive
	if p.tokens < p.budget {
		made, err := p.summarize(ctx, p.budget-p.tokens)
		if err != nil {
			return err
		}
		a.Items, a.Fallback, s.refused = made.items, made.fallback, made.refused
	}
	if len(a.Items) == 0 {
		output, err := minimum(ctx, p.request(ctx, 0))
		if err != nil || output == 0 {
			return err
		}
		return &BudgetError{Budget: p.budget, MinimumRequired: p.tokens + output}
	}
	for range 4 {
		s.text = a.Text()
		a.Tokens.Output = p.Tokenizer.Count(s.text)
		data := a.Encode()
		if len(data) > MaxArchiveBytes {
			return invalid("the archive of these sources would be larger than a document: narrow Options.Tag or Select")
		}
		clean, err := p.job.Redact(ctx, string(data))
		if err != nil {
			return err
		}
		if clean == string(data) && a.Tokens.used() <= a.Budget && len(s.text) <= a.MaxBytes {
			s.doc.Value, s.doc.Class, s.doc.Group = data, driver.Content, DigestOf(data)
			return nil
		}
		var cleaned Archive
		if clean == string(data) || json.Unmarshal([]byte(clean), &cleaned) != nil {
			break
		}
		a.Items = cleaned.Items
	}
	return leaks("an archive that cannot be redacted")
}

// readArchive returns the archive that a document holds: the one that it is named for, in which
// today's redactor finds nothing.
func readArchive(ctx context.Context, job *memory.Job, doc driver.Document) (*Archive, error) {
	if DigestOf(doc.Value) != doc.Group {
		return nil, broken("has another address")
	}
	a, err := Decode(doc.Value)
	if err != nil {
		return nil, err
	}
	if a.Key != doc.Key {
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
	if address := archiveOf(&e); address != "" {
		for doc, err := range job.Documents(ctx, ref, driver.DocumentQuery{Kind: archiveKind, Group: address}) {
			if err != nil {
				return nil, err
			}
			if slices.Contains(doc.Of, e.ID) {
				return readArchive(ctx, job, doc)
			}
		}
	}
	return nil, memory.ErrNotFound.In(pkg, "the entry has no archive tag: it was not distilled", nil)
}
