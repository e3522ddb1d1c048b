package distill

import (
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// GC drops the archives of a ref that have had their time, and returns how many. It
// rewrites the index first: an archive that the index still names is kept, so where
// the index cannot be rewritten nothing is dropped (D5). What no live entry names
// goes if it was kept longer ago than the grace, or if one of its sources was
// erased, so that no pass under way can publish it any more. It may run at any time,
// in any number of processes.
func (r *Runner) GC(ctx context.Context, job *memory.Job, ref string) (int, error) {
	if r.cfg.Archives == nil {
		return 0, &failed{"collecting needs a place for archives", memory.ErrNotProvided}
	}
	named := map[Digest]bool{}
	if r.cfg.Workspace != nil {
		x, err := r.reindex(ctx, job, ref)
		if err != nil {
			return 0, err
		}
		for _, l := range x.Refs[ref] {
			named[l.ArchiveChecksum] = true
		}
	}
	s := memory.Scope{Tenant: job.Tenant(), Ref: ref}
	kept, err := r.kept(ctx, s)
	if err != nil {
		return 0, err
	}
	// Entries after archives: what is published meanwhile was kept within the grace.
	live, err := lines(ctx, job, ref)
	if err != nil {
		return 0, err
	}
	for _, l := range live {
		named[l.ArchiveChecksum] = true
	}
	erased, err := erasedIn(ctx, job, ref)
	if err != nil {
		return 0, err
	}
	dropped := 0
	old := job.Now().Add(-r.cfg.Grace)
	for _, k := range kept {
		if named[k.Address] {
			continue
		}
		before := old
		if !k.At.Before(old) {
			dead, err := r.holds(ctx, s, k.Address, erased)
			if err != nil {
				return dropped, err
			}
			if !dead {
				continue
			}
			before = noTime
		}
		if err := r.cfg.Archives.Drop(ctx, s, k.Address, before); err != nil {
			return dropped, &failed{"the archive store failed", err}
		}
		dropped++
	}
	return dropped, nil
}

// Erase takes what a [memory.Bank.Forget] or a [memory.Bank.Scrub] did to the
// archives and the index: of every ref that lost an entry it rewrites the lines, and
// drops the archives that were made from what was erased, published or not, that
// cannot be read, or in which the job's redactor finds something today. It returns
// how many. After an error it may be called again with the same argument. A host
// calls it each time it forgets.
func (r *Runner) Erase(ctx context.Context, job *memory.Job, done memory.Forgotten) (int, error) {
	if r.cfg.Archives == nil {
		return 0, nil
	}
	erased := map[string]map[string]bool{}
	for _, at := range done.Erased {
		if at.Tenant != job.Tenant() {
			return 0, invalid("what was forgotten is another tenant's")
		}
		if erased[at.Ref] == nil {
			erased[at.Ref] = map[string]bool{}
		}
		erased[at.Ref][at.ID] = true
	}
	dropped := 0
	for ref, ids := range erased {
		// The index first. An error there must not keep what is to be forgotten.
		indexErr := r.Reindex(ctx, job, ref)
		n, err := r.eraseIn(ctx, job, memory.Scope{Tenant: job.Tenant(), Ref: ref}, ids)
		dropped += n
		if err = errors.Join(err, indexErr); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

func (r *Runner) eraseIn(ctx context.Context, job *memory.Job, s memory.Scope, ids map[string]bool) (int, error) {
	kept, err := r.kept(ctx, s)
	if err != nil {
		return 0, err
	}
	dropped := 0
	for _, k := range kept {
		doomed, err := r.holds(ctx, s, k.Address, ids)
		if err == nil && !doomed {
			doomed, err = r.leaks(ctx, job, s, k.Address)
		}
		if err != nil {
			return dropped, err
		}
		if !doomed {
			continue
		}
		if err := r.drop(ctx, s, k.Address); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

func (r *Runner) kept(ctx context.Context, s memory.Scope) ([]Kept, error) {
	var all []Kept
	for k, err := range r.cfg.Archives.Archives(ctx, s) {
		if err != nil {
			return nil, &failed{"the archive store failed", err}
		}
		all = append(all, k)
	}
	return all, nil
}

// holds reports whether an archive was made from one of the entries. One that is not
// intact may have been.
func (r *Runner) holds(ctx context.Context, s memory.Scope, address Digest, ids map[string]bool) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	a, _, err := r.load(ctx, s, address)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return false, nil
	case errors.Is(err, ErrArchive):
		return true, nil
	case err != nil:
		return false, err
	}
	return slices.ContainsFunc(a.Sources, func(x ArchivedSource) bool { return ids[x.ID] }), nil
}

// leaks reports whether the redactor would change an archive today.
func (r *Runner) leaks(ctx context.Context, job *memory.Job, s memory.Scope, address Digest) (bool, error) {
	a, _, err := r.load(ctx, s, address)
	if errors.Is(err, memory.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	clean, err := isClean(job, a)
	return !clean, err
}

// erasedIn are the entries of a ref that were erased.
func erasedIn(ctx context.Context, job *memory.Job, ref string) (map[string]bool, error) {
	ids := map[string]bool{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return nil, err
		}
		if rec.Erased {
			ids[rec.Entry.ID] = true
		}
	}
	return ids, nil
}
