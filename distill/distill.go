package distill

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Result tells what a pass did.
type Result struct {
	// Output is the new entry, or the one that was there; zero if there was nothing
	// to work on, and then nothing was written or announced.
	Output memory.Entry
	// Archive is the address of the archive, of a distillation.
	Archive Digest
	// Existing tells that the archive was there already: its question had been
	// answered before, or meanwhile by another pass, whose answer this is.
	Existing bool
	// Fallback tells that the host's summarizer did not keep to its limits.
	Fallback bool
	// Sources is how many entries were read, Left how many were not because of
	// MaxInputEntries.
	Sources, Left int
	// Budget and TokensUsed are the account of a distillation.
	Budget, TokensUsed int
	// IndexErr says why the index could not be rewritten. The pass is complete
	// nevertheless, and the next one or [Runner.Reindex] makes up for it.
	IndexErr error
}

// attempts bounds how often a pass begins again because memory moved under it. A
// summarizer is not asked again: its answer is kept.
const attempts = 8

// Distill condenses the sources into an archive under a token budget, and an entry
// that names it, in the six steps of RFC 0062 §B:
//
//  1. it reads the live entries that the options take, at one version (D1);
//  2. input and output together stay within the budget, or it fails with a
//     [*BudgetError] and writes nothing;
//  3. the summarizer's items are redacted as derived text (R5, D4);
//  4. the archive is kept under its digest; a question that was answered before is
//     answered by the stored bytes (D2), unless the redactor finds something in
//     them today: then they are erased and made anew;
//  5. the entry commits, with memory.compacted, if every source is still live and no
//     other pass came first (D3); the entry's content is the summary;
//  6. the memory index is rewritten.
//
// A crash before step 5 leaves nothing that a reader could see; one after it leaves
// an index that the next pass, [Runner.Reindex] or [Runner.GC] rewrites. Nothing is
// generated at replay: a pass takes a job, and a replay has none (E4).
//
// Errors: [*BudgetError]; [memory.ErrValidation] for options that make no sense;
// [memory.ErrConflict] if memory moved too often; [memory.ErrNotProvided] without
// Archives; what the summarizer, the store and the job return.
func (r *Runner) Distill(ctx context.Context, job *memory.Job, ref string, o Options) (Result, error) {
	if r.cfg.Archives == nil {
		return Result{}, &failed{"distilling needs a place for archives", memory.ErrNotProvided}
	}
	if err := o.check(); err != nil {
		return Result{}, err
	}
	budget, err := r.budget(o)
	if err != nil {
		return Result{}, err
	}
	for range attempts {
		var res Result
		res, err = r.distill(ctx, job, ref, o, budget)
		if err == nil && r.cfg.Workspace != nil {
			res.IndexErr = r.Reindex(ctx, job, ref)
		}
		if !errors.Is(err, memory.ErrConflict) {
			return res, err
		}
	}
	return Result{}, err
}

// distill is one attempt.
func (r *Runner) distill(ctx context.Context, job *memory.Job, ref string, o Options, budget int) (Result, error) {
	passes, err := job.Cell(ctx, ref, passCell)
	if err != nil {
		return Result{}, err
	}
	in, err := r.gather(ctx, job, ref, o, 0, true)
	if err != nil {
		return Result{}, err
	}
	a, err := r.answer(ctx, job, ref, in, budget)
	if err != nil || a == nil {
		return Result{}, err
	}
	p := product{
		text: a.archive.Text(), archive: a.address, in: in, o: o, passes: passes,
		account: &events.Distillation{
			TokenBudget: int64(budget), TokensUsed: int64(a.archive.Tokens.Input + a.archive.Tokens.Output),
		},
	}
	for i := range in.outputs {
		if out := &in.outputs[i]; out.archive == a.address && out.Content == p.text {
			p.existing = &out.Entry
			break
		}
	}
	if p.existing == nil {
		p.expires = r.retention.From(job.Now())
	}
	if r.cfg.Workspace != nil {
		updated := p.existing == nil
		p.account.IndexUpdated = &updated
	}
	res := Result{
		Archive: a.address, Existing: a.existing, Fallback: a.archive.Fallback, Sources: len(in.sources),
		Budget: budget, TokensUsed: int(p.account.TokensUsed),
	}
	res.Output, err = r.commit(ctx, job, ref, p)
	return res, err
}

// answered is the archive that answers a question.
type answered struct {
	archive  *Archive
	address  Digest
	existing bool
}

// answer finds the archive of the sources or makes it; nil if they say nothing.
func (r *Runner) answer(ctx context.Context, job *memory.Job, ref string, in *input, budget int) (*answered, error) {
	if len(in.sources) == 0 {
		return nil, nil
	}
	a := &Archive{
		Budget: budget, Format: Format, MaxBytes: r.cfg.MaxOutputBytes, MemoryRef: ref, Parents: in.parents,
		Redactor: r.cfg.RedactorVersion, Sources: in.archived, Summarizer: r.cfg.Summarizer.Name(),
		Tokenizer: r.cfg.Tokenizer.Name(), Tokens: Tokens{Input: in.tokens},
	}
	a.Key = a.Question()
	if clean, err := isClean(job, a); err != nil || !clean {
		return nil, cmp.Or(err, leaks("a ref, a name or a version holds a secret"))
	}
	s := memory.Scope{Tenant: job.Tenant(), Ref: ref}
	found, err := r.recall(ctx, job, s, a.Key, in)
	if found != nil || err != nil {
		return found, err
	}
	if in.tokens < budget {
		if a.Items, a.Fallback, err = r.summarize(ctx, job, in, budget-in.tokens); err != nil {
			return nil, err
		}
	}
	if len(a.Items) == 0 {
		output, err := minimum(ctx, r.request(job, in, 0))
		if err != nil || output == 0 {
			return nil, err
		}
		return nil, &BudgetError{Budget: budget, MinimumRequired: in.tokens + output}
	}
	a.Tokens.Output = r.cfg.Tokenizer.Count(a.Text())
	data := a.Encode()
	if len(data) > MaxArchiveBytes {
		return nil, invalid("the archive would be too large")
	}
	address, err := r.cfg.Archives.Keep(ctx, s, a.Key, data, job.Now())
	if err != nil {
		return nil, &failed{"the archive store failed", err}
	}
	if address == DigestOf(data) {
		return &answered{a, address, false}, nil
	}
	// Another pass was faster: its answer is the answer.
	found, err = r.recall(ctx, job, s, a.Key, in)
	if err == nil && found == nil {
		err = memory.ErrConflict // gone again: begin anew
	}
	return found, err
}

// recall returns the archive that a key has, if it is intact and clean by today's
// redactor. One that is not is erased, with the entries that it was published by.
func (r *Runner) recall(ctx context.Context, job *memory.Job, s memory.Scope, key Digest, in *input) (*answered, error) {
	address, err := r.cfg.Archives.Find(ctx, s, key)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &failed{"the archive store failed", err}
	}
	a, data, err := r.load(ctx, s, address)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, ErrArchive) {
		return nil, err
	}
	if err == nil && a.Key == key {
		clean, err := isClean(job, a)
		if err != nil {
			return nil, err
		}
		if clean {
			// From now on it is as fresh as a new one to a collection.
			address, err := r.cfg.Archives.Keep(ctx, s, key, data, job.Now())
			if err != nil {
				return nil, &failed{"the archive store failed", err}
			}
			if address != DigestOf(data) {
				return nil, memory.ErrConflict
			}
			return &answered{a, address, true}, nil
		}
	}
	return nil, r.discard(ctx, job, s, address, in)
}

// discard erases an archive and the entries that name it, and these first.
func (r *Runner) discard(ctx context.Context, job *memory.Job, s memory.Scope, address Digest, in *input) error {
	var ids []string
	for _, out := range in.outputs {
		if out.archive == address {
			ids = append(ids, out.ID)
		}
	}
	if len(ids) > 0 {
		if _, err := job.Rewrite(ctx, s.Ref, memory.Rewrite{Erase: ids}); err != nil {
			return err
		}
	}
	if err := r.drop(ctx, s, address); err != nil {
		return err
	}
	return memory.ErrConflict // what was read is out of date: begin anew
}

// isClean reports whether the redactor leaves every text of an archive as it is, in
// the form that the archive holds it in too.
func isClean(job *memory.Job, a *Archive) (bool, error) {
	texts := []string{a.MemoryRef, a.Redactor, a.Summarizer, a.Tokenizer, a.Text()}
	for _, it := range a.Items {
		texts = append(texts, it.Text)
	}
	for _, text := range texts {
		out, err := settle(job.Redact, text)
		if err != nil {
			return false, err
		}
		if out != text {
			return false, nil
		}
	}
	return true, nil
}

func (r *Runner) load(ctx context.Context, s memory.Scope, address Digest) (*Archive, []byte, error) {
	data, err := r.cfg.Archives.Load(ctx, s, address)
	if err != nil {
		return nil, nil, &failed{"the archive cannot be read", err}
	}
	if DigestOf(data) != address {
		return nil, nil, broken("has another address")
	}
	a, err := Decode(data)
	return a, data, err
}

func (r *Runner) drop(ctx context.Context, s memory.Scope, address Digest) error {
	if err := r.cfg.Archives.Drop(ctx, s, address, noTime); err != nil {
		return &failed{"the archive store failed", err}
	}
	return nil
}

// Open returns the archive that a live output of a distillation names. A reader
// reaches an archive in no other way (D3). It is verified, and today's redactor must
// find nothing in it; otherwise the error matches [memory.ErrSecretLeakage], and a
// [memory.Bank.Scrub] with [Runner.Erase] is due. An entry that is not live, or names
// no archive, is [memory.ErrNotFound].
func (r *Runner) Open(ctx context.Context, job *memory.Job, ref, entryID string) (*Archive, error) {
	e, err := job.Get(ctx, ref, entryID)
	if err != nil {
		return nil, err
	}
	out, ok := asOutput(e)
	if !ok || out.archive.IsZero() || r.cfg.Archives == nil {
		return nil, &failed{"the entry names no archive", memory.ErrNotFound}
	}
	a, _, err := r.load(ctx, memory.Scope{Tenant: job.Tenant(), Ref: ref}, out.archive)
	if err != nil {
		return nil, err
	}
	clean, err := isClean(job, a)
	if err != nil {
		return nil, err
	}
	if !clean {
		return nil, leaks("the archive holds what is a secret today")
	}
	return a, nil
}

// passCell counts the distillations of a ref that committed, so that two passes at
// once cannot both publish.
const passCell = "distill.passes"

func nextPass(passes []byte) []byte {
	n, _ := strconv.ParseUint(string(passes), 10, 64) // absent or not ours: begin anew
	return strconv.AppendUint(nil, n+1, 10)
}
