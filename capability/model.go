package capability

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Model is what a host's memory can do, as one discovery document says it. It
// never changes. The zero value is a host without memory.
type Model struct {
	doc      document
	statuses []Status // nil in the zero value
}

// Status says whether a host has a dimension, or a behaviour beside the dimensions.
type Status struct {
	// Name is that of the dimension, or of the behaviour's block in the document.
	Name      string
	Satisfied bool
	// Source is the JSON pointer to the field or block that it was read from, or would have
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
	return &Model{*d, d.statuses()}, nil
}

// statuses reads the eight dimensions, in schema order (RFC 0080 §A).
func (d *document) statuses() (all []Status) {
	for _, r := range rules {
		s := r.read(d)
		s.Name = string(r.dimension)
		all = append(all, s)
	}
	return all
}

func (m *Model) judged() []Status {
	if m.statuses == nil {
		return m.doc.statuses()
	}
	return m.statuses
}

// Statuses returns the eight dimensions in schema order.
func (m *Model) Statuses() []Status { return slices.Clone(m.judged()) }

// Status returns one dimension; the zero Status for a name that is none.
func (m *Model) Status(d Dimension) Status {
	for _, s := range m.judged() {
		if s.Name == string(d) {
			return s
		}
	}
	return Status{}
}

// Satisfies reports whether the host has a dimension.
func (m *Model) Satisfies(d Dimension) bool { return m.Status(d).Satisfied }

// Degraded returns the dimensions that memory of a shape needs and the host does
// not have, in schema order; nil if it has them all (RFC 0080 §C). An agent of
// that shape may still run, but its inventory entry must carry them.
func (m *Model) Degraded(s Shape) []Dimension { return s.lacks(m.Satisfies) }

// MarshalJSON writes the discovery document of which this is the model: the
// families at the root, and all else that was in the document it was made of.
func (m *Model) MarshalJSON() ([]byte, error) {
	if m.doc.root == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(m.doc.root)
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
	s := d.flag("memory/supported", "put and delete")
	if _, said := d.at("memory/writable"); s.Satisfied && said {
		return d.flag("memory/writable", "put and delete")
	}
	return s
}

func searchStatus(d *document) Status {
	return d.flag("memory/search/supported", cmp.Or(strings.Join(d.texts("memory/search/modes"), ", "), "no mode is named"))
}

const backends = "agents/memoryBackends"

// longTermBackend is the id of the backend, not the name of the dimension.
const longTermBackend = "long-term"

func longTermStatus(d *document) Status {
	s := Status{Source: d.pointer(backends), Why: d.missingAt(backends)}
	switch {
	case slices.Contains(d.texts(backends), longTermBackend):
		s.Satisfied, s.Why = true, longTermBackend
	case s.Why == "":
		s.Why = "agents.memoryBackends does not include long-term"
	}
	return s
}

// either reads the status that one of two booleans is enough for.
func either(path, claim, other, otherClaim string) func(*document) Status {
	return func(d *document) Status {
		one, two := d.flag(path, claim), d.flag(other, otherClaim)
		switch {
		case one.Satisfied && two.Satisfied:
			return Status{Satisfied: true, Source: both(one.Source, two.Source), Why: claim + " and " + otherClaim}
		case two.Satisfied:
			return two
		}
		return one
	}
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
	version, ok := get[float64](d, executionVersion)
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

func both(a, b string) string { return a + ", " + b }
