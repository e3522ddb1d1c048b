package capability

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Model is what a host's memory can do, as one discovery document says it. It
// never changes. The zero value is a host without memory.
type Model struct {
	doc      document
	have     set
	statuses [len(dimensions)]Status
}

// Status is the state of one dimension.
type Status struct {
	Dimension Dimension
	Satisfied bool
	// Source is the JSON pointer to the field that it was read from, or would have
	// been. Where two fields count there are two, with a comma between.
	Source string
	// Why says in one line why it is not satisfied, or else what is claimed.
	Why string
}

// Parse reads a discovery document (RFC 0073, RFC 0080 §A) of at most
// [MaxDocumentBytes]. Families are read at the root, or from a "capabilities"
// object for those that the root does not have. The memory family and the blocks
// memoryBackends, memoryConsolidation, commitments, proposals and manifestRuntime
// of agents must fit their schemas. Of everything else only what the model needs
// is looked at, and a field of another type there counts as absent.
//
// JSON is read as RFC 7493 has it: a field twice, invalid Unicode or an integer
// beyond 2^53-1 anywhere in the document is refused. The error is a
// [*DocumentError].
func Parse(doc []byte) (*Model, error) {
	d, err := read(doc)
	if err != nil {
		return nil, err
	}
	return newModel(d), nil
}

func newModel(d *document) *Model {
	m := &Model{doc: *d}
	m.judge()
	return m
}

// Statuses returns the eight dimensions in schema order.
func (m *Model) Statuses() []Status {
	s := m.judged()
	return s[:]
}

// Status returns one dimension; the zero Status for a name that is none.
func (m *Model) Status(d Dimension) Status {
	for _, s := range m.judged() {
		if s.Dimension == d {
			return s
		}
	}
	return Status{}
}

// Satisfies reports whether the host has a dimension.
func (m *Model) Satisfies(d Dimension) bool { return m.have.has(d) }

// Degraded returns the dimensions that memory of a shape needs and the host does
// not have, in schema order; nil if it has them all (RFC 0080 §C). An agent of
// that shape may still run, but its inventory entry must carry them.
func (m *Model) Degraded(s Shape) []Dimension { return (s.needs() &^ m.have).list() }

// MarshalJSON writes the discovery document that the model stands for: the
// families at the root, and all else that was in the document it was made of.
func (m *Model) MarshalJSON() ([]byte, error) {
	if m.doc.root == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(m.doc.root)
}

// judged returns the statuses, also those of a zero model.
func (m *Model) judged() [len(dimensions)]Status {
	if m.doc.root != nil {
		return m.statuses
	}
	var empty Model
	empty.judge()
	return empty.statuses
}

// judge reads the dimensions from the document (RFC 0080 §A).
func (m *Model) judge() {
	d := &m.doc
	for i, rule := range []func(*document) Status{
		readStatus, writeStatus, searchStatus, longTermStatus,
		compactionStatus, attributionStatus, replayStatus, retentionStatus,
	} {
		s := rule(d)
		s.Dimension = dimensions[i]
		m.statuses[i] = s
		if s.Satisfied {
			m.have |= 1 << i
		}
	}
}

// flag is the status that one boolean decides.
func (d *document) flag(path, claim string) Status {
	if d.isTrue(path) {
		return Status{Satisfied: true, Source: d.pointer(path), Why: claim}
	}
	return Status{Source: d.pointer(path), Why: d.lacks(path)}
}

func readStatus(d *document) Status { return d.flag("memory/supported", "list and get") }

func writeStatus(d *document) Status {
	if s := d.flag("memory/supported", "put and delete"); !s.Satisfied {
		return s
	} else if _, said := d.at("memory/writable"); !said {
		return s
	}
	return d.flag("memory/writable", "put and delete")
}

func searchStatus(d *document) Status {
	claim := "no mode is named"
	if modes := d.texts("memory/search/modes"); len(modes) > 0 {
		claim = strings.Join(modes, ", ")
	}
	return d.flag("memory/search/supported", claim)
}

const backends = "agents/memoryBackends"

// longTermBackend is the id of the backend, not the name of the dimension.
const longTermBackend = "long-term"

func longTermStatus(d *document) Status {
	s := Status{Source: d.pointer(backends)}
	for _, id := range d.texts(backends) {
		if id == longTermBackend {
			s.Satisfied, s.Why = true, longTermBackend
			return s
		}
	}
	if s.Why = d.missingAt(backends); s.Why == "" {
		s.Why = "agents.memoryBackends does not include long-term"
	}
	return s
}

func compactionStatus(d *document) Status {
	compaction := d.flag("memory/compaction/supported", "compaction")
	distillation := d.flag("memory/distillation/supported", "distillation")
	if compaction.Satisfied && distillation.Satisfied {
		return Status{Satisfied: true, Source: both(compaction.Source, distillation.Source), Why: "compaction and distillation"}
	}
	if distillation.Satisfied {
		return distillation
	}
	return compaction
}

func attributionStatus(d *document) Status {
	claim := "without a promise of events"
	if d.isTrue("memory/attribution/emitsWriteEvents") {
		claim = "an event for every write"
	}
	return d.flag("memory/attribution/supported", claim)
}

const (
	executionModel   = "multiAgent/executionModel"
	executionVersion = executionModel + "/version"
	// replayVersion is the first execution model that replays memory reads.
	replayVersion = 2
)

// replayStatus is derived from two fields (RFC 0039 §B).
func replayStatus(d *document) Status {
	lasting := longTermStatus(d)
	s := Status{Source: both(lasting.Source, d.pointer(executionVersion))}
	version, why := d.execution()
	switch {
	case !lasting.Satisfied:
		s.Why = lasting.Why
	case why != "":
		s.Why = why
	case version < replayVersion:
		s.Why = fmt.Sprintf("multiAgent.executionModel.version is below %d, the first that replays memory reads", replayVersion)
	default:
		s.Satisfied, s.Why = true, fmt.Sprintf("execution model %v", version)
	}
	return s
}

// execution returns the version of the execution model, or why there is none. A
// block that says it is not supported claims no version.
func (d *document) execution() (version float64, why string) {
	version, ok := d.number(executionVersion)
	if !ok {
		if _, said := d.at(executionVersion); said {
			return 0, "multiAgent.executionModel.version is no number"
		}
		return 0, fmt.Sprintf("multiAgent.executionModel.version is absent: declare %d if runs replay memory reads", replayVersion)
	}
	if supported, said := d.at(executionModel + "/supported"); said && supported != true {
		return 0, "multiAgent.executionModel.supported is not true"
	}
	return version, ""
}

func retentionStatus(d *document) Status {
	ttl := d.flag("memory/retention/ttl", "expiry")
	forget := d.flag("memory/retention/forget", "forgetting")
	if ttl.Satisfied && forget.Satisfied {
		return Status{Satisfied: true, Source: both(ttl.Source, forget.Source), Why: "expiry and forgetting"}
	}
	if forget.Satisfied {
		return forget
	}
	return ttl
}

func both(a, b string) string { return a + ", " + b }
