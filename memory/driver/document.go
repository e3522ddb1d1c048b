package driver

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Document is a small named value beside the entries: a lease, a digest, a page of a
// journal, a commitment, an archive, a vector, a file. It is known by its scope, kind
// and key. Documents are not versioned: no view shows them.
type Document struct {
	// Scope is the tenant and ref that the document belongs to. Ref may be empty: then
	// it is the tenant's own.
	Scope
	// Class says what the document may hold and who may see it. It never changes.
	Class Class
	// Kind and Key are identifiers, never text of an entry.
	Kind, Key string
	// Value is at most [MaxDocumentBytes]. Nil and empty are the same. Other than of entries, a store keeps
	// and returns a copy of it.
	Value []byte
	// Group is a second name to find documents by; several may share it.
	Group string
	// Due is the instant at which an engine looks at the document, in whole
	// milliseconds; zero is never. Only machinery has one.
	Due time.Time
	// Of are the entries of the ref that the document was made from. It is removed
	// in the mutation that erases any of them, and by the purge that removes one. Only
	// content has them. One that is named twice counts once.
	Of []string
	// Whole says that the document was made from the whole ref: it is removed in the
	// mutation that erases any entry of the ref, and by the purge that removes one which was
	// not erased. Content has Of or is Whole. So that nothing that was erased meanwhile can be in the value, it
	// is stored in two mutations: the first sets the document without a value; then the ref
	// is read; the second sets the value, by the Rev of the first.
	Whole bool
	// Subjects are the labels under which forgetting finds the document. Only host
	// text has them. One that is named twice counts once.
	Subjects []string
	// Rev is the revision, which the store chooses. Those of one name ascend, and none of
	// them comes again, not even after the document was removed.
	Rev int64
}

// Class is what a document may hold.
type Class uint8

// The classes of documents.
const (
	// Machinery holds no word of an entry: leases, commitments, digests. A scheduler
	// may see it across tenants.
	Machinery Class = iota
	// Content is as confidential as the entries that it was made from, and goes with
	// them.
	Content
	// HostText is text of the host, such as files and proposals.
	HostText
)

// DocumentSwap changes or checks a document. It holds iff the revision of the document
// of that scope, kind and key is Document.Rev, where 0 is one that is not
// there, and its class is Document.Class. Both are judged by what was there before the
// mutation.
type DocumentSwap struct {
	Document
	Act Act
}

// Act is what a [DocumentSwap] does.
type Act uint8

// The acts.
const (
	// Set stores the document, all of it.
	Set Act = iota
	// Retain stores Of, Group, Due and Subjects, and leaves the Value as it is. The
	// document must be there; if the mutation itself erases an entry that it was made
	// of, it is removed all the same.
	Retain
	// Check changes nothing.
	Check
	// Remove removes the document. One that is not there stays so.
	Remove
)

// DocumentQuery narrows a [Transactor.Documents]. Tenant is required; other empty
// fields do not narrow, but for Ref.
type DocumentQuery struct {
	Tenant string
	// EveryRef asks for the documents of all refs and the tenant's own. Without it
	// those of Ref are meant, where an empty one is the tenant's own.
	EveryRef bool
	Ref      string
	Kind     string
	Key      string
	Group    string
	Subject  string // host text that carries this label
	Bare     bool   // leave the values out

	// After continues behind a document, of which the Ref, Kind and Key count. It need not
	// be there any more.
	After *Document
	Limit int // bounds the number of documents; 0 is no bound
}

// Matches reports whether q asks for d, apart from its Limit.
func (q *DocumentQuery) Matches(d *Document) bool {
	return q.Tenant == d.Tenant && (q.After == nil || q.After.compare(d) < 0) && (q.EveryRef || q.Ref == d.Ref) && (q.Kind == "" || q.Kind == d.Kind) &&
		(q.Key == "" || q.Key == d.Key) && (q.Group == "" || q.Group == d.Group) &&
		(q.Subject == "" || slices.Contains(d.Subjects, q.Subject))
}

// compare orders the documents of a tenant by the bytes of ref, kind and key.
func (d *Document) compare(o *Document) int {
	return cmp.Or(strings.Compare(d.Ref, o.Ref), strings.Compare(d.Kind, o.Kind), strings.Compare(d.Key, o.Key))
}
