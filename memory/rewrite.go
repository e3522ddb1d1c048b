package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Rewrite is a conditional change of one ref's memory by a background pass. It
// takes effect whole or not at all.
type Rewrite struct {
	// Expect are entries that must be live when it commits, beside all that the
	// other fields need to be.
	Expect []string
	// Derive are new entries made from others.
	Derive []Derived
	// Retire ends the life of entries in favour of other entries of the ref.
	Retire []Retire
	// Restore brings merged or superseded entries back.
	Restore []string
	// Erase removes entries from every version.
	Erase []string
	// Documents, if set, is called with the entries of Derive as they will be stored, and
	// returns documents to change or check: of the ref, or with an empty Ref the tenant's
	// own. Their tenant is filled in. Machinery holds identifiers, digests and positions;
	// one in which the redactor finds a secret is refused. Content must be as the redactor
	// leaves it. Host text is redacted. It may be called more than once, in place, and must
	// return promptly.
	Documents func(stored []Entry) []driver.DocumentSwap
	// Announce is called with the entries of Derive as they will be stored, and
	// returns the events that commit with them. Of each, the Payload counts, and the ID for
	// one that must be the same however often the pass is tried; the bank fills in the rest,
	// and issues an ID where there is none. An ID belongs to one payload of the run: with
	// another one the mutation fails, or the sink does. It is called like Documents.
	Announce func(stored []Entry) []events.Record
}

// Derived is a new entry made from others of the ref.
type Derived struct {
	Draft
	// Sources are the entries that it was made from. They must be live when it
	// commits (M8). It takes over their subjects, so that forgetting one of them
	// reaches it.
	Sources []string
	// Merges are entries that it replaces: they are retired as [Merged] in its
	// favour.
	Merges []string
	// Compacted makes it the output of a compaction: it gets the tag
	// "compacted-from:<run>" (RFC 0012 §C). Archive is the address of the archive that
	// it names by a tag "archive:<address>"; empty for none.
	Compacted bool
	Archive   string
}

// Rewritten is what a [Job.Rewrite] made.
type Rewritten struct {
	// Entries are those of Derive as stored.
	Entries []Entry
	// Revs are the revisions of the documents, in their order; 0 for a removed one.
	Revs []int64
	// Events are what was announced with it: the memory.written of each entry of Derive, and
	// then those of Announce.
	Events []events.Record
}

// Retire ends the life of an entry: [Merged] or [Superseded] in favour of For, or
// [Deleted].
type Retire struct {
	ID    string
	State driver.State
	// For is the id of the entry that takes the place of this one: a live entry of the ref
	// that the same rewrite does not retire. It is empty for [Deleted].
	For string
}

// Rewrite commits rw. With an empty ref it changes documents of the tenant's own and
// nothing else. Where the bank has WriteEvents, each entry of Derive has a
// memory.written event too, without a node. Derived text loses leak forms and well-known
// secret shapes as well (R5).
//
// Errors: [ErrConflict] if something it expects does not hold any more, and nothing
// happened; otherwise those of [Run.Put], and [ErrNotProvided] if the store is not a
// Transactor.
func (j *Job) Rewrite(ctx context.Context, ref string, rw Rewrite) (done Rewritten, err error) {
	ctx, span := j.Begin(ctx, telemetry.Rewrite)
	defer span.Done(&err)
	s, err := j.begin(func() (Scope, error) {
		if ref == "" && rw.Documents != nil && len(rw.Expect)+len(rw.Derive)+len(rw.Retire)+len(rw.Restore)+len(rw.Erase) == 0 {
			return j.tenantScope(ctx)
		}
		return j.target(ctx, ref)
	})
	if err != nil {
		return Rewritten{}, err
	}
	defer j.life.RUnlock()
	if j.bank.tx == nil {
		return Rewritten{}, fail(ErrNotProvided, "a rewrite needs a store that is a driver.Transactor")
	}
	m := driver.Mutation{At: j.bank.Now(), Live: located(s, rw.Expect), Restore: located(s, rw.Restore), Erase: located(s, rw.Erase)}
	stored, err := j.deriveAll(ctx, s, rw.Derive, &m)
	if err != nil {
		return Rewritten{}, err
	}
	for _, r := range rw.Retire {
		m.Retire = append(m.Retire, driver.Retirement{Located: driver.Located{Scope: s, ID: r.ID}, State: r.State, For: r.For})
	}
	if err := checkRetirements(m.Retire); err != nil {
		return Rewritten{}, err
	}
	redacted := 0 // texts of the host and of drafts
	if rw.Documents != nil {
		given, err := hostcall.Inline("Rewrite.Documents", func() ([]driver.DocumentSwap, error) { return rw.Documents(handOut(stored)), nil })
		if err != nil {
			return Rewritten{}, hostFailed(ctx, "Rewrite.Documents", err)
		}
		if m.Documents, err = j.documents(ctx, s, given); err != nil {
			return Rewritten{}, err
		}
		for i := range given {
			if !bytes.Equal(given[i].Value, m.Documents[i].Value) {
				redacted++
			}
		}
	}
	if rw.Announce != nil && j.bank.takesEvents() {
		said, err := hostcall.Inline("Rewrite.Announce", func() ([]events.Record, error) { return rw.Announce(handOut(stored)), nil })
		if err != nil {
			return Rewritten{}, hostFailed(ctx, "Rewrite.Announce", err)
		}
		for _, a := range said {
			rec, err := j.wrapEvent(ctx, a)
			if err != nil {
				return Rewritten{}, err
			}
			m.Events = append(m.Events, rec)
		}
	}
	asked := len(m.Documents)
	if len(m.Erase) > 0 {
		note, err := j.bank.ledgerStep(s.Tenant, &m, j.nameCleaner(ctx))
		if err != nil {
			return Rewritten{}, err
		}
		m.Documents = append(m.Documents, note)
	}
	made, err := j.bank.apply(ctx, s.Tenant, m)
	if err != nil {
		return Rewritten{}, err
	}
	for i := range stored {
		redacted += redactions(&rw.Derive[i].Draft, &stored[i])
	}
	span.Add(telemetry.Records.Of(len(stored)+len(m.Retire)+len(m.Restore)+len(m.Erase)), telemetry.Redactions.Of(redacted),
		telemetry.Documents.Of(asked), telemetry.Erased.Of(len(m.Erase)))
	done = Rewritten{Entries: handOut(stored), Revs: made.Revs[:asked]}
	for _, rec := range m.Events {
		done.Events = append(done.Events, rec.Clone())
	}
	return done, nil
}

// wrapEvent wraps an event of a run or a pass. A host's own payload is redacted; in all else
// the redactor must find nothing.
func (w writer) wrapEvent(ctx context.Context, a events.Record) (events.Record, error) {
	if p, own := a.Payload.(events.HostPayload); own {
		if err := p.Validate(); err != nil {
			return events.Record{}, invalidEvent(err)
		}
		clean, err := w.cleanJSON(ctx, p.JSON)
		if err != nil {
			return events.Record{}, err
		}
		a.Payload = events.HostPayload{Type: p.Type, JSON: clean}
		if err := w.identifiers(ctx, name{"the type of an event", string(p.Type)}); err != nil {
			return events.Record{}, err
		}
	}
	text, err := json.Marshal(a.Payload)
	if err != nil {
		return events.Record{}, invalidEvent(err)
	}
	if err := w.identifiers(ctx, append(names("the payload of an event", append(plainTexts(text), string(text))...), name{"Record.ID", a.ID})...); err != nil {
		return events.Record{}, err
	}
	rec := w.record(a.Payload)
	if a.ID != "" {
		rec.ID = a.ID
	}
	return rec, nil
}

// plainTexts are the strings in JSON as they are without its escapes, in which a redactor
// may not know a secret again.
func plainTexts(text []byte) (found []string) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return found
		}
		if s, is := token.(string); is {
			found = append(found, s)
		}
	}
}

// deriveAll adds derived entries to the mutation. It reads their sources at once.
func (j *Job) deriveAll(ctx context.Context, s Scope, all []Derived, m *driver.Mutation) ([]Entry, error) {
	var ids []string
	for i := range all {
		ids = append(ids, all[i].Sources...)
	}
	recs, err := lookup(ctx, j.bank.tx, s, ids)
	if err != nil {
		return nil, err
	}
	sources := make(map[string]*Record, len(recs))
	for i := range recs {
		if r := &recs[i]; r.State == Live && !r.Erased && r.Entry.LiveAt(m.At) {
			sources[r.Entry.ID] = r
		}
	}
	stored := make([]Entry, 0, len(all))
	for i := range all {
		e, err := j.derive(ctx, &all[i], sources, j.bank.Now())
		if err != nil {
			return nil, err
		}
		m.Live = append(m.Live, located(s, e.Sources)...)
		m.Put = append(m.Put, driver.Placed{Scope: s, Entry: e})
		for _, id := range all[i].Merges {
			m.Retire = append(m.Retire, driver.Retirement{Located: driver.Located{Scope: s, ID: id}, State: Merged, For: e.ID})
		}
		if j.bank.cfg.WriteEvents {
			d := all[i].Draft
			d.NodeID = ""
			m.Events = append(m.Events, j.writeEvent(s, &e, d))
		}
		stored = append(stored, e)
	}
	return stored, nil
}

// derive makes the entry of a derived draft, which takes over the subjects of its
// sources.
func (j *Job) derive(ctx context.Context, d *Derived, sources map[string]*Record, now time.Time) (Entry, error) {
	draft := d.Draft
	draft.NodeID = "" // no node made it (RFC 0068 §D)
	if draft.Key != "" || draft.conditional() {
		return Entry{}, fail(ErrValidation, "Derived.Draft has a Key, a Name or Replaces, and a derived entry has none")
	}
	e, err := j.entry(ctx, draft, true, now)
	if err != nil {
		return Entry{}, err
	}
	own, err := j.provenance(ctx, d)
	if err != nil {
		return Entry{}, err
	}
	e.Tags = append(own, e.Tags...)
	carried := make(map[string]bool, len(e.Subjects))
	for _, s := range e.Subjects {
		carried[s] = true
	}
	for _, id := range d.Sources {
		source := sources[id]
		if source == nil {
			return Entry{}, fail(ErrConflict, "an entry of Derived.Sources is no longer live: read the ref again and plan anew")
		}
		for _, s := range source.Entry.Subjects {
			if !carried[s] {
				carried[s] = true
				e.Subjects = append(e.Subjects, s)
			}
		}
	}
	e.Sources = slices.Clone(d.Sources)
	return e, nil
}

// checkRetirements refuses retirements that contradict themselves or each other.
func checkRetirements(list []driver.Retirement) error {
	retired := make(map[string]bool, len(list))
	for _, r := range list {
		if retired[r.ID] {
			return fail(ErrValidation, "Rewrite.Retire names an entry twice")
		}
		retired[r.ID] = true
	}
	for _, r := range list {
		switch {
		case r.State == Deleted && r.For == "":
		case (r.State == Merged || r.State == Superseded) && r.For != "" && !retired[r.For]:
		default:
			return fail(ErrValidation, "Rewrite.Retire: a merged or superseded entry needs For, an entry that is not retired itself, and a deleted one has none")
		}
	}
	return nil
}

func located(s Scope, ids []string) []driver.Located {
	out := make([]driver.Located, len(ids))
	for i, id := range ids {
		out[i] = driver.Located{Scope: s, ID: id}
	}
	return out
}
