package capability

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Explain returns a table for an operator: each dimension, whether it is satisfied,
// why, and the field that says so; then the two behaviours, what a distiller may do
// besides, and the profile openwop-memory. It is text for people; its layout may change.
func (m *Model) Explain() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "dimension\tsatisfied\twhy\tfield")
	for _, r := range m.rows() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.name, yes(r.holds), r.why, r.field)
	}
	w.Flush()
	return b.String()
}

// verdict is one line of the table.
type verdict struct {
	name       string
	holds      bool
	why, field string
}

func (m *Model) rows() []verdict {
	var rows []verdict
	for _, s := range m.Statuses() {
		rows = append(rows, verdict{string(s.Dimension), s.Satisfied, s.Why, s.Source})
	}
	for _, b := range []Behaviour{m.Consolidation(), m.Commitments()} {
		rows = append(rows, verdict{b.Name, b.Supported, b.Why, b.Source})
	}
	for _, name := range []string{"indexEmitted", "scheduled"} {
		path := "memory/distillation/" + name
		v := verdict{name, m.doc.isTrue(path), "the host says so", m.doc.pointer(path)}
		if !v.holds {
			v.why = m.doc.lacks(path)
		}
		rows = append(rows, v)
	}
	holds, why := m.Profile()
	if holds {
		why = "core, read, write and long-term-durability"
	}
	return append(rows, verdict{"openwop-memory", holds, why, "(profile)"})
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}
