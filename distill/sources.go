package distill

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Source is an entry as a summarizer sees it: redacted again, whatever its store
// holds (RFC 0012 §D).
type Source struct {
	ID        string
	Text      string
	Tags      []string
	CreatedAt time.Time
	// Weight is how many entries say it: 1, and one more for each that was merged
	// into this one.
	Weight int
	// Archive is set for the output of an earlier distillation.
	Archive Digest
}

// input is what a pass reads.
type input struct {
	sources  []Source         // newest first
	archived []ArchivedSource // by id
	parents  []Digest         // sorted
	tokens   int
	left     int           // sources beyond the limit of one pass
	leftOut  []string      // sources that were not chosen, newest first
	retire   []string      // the sources that a policy may retire
	expires  time.Time     // the first expiry among the sources, if there is one
	outputs  []outputEntry // of earlier passes, whether sources or not
}

// outputEntry is the live output of an earlier pass.
type outputEntry struct {
	memory.Entry
	archive Digest // zero for one that was only compacted
}

// asOutput reports whether an entry is the output of a pass.
func asOutput(e memory.Entry) (outputEntry, bool) {
	out := outputEntry{Entry: e}
	for _, t := range e.Tags {
		if address, is := strings.CutPrefix(t, memory.ArchivePrefix); is {
			out.archive, _ = ParseDigest(address)
			break
		}
	}
	return out, e.Compacted()
}

// gather reads the sources of a pass at one version (D1). The budget is 0 where tokens do
// not matter.
func (r *Runner) gather(ctx context.Context, job *memory.Job, ref string, o Options, limit, budget int) (*input, error) {
	in := new(input)
	var picked []memory.Entry
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return nil, err
		}
		if out, ok := asOutput(e); ok {
			in.outputs = append(in.outputs, out)
			continue
		}
		takes, err := o.selects(e)
		if err != nil {
			return nil, err
		}
		if takes {
			picked = append(picked, e)
		}
	}
	if limit > 0 && len(picked) > limit {
		in.left = len(picked) - limit
		picked = picked[in.left:] // the oldest: the newer ones have a next time
	}
	weights, err := corroborations(ctx, job, ref)
	if err != nil {
		return nil, err
	}
	archives := map[string]Digest{}
	if o.Recursive {
		earlier, err := in.earlierOutputs(picked, o)
		if err != nil {
			return nil, err
		}
		for _, out := range earlier {
			archives[out.ID] = out.archive
			weights[out.ID] = 0 // it says again what others said
			picked = append(picked, out.Entry)
		}
		slices.SortFunc(picked, func(a, b memory.Entry) int {
			if a.Before(&b) {
				return -1
			}
			return 1
		})
	}
	if err := clean(ctx, job, picked); err != nil {
		return nil, err
	}
	for _, e := range picked {
		in.sources = append(in.sources, Source{e.ID, e.Content, e.Tags, e.CreatedAt, 1 + weights[e.ID], archives[e.ID]})
	}
	if o.Fit && budget > 0 {
		if picked, err = r.fit(ctx, job, in, picked, budget); err != nil {
			return nil, err
		}
	}
	if err := in.describe(ctx, picked); err != nil || budget == 0 {
		return in, err
	}
	for i := range in.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in.tokens += r.cfg.Tokenizer.Count(in.sources[i].Text)
	}
	return in, nil
}

// selects reports whether an entry is a source.
func (o *Options) selects(e memory.Entry) (bool, error) {
	if o.Tag != "" && !slices.Contains(e.Tags, o.Tag) {
		return false, nil
	}
	if o.Select == nil {
		return true, nil
	}
	const part = "the selection"
	e.Tags, e.Subjects, e.Sources = slices.Clone(e.Tags), slices.Clone(e.Subjects), slices.Clone(e.Sources) // the host's own
	selected, err := hostcall.Inline(part, func() (bool, error) { return o.Select(e), nil })
	return selected, hostFailed(context.Background(), part, err)
}

// earlierOutputs returns the earlier outputs that are sources. One that was made from
// outputs says nothing that is not there, as long as all of its sources are: taking
// it in would make another archive each time.
func (in *input) earlierOutputs(picked []memory.Entry, o Options) ([]outputEntry, error) {
	there, outputs := map[string]bool{}, map[string]bool{}
	for _, e := range picked {
		there[e.ID] = true
	}
	for _, out := range in.outputs {
		outputs[out.ID] = true
	}
	var taken []outputEntry
	for _, out := range slices.Backward(in.outputs) { // oldest first
		takes, err := o.selects(out.Entry)
		if err != nil {
			return nil, err
		}
		if !takes {
			continue
		}
		fromOutputs, whole := false, true
		for _, id := range out.Sources {
			fromOutputs = fromOutputs || outputs[id]
			whole = whole && there[id]
		}
		if fromOutputs && whole {
			continue
		}
		there[out.ID] = true
		taken = append(taken, out)
	}
	return taken, nil
}

// clean redacts the entries, which are our own copies.
func clean(ctx context.Context, job *memory.Job, picked []memory.Entry) (err error) {
	redact := redacting(ctx, job)
	for k := range picked {
		e := &picked[k]
		if e.Content, err = redact(e.Content); err != nil {
			return err
		}
		for i, t := range e.Tags {
			if e.Tags[i], err = redact(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe says for the archive and for what follows what the sources are, whose redacted
// entries are given.
func (in *input) describe(ctx context.Context, picked []memory.Entry) error {
	for i, e := range picked {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &in.sources[i]
		in.archived = append(in.archived, ArchivedSource{sourceDigest(e), e.ID, s.Weight})
		if !s.Archive.IsZero() {
			in.parents = append(in.parents, s.Archive)
		}
		if !e.Compacted() {
			in.retire = append(in.retire, e.ID)
		}
		if !e.ExpiresAt.IsZero() && (in.expires.IsZero() || e.ExpiresAt.Before(in.expires)) {
			in.expires = e.ExpiresAt
		}
	}
	slices.SortFunc(in.archived, func(a, b ArchivedSource) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(in.parents, func(a, b Digest) int { return bytes.Compare(a[:], b[:]) })
	in.parents = slices.Compact(in.parents)
	return nil
}

// ids are the sources in the order of the archive.
func (in *input) ids() []string {
	ids := make([]string, len(in.archived))
	for i := range in.archived {
		ids[i] = in.archived[i].ID
	}
	return ids
}

// corroborations counts, for each entry, those that were merged into it, directly or not.
func corroborations(ctx context.Context, job *memory.Job, ref string) (map[string]int, error) {
	into := map[string]string{}
	gone := map[string]bool{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return nil, err
		}
		if rec.State == memory.Merged {
			into[rec.Entry.ID] = rec.For
			gone[rec.Entry.ID] = rec.Erased
		}
	}
	weights := map[string]int{}
	for id := range into {
		if !gone[id] {
			weights[headOf(id, into)]++
		}
	}
	return weights, nil
}

// headOf follows merges to their end, and shortens the path for the next call.
func headOf(id string, into map[string]string) string {
	for {
		next, merged := into[id]
		if !merged {
			return id
		}
		if after, more := into[next]; more {
			into[id] = after
		}
		id = next
	}
}
