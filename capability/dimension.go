package capability

import "math/bits"

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

var dimensions = [...]Dimension{Read, Write, Search, LongTerm, Compaction, Attribution, Replay, Retention}

// Dimensions returns all eight in the order of the protocol's schema, in which
// they are always listed.
func Dimensions() []Dimension {
	all := dimensions
	return all[:]
}

// set is some of the dimensions: bit i stands for dimensions[i].
type set uint8

func setOf(ds ...Dimension) (s set) {
	for i, d := range dimensions {
		for _, member := range ds {
			if d == member {
				s |= 1 << i
			}
		}
	}
	return s
}

func (s set) has(d Dimension) bool { return s&setOf(d) != 0 }

// list returns the members in schema order, nil for none.
func (s set) list() []Dimension {
	if s == 0 {
		return nil
	}
	ds := make([]Dimension, 0, bits.OnesCount8(uint8(s)))
	for i, d := range dimensions {
		if s>>i&1 != 0 {
			ds = append(ds, d)
		}
	}
	return ds
}

// Shape is the memory that an agent's manifest asks for (AgentManifest.memoryShape).
// A field that is absent counts as false.
type Shape struct {
	Scratchpad   bool `json:"scratchpad,omitempty"`
	Conversation bool `json:"conversation,omitempty"`
	LongTerm     bool `json:"longTerm,omitempty"`
}

var (
	runNeeds     = setOf(Read, Write)
	lastingNeeds = setOf(Read, Write, LongTerm)
)

// needs are the dimensions that memory of this shape rests on (A3).
func (s Shape) needs() (n set) {
	if s.Scratchpad || s.Conversation {
		n |= runNeeds
	}
	if s.LongTerm {
		n |= lastingNeeds
	}
	return n
}
