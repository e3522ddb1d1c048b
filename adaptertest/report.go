package adaptertest

import (
	"fmt"
	"maps"
	"runtime/debug"
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

// Durability is what a report says of a store's data beyond its process.
type Durability string

// What can be said of durability. Not even SurvivesKill says that a power failure leaves
// everything: no kill of a process shows whether the medium was flushed.
const (
	Volatile     Durability = "volatile"
	NotProven    Durability = "durable: not proven"
	SurvivesKill Durability = "survives its process"
)

// Report tells what is known about a store. Its JSON form is stable in so far as fields
// are only added.
type Report struct {
	// Version is the version of this library, as far as the program knows it.
	Version string `json:"version"`
	// Level is the step that the store has reached.
	Level Level `json:"level"`
	// Durability says what is known of what outlives the store's process.
	Durability Durability `json:"durability"`
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

	durable bool // as the store says
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
	// Failure is the whole text of a failure: law, steps, what was expected, what
	// came.
	Failure string `json:"failure,omitempty"`
	// Cause is another case, as "LAW/case", that failed before and most likely for the same
	// reason: at the same operation, or on the store alone where this one saw it through a
	// bank, an engine or goroutines.
	Cause string `json:"cause,omitempty"`

	level     Level  // the step that it belongs to
	operation string // at which it failed
	indirect  bool   // it failed where no reference takes the same steps
	missing   Offer  // for lack of which it was not tried
}

// OK reports whether no law is broken and nothing required is missing.
func (r *Report) OK() bool {
	return len(r.Missing) == 0 && !slices.ContainsFunc(r.Laws, func(l Law) bool { return l.Status == Broken })
}

// Failures are the texts of the failures, of several that have one cause the first.
func (r *Report) Failures() []string {
	var texts []string
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken && c.Cause == "" {
				texts = append(texts, c.Failure)
			}
		}
	}
	return texts
}

// Summary is the report in one line.
func (r *Report) Summary() string {
	laws, cases := map[Status]int{}, map[Status]int{}
	for _, l := range r.Laws {
		laws[l.Status]++
		for _, c := range l.Cases {
			cases[c.Status]++
		}
	}
	if ran, all := r.cases(); ran < all {
		return fmt.Sprintf("agentmemory %s: %d of %d cases ran, which judge neither the step nor the durability; %d laws broken",
			r.Version, ran, all, laws[Broken])
	}
	return fmt.Sprintf("agentmemory %s: step %s; %d laws proven by %d cases, %d broken, %d not offered; %s",
		r.Version, r.Level, laws[Proven], cases[Proven], laws[Broken], laws[NotOffered], r.Durability)
}

// String is the report as text: the summary, a line for each law and for what is not
// offered, the remarks, and then the failures, each cause once.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Summary())
	if r.whole() {
		fmt.Fprintf(&b, "level: %s\ndurability: %s\n", r.Level, r.Durability)
	}
	for _, l := range r.Laws {
		count := map[Status]int{}
		for _, c := range l.Cases {
			count[c.Status]++
		}
		fmt.Fprintf(&b, "%-12s %-7s %-12s %3d proven", l.Name, l.Number, l.Status, count[Proven])
		for _, s := range []Status{Broken, NotOffered} {
			if n := count[s]; n > 0 {
				fmt.Fprintf(&b, ", %d %s", n, s)
			}
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
	shown := map[string][]string{} // by cause
	for _, l := range r.Laws {
		for _, c := range l.Cases {
			if c.Cause != "" {
				shown[c.Cause] = append(shown[c.Cause], l.Name+"/"+c.Name)
			}
		}
	}
	fmt.Fprintf(&b, "seed: %d\n", r.Seed)
	for _, text := range r.Failures() {
		b.WriteString("\n" + text)
		name, _, _ := strings.Cut(text, " ")
		if others := shown[name]; len(others) > 0 {
			fmt.Fprintf(&b, "  most likely for the same reason fail: %s\n", strings.Join(others, ", "))
		}
	}
	return b.String()
}

// libraryVersion is the version of this module in the program that runs; "(devel)" if its
// source is not a version's.
func libraryVersion() string {
	const module = "github.com/openwop/agentmemory"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// cause is a case that failed before, most likely for the same reason, or empty.
func (r *Report) cause(c *Case) string {
	for _, l := range r.Laws {
		for _, earlier := range l.Cases {
			if earlier.Status == Broken && earlier.Cause == "" && (earlier.operation == c.operation || c.indirect && !earlier.indirect) {
				return l.Name + "/" + earlier.Name
			}
		}
	}
	return ""
}

// add adds a case, and tells it its cause.
func (r *Report) add(l *law, c *Case) {
	if c.Status == Broken {
		c.Cause = r.cause(c)
	}
	if n := len(r.Laws); n == 0 || r.Laws[n-1].Name != l.name {
		r.Laws = append(r.Laws, Law{Name: l.name, Number: l.number, Says: l.says, Status: NotOffered})
	}
	last := &r.Laws[len(r.Laws)-1]
	last.Cases = append(last.Cases, *c)
	if c.Status == Broken || c.Status == Proven && last.Status == NotOffered {
		last.Status = c.Status
	}
}

// levels are the steps, each named by the offer that leads to it.
var levels = []Level{LevelAdapter, LevelTransactor, LevelVersioned}

// levelOf is the step that a case with these needs belongs to.
func levelOf(needs []Offer) Level {
	for _, l := range slices.Backward(levels) {
		if slices.Contains(needs, Offer(l)) {
			return l
		}
	}
	return LevelAdapter
}

// levelsFrom are the steps that the store offers, from one on.
func (r *Report) levelsFrom(least Level) []Level {
	end := 1
	for end < len(levels) && slices.Contains(r.Offers, Offer(levels[end])) {
		end++
	}
	return levels[slices.Index(levels, least):end]
}

// finish works out the level and the durability.
func (r *Report) finish() {
	broken, lost := map[Level]bool{}, false
	for _, l := range r.Laws {
		lost = lost || l.Name == "DURABLE" && l.Status == Broken
		for _, c := range l.Cases {
			broken[c.level] = broken[c.level] || c.Status == Broken
		}
	}
	switch {
	case !r.durable && !slices.Contains(r.Offers, Durable):
		r.Durability = Volatile
	case slices.Contains(r.Offers, Killed) && !lost:
		r.Durability = SurvivesKill
	}
	r.Level = LevelNone
	for _, l := range r.levelsFrom(LevelAdapter) {
		if broken[l] {
			return
		}
		r.Level = l
	}
}
