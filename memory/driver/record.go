package driver

import "slices"

// State tells what became of an entry, apart from expiry.
type State uint8

// The states of an entry.
const (
	// Live entries are in lists until they expire.
	Live State = iota
	// Merged entries were replaced by one that says the same. They are restored if that one
	// is forgotten, also if it had expired.
	Merged
	// Superseded entries were replaced by a newer fact. Forgetting that one does not restore
	// them.
	Superseded
	// Deleted entries are gone, and with them all that was merged into them or superseded by
	// them.
	Deleted
)

// String returns the state's name in lower case.
func (s State) String() string {
	names := [...]string{"live", "merged", "superseded", "deleted"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Record is an entry with what became of it.
type Record struct {
	Scope
	// Entry is whole unless Erased, and then has only its ID.
	Entry Entry
	// State is what became of the entry; erasing does not change it.
	State State
	// For is the entry in whose favour this one was retired.
	For string
	// Erased says that only the id and the lineage are left.
	Erased bool
}

// Located returns the place of the entry.
func (r *Record) Located() Located { return Located{r.Scope, r.Entry.ID} }

// HistoryQuery narrows a [Transactor.History]. Empty fields do not narrow.
type HistoryQuery struct {
	Ref     string   // records of this ref
	Subject string   // records that carry this subject label
	For     []string // records retired in favour of one of these ids; needs Ref
}

// Matches reports whether the history of a tenant that q asks for holds r, which is a record
// of that tenant.
func (q *HistoryQuery) Matches(r *Record) bool {
	return (q.Ref == "" || q.Ref == r.Ref) && (q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject)) &&
		(len(q.For) == 0 || slices.Contains(q.For, r.For))
}
