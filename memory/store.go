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

	// Record is an entry with what became of it: its text is Record.Entry.Content, and
	// [driver.Record] has all fields.
	Record = driver.Record
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
