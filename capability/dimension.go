package capability

import "slices"

// Dimension is one of the eight things that a host's memory can do or not
// (RFC 0080 §A). Its value is the name on the wire.
type Dimension string

// The dimensions.
const (
	Read        Dimension = "read"
	Write       Dimension = "write"
	Search      Dimension = "search"
	LongTerm    Dimension = "long-term-durability"
	Compaction  Dimension = "compaction"
	Attribution Dimension = "attribution"
	Replay      Dimension = "replay-snapshot"
	Retention   Dimension = "retention"
)

// rules read the dimensions from a document, in the order of the protocol's schema.
var rules = []struct {
	dimension Dimension
	read      func(*document) Status
}{
	{Read, readStatus},
	{Write, writeStatus},
	{Search, searchStatus},
	{LongTerm, longTermStatus},
	{Compaction, either("memory/compaction/supported", "compaction", "memory/distillation/supported", "distillation")},
	{Attribution, attributionStatus},
	{Replay, replayStatus},
	{Retention, either("memory/retention/ttl", "expiry", "memory/retention/forget", "forgetting")},
}

// Dimensions returns all eight in the order of the protocol's schema, in which
// they are always listed.
func Dimensions() []Dimension {
	var all []Dimension
	for _, r := range rules {
		all = append(all, r.dimension)
	}
	return all
}

// Shape is the memory that an agent's manifest asks for (AgentManifest.memoryShape).
// A field that is absent counts as false.
type Shape struct {
	Scratchpad   bool `json:"scratchpad,omitempty"`
	Conversation bool `json:"conversation,omitempty"`
	LongTerm     bool `json:"longTerm,omitempty"`
}

// lacks returns the dimensions that memory of this shape needs and does not have (A3).
func (s Shape) lacks(has func(Dimension) bool) []Dimension {
	needs := []Dimension{Read, Write, LongTerm}
	if !s.LongTerm {
		needs = needs[:2]
	}
	if missing := slices.DeleteFunc(needs, has); s != (Shape{}) && len(missing) > 0 {
		return missing
	}
	return nil
}
