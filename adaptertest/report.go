package adaptertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Status is the outcome of a case.
type Status string

// The outcomes of a case.
const (
	Proven     Status = "proven"
	Broken     Status = "broken"
	NotOffered Status = "not offered"
)

// Level is the step that a store has reached: the highest one which it offers, if
// no case of that step or of one below it failed.
type Level string

// The steps that a store can reach.
const (
	LevelNone       Level = "none"
	LevelAdapter    Level = "adapter"
	LevelTransactor Level = "transactor"
	LevelVersioned  Level = "versioned"
)

// Report tells what is known about a store. Its JSON form is stable in so far as fields
// are only added.
type Report struct {
	// Level is the step that the store has reached.
	Level Level `json:"level"`
	// Offers are the abilities that the store has.
	Offers []Offer `json:"offers"`
	// NotOffered are the others, with the reason.
	NotOffered map[Offer]string `json:"notOffered"`
	// Missing are required abilities that the store does not have.
	Missing []Offer `json:"missing"`
	// Remarks are what a reader should know beside the laws.
	Remarks []string `json:"remarks"`
	// Seed is the seed of the random steps.
	Seed uint64 `json:"seed"`
	// Laws have the cases, in the order in which they ran.
	Laws []Law `json:"laws"`
}

// Law tells what is known about one law.
type Law struct {
	Name   string `json:"name"`
	Number string `json:"number"`
	Says   string `json:"says"`
	// Status is Broken if any case is, NotOffered if all are, and Proven otherwise.
	Status Status `json:"status"`
	Cases  []Case `json:"cases"`
}

// Case tells how one case ended.
type Case struct {
	Name   string `json:"name"`
	Proves string `json:"proves"` // what holds if it is proven
	Status Status `json:"status"`
	// Reason says why it was not offered.
	Reason string `json:"reason,omitempty"`
	// Remark says what a proof did not come to.
	Remark string `json:"remark,omitempty"`
	// Failure is the whole text of a failure: law, steps, what was expected, what
	// came.
	Failure string `json:"failure,omitempty"`

	level Level // the step that it belongs to
}

// OK reports whether no law is broken and nothing required is missing.
func (r *Report) OK() bool {
	return len(r.Missing) == 0 && !slices.ContainsFunc(r.Laws, func(l Law) bool { return l.Status == Broken })
}

// Failures are the texts of all failures.
func (r *Report) Failures() []string {
	var texts []string
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken {
				texts = append(texts, c.Failure)
			}
		}
	}
	return texts
}

// String is the report as text: a line for each law and for what is not offered,
// then the failures.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "level: %s\n", r.Level)
	for _, l := range r.Laws {
		count := map[Status]int{}
		for _, c := range l.Cases {
			count[c.Status]++
		}
		fmt.Fprintf(&b, "%-12s %-7s %-12s %3d proven", l.Name, l.Number, l.Status, count[Proven])
		if n := count[Broken]; n > 0 {
			fmt.Fprintf(&b, ", %d broken", n)
		}
		if n := count[NotOffered]; n > 0 {
			fmt.Fprintf(&b, ", %d not offered", n)
		}
		b.WriteByte('\n')
	}
	for _, o := range slices.Sorted(maps.Keys(r.NotOffered)) {
		required := ""
		if slices.Contains(r.Missing, o) {
			required = " (required)"
		}
		fmt.Fprintf(&b, "not offered%s: %s: %s\n", required, o, r.NotOffered[o])
	}
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "remark: %s\n", remark)
	}
	fmt.Fprintf(&b, "seed: %d\n", r.Seed)
	for _, text := range r.Failures() {
		b.WriteString("\n" + text)
	}
	return b.String()
}

func newReport(cfg Config, found *findings) *Report {
	return &Report{
		Offers:     append([]Offer{}, found.offers...),
		NotOffered: found.reasons,
		Missing:    append([]Offer{}, found.missing(cfg.Require)...),
		Remarks:    append([]string{}, found.remarks...),
		Seed:       cfg.Seed,
		Laws:       []Law{},
	}
}

func (r *Report) add(l *law, c Case) {
	if n := len(r.Laws); n == 0 || r.Laws[n-1].Name != l.name {
		r.Laws = append(r.Laws, Law{Name: l.name, Number: l.number, Says: l.says, Status: NotOffered})
	}
	last := &r.Laws[len(r.Laws)-1]
	last.Cases = append(last.Cases, c)
	if c.Status == Broken || c.Status == Proven && last.Status == NotOffered {
		last.Status = c.Status
	}
}

// levelOf is the step that a case with these needs belongs to.
func levelOf(needs []Offer) Level {
	switch {
	case slices.Contains(needs, Versioned):
		return LevelVersioned
	case slices.Contains(needs, Transactor):
		return LevelTransactor
	}
	return LevelAdapter
}

// finish works out the level.
func (r *Report) finish() {
	broken := map[Level]bool{}
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			broken[c.level] = broken[c.level] || c.Status == Broken
		}
	}
	r.Level = LevelNone
	for _, step := range []struct {
		level Level
		offer Offer
	}{{LevelAdapter, ""}, {LevelTransactor, Transactor}, {LevelVersioned, Versioned}} {
		if broken[step.level] || step.offer != "" && !slices.Contains(r.Offers, step.offer) {
			return
		}
		r.Level = step.level
	}
}
