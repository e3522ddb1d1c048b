package memory

import "github.com/openwop/agentmemory/memory/driver"

// What a host and a store have in common is declared in package driver, where a store
// author finds it described from the other side.
type (
	// Entry is one thing remembered: ID, Content, Tags, CreatedAt, ExpiresAt, and what
	// the wire does not show: RunID, Subjects, Sources.
	Entry = driver.Entry

	// Scope names one agent's memory by Tenant and Ref (CTI-1).
	Scope = driver.Scope

	// State tells what became of an entry, apart from expiry.
	State = driver.State

	// Record is an entry with what became of it: a [Scope], Entry, State, For and
	// Erased.
	Record = driver.Record

	// Document is a small named value beside the entries: Scope, Class, Kind, Key,
	// Value, Group, Due, Of, Whole, Subjects, Rev.
	Document = driver.Document

	// DocumentSwap changes or checks a [Document] if its Rev is as it was
	// read.
	DocumentSwap = driver.DocumentSwap

	// DocumentQuery narrows a walk over documents: EveryRef or Ref, Kind, Key, Group,
	// Subject, Bare, After, Limit. The tenant and, for a [Job], the ref are filled in.
	DocumentQuery = driver.DocumentQuery
)

// The states of an entry.
const (
	// Live entries are in lists until they expire.
	Live = driver.Live
	// Merged entries were replaced by one that says the same. They are restored if that one is
	// forgotten, also if it had expired.
	Merged = driver.Merged
	// Superseded entries were replaced by a newer fact. Forgetting that one does not restore them.
	Superseded = driver.Superseded
	// Deleted entries are gone, and with them all that was merged into them or superseded by them.
	Deleted = driver.Deleted
)

// The classes of documents.
const (
	// Machinery holds no word of an entry: leases, commitments, digests.
	Machinery = driver.Machinery
	// Content is as confidential as the entries that it was made from, and goes with
	// them.
	Content = driver.Content
	// HostText is text of the host, such as files and proposals.
	HostText = driver.HostText
)

// What a [DocumentSwap] does.
const (
	// Set stores the document, all of it.
	Set = driver.Set
	// Retain stores everything but the Value, which stays.
	Retain = driver.Retain
	// Check changes nothing.
	Check = driver.Check
	// Remove removes the document.
	Remove = driver.Remove
)
