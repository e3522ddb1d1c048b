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
	for _, s := range m.rows() {
		holds := "no"
		if s.Satisfied {
			holds = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, holds, s.Why, s.Source)
	}
	w.Flush()
	return b.String()
}

func (m *Model) rows() []Status {
	rows := append(m.Statuses(), m.Consolidation(), m.Commitments())
	for _, name := range []string{"indexEmitted", "scheduled"} {
		s := m.doc.flag("memory/distillation/"+name, "the host says so")
		s.Name = name
		rows = append(rows, s)
	}
	holds, why := m.Profile()
	if holds {
		why = "core, read, write and long-term-durability"
	}
	return append(rows, Status{"openwop-memory", holds, "(profile)", why})
}
