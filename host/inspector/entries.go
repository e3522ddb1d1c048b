package inspector

import (
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// entryDoc is an entry with what the protocol does not show: whose it is and where it comes from.
type entryDoc struct {
	memoryEntry
	Ref      string   `json:"ref,omitempty"` // if it is of another one than was asked about
	RunID    string   `json:"runId,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	Sources  []string `json:"sources,omitempty"`
	// State is set where it is not plainly live, and For is what took the entry's place.
	State string `json:"state,omitempty"`
	For   string `json:"for,omitempty"`
	// In says which sides of a comparison have it.
	In *presence `json:"in,omitempty"`
}

type memoryEntry struct {
	ID        string    `json:"id"`
	Content   string    `json:"content"`
	Tags      []string  `json:"tags"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

type presence struct {
	View bool `json:"view"`
	Live bool `json:"live"`
}

func document(e memory.Entry) entryDoc {
	return entryDoc{
		memoryEntry: memoryEntry{e.ID, e.Content, append([]string{}, e.Tags...), e.CreatedAt, e.ExpiresAt},
		RunID:       e.RunID, Subjects: e.Subjects, Sources: e.Sources,
	}
}

// mostRefs bounds how many refs are listed.
const mostRefs = 1000

func (h *Handler) refs(q *request) (any, error) {
	refs, more := []string{}, false
	for ref, err := range h.Bank.Refs(q, q.tenant) {
		if err != nil {
			return nil, err
		}
		if more = len(refs) == mostRefs; more {
			break
		}
		refs = append(refs, ref)
	}
	return map[string]any{"refs": refs, "more": more}, nil
}

func (h *Handler) entries(q *request) (any, error) {
	q.page.Tag = q.param("tag")
	entries, err := h.Bank.Reader(q.tenant).List(q, q.param("ref"), q.page)
	if err != nil {
		return nil, err
	}
	docs := []entryDoc{}
	for _, e := range entries {
		docs = append(docs, document(e))
	}
	out := map[string]any{"entries": docs}
	if n := len(entries); n == q.page.Limit {
		out["next"] = entries[n-1].Cursor()
	}
	return out, nil
}

func (h *Handler) recall(q *request) (any, error) {
	hits, err := h.Bank.Search(q, q.tenant, q.param("ref"), memory.Search{Text: q.param("q"), Limit: q.page.Limit})
	if err != nil {
		return nil, err
	}
	type hitDoc struct {
		Entry entryDoc `json:"entry"`
		Score float64  `json:"score"`
		Terms []string `json:"terms"`
		// Similarity is how near the entry is to the question in meaning, if the ranker has a model.
		Similarity float64 `json:"similarity,omitempty"`
	}
	docs := []hitDoc{}
	for _, hit := range hits {
		docs = append(docs, hitDoc{document(hit.Entry), hit.Score, append([]string{}, hit.Terms...), hit.Similarity})
	}
	return map[string]any{"hits": docs}, nil
}

// maxRetired bounds how many entries a lineage shows.
const maxRetired = 200

// lineage tells what became of an entry, and what the entry at the end of its lineage has taken the
// place of. An entry that came to nothing is not quoted, nor is one that has expired.
func (h *Handler) lineage(q *request) (any, error) {
	ref, id := q.param("ref"), q.param("id")
	outcomes, err := h.Bank.Lineage(q, q.tenant, ref, id)
	if err != nil {
		return nil, err
	}
	outcome, found := outcomes[id]
	if !found {
		return nil, memory.ErrNotFound
	}
	out := map[string]any{"id": id, "state": outcome.State.String()}
	if outcome.State == memory.Deleted {
		return out, nil
	}
	kin, more, err := h.retiredInto(q, ref, outcome.Head.ID)
	out["head"], out["kin"], out["more"] = document(outcome.Head), kin, more
	return out, err
}

// retiredInto returns the retired entries of a ref that lead to head, newest first.
func (h *Handler) retiredInto(q *request, ref, head string) (docs []entryDoc, more bool, err error) {
	job, err := h.job(q)
	if err != nil {
		return nil, false, err
	}
	retired := map[string]memory.Record{}
	for rec, err := range job.History(q, ref) {
		if err != nil {
			return nil, false, err
		}
		if !rec.Erased && (rec.State == memory.Merged || rec.State == memory.Superseded) {
			retired[rec.Entry.ID] = rec
		}
	}
	leads := func(id string) bool {
		for range retired { // memory may have moved while it was read, so that one leads to itself
			if id == head {
				return true
			}
			id = retired[id].For
		}
		return id == head
	}
	var kin []memory.Record
	for id, rec := range retired {
		if leads(id) {
			kin = append(kin, rec)
		}
	}
	slices.SortFunc(kin, func(a, b memory.Record) int { return newestFirst(a.Entry, b.Entry) })
	docs = []entryDoc{}
	for _, rec := range kin[:min(len(kin), maxRetired)] {
		docs = append(docs, h.record(&rec))
	}
	return docs, len(kin) > maxRetired, nil
}

// job returns one that reads. It has nothing to redact, since it writes nothing. It is not ended: it
// holds nothing, and ending it could deliver an event.
func (h *Handler) job(q *request) (*memory.Job, error) {
	return h.Bank.Background(memory.JobConfig{ID: jobID, Tenant: q.tenant, Redactor: readOnlyRedactor{q.tenant}})
}

// record is an entry with what became of it. One that has expired is not quoted.
func (h *Handler) record(rec *memory.Record) entryDoc {
	d := document(rec.Entry)
	d.State, d.For = rec.State.String(), rec.For
	if !rec.Entry.LiveAt(h.Bank.Now()) {
		d.Content, d.Tags, d.Subjects, d.State = "", []string{}, nil, d.State+", expired"
	}
	return d
}

// mostAbout bounds how many entries about a subject are listed.
const mostAbout = 500

// subject lists what memory has about a subject, in every ref, with what was derived from it; and how
// many documents are made of that, by their kinds. Forgetting the subject would erase all of it.
func (h *Handler) subject(q *request) (any, error) {
	docs, kinds, more := []entryDoc{}, map[string]int{}, false
	for about, err := range h.Bank.Export(q, q.tenant, q.param("subject")) {
		switch {
		case err != nil:
			return nil, err
		case about.Document != nil:
			kinds[about.Document.Kind]++
		case len(docs) == mostAbout:
			more = true
		default:
			d := h.record(about.Record)
			d.Ref = about.Record.Ref
			if about.Record.State == memory.Deleted {
				d.Content, d.Tags = "", []string{}
			}
			docs = append(docs, d)
		}
	}
	return map[string]any{"entries": docs, "documents": kinds, "more": more}, nil
}

// jobID is the id of the jobs by which the inspector reads.
const jobID = "inspector"

// readOnlyRedactor is the redactor of a job that only reads: it lets the names of the job and of its
// tenant through, and nothing else.
type readOnlyRedactor struct{ tenant string }

func (w readOnlyRedactor) Redact(text string) (string, error) {
	if text == jobID || text == w.tenant {
		return text, nil
	}
	return "", errors.New("inspector: nothing is written")
}

func (readOnlyRedactor) RedactDerived(string) (string, error) {
	return "", errors.New("inspector: nothing is written")
}
