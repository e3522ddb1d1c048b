package capability

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
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

// Diff returns what has changed from one model to another, line by line, "-" for
// what was and "+" for what is: the verdicts of [Model.Explain] with their reasons,
// then every field of the documents that is another, also those that this package
// does not know. It is empty if nothing has changed.
func Diff(before, after *Model) string {
	var b strings.Builder
	olds, news := before.rows(), after.rows()
	for i, o := range olds {
		n := news[i]
		if o.holds != n.holds || o.why != n.why {
			fmt.Fprintf(&b, "- %s: %s, %s\n+ %s: %s, %s\n", o.name, yes(o.holds), o.why, n.name, yes(n.holds), n.why)
		}
	}
	was, is := before.fields(), after.fields()
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].pointer < is[0].pointer:
			fmt.Fprintf(&b, "- %s\n", was[0])
			was = was[1:]
		case len(was) == 0 || is[0].pointer < was[0].pointer:
			fmt.Fprintf(&b, "+ %s\n", is[0])
			is = is[1:]
		default:
			if was[0] != is[0] {
				fmt.Fprintf(&b, "- %s\n+ %s\n", was[0], is[0])
			}
			was, is = was[1:], is[1:]
		}
	}
	return b.String()
}

type field struct{ pointer, value string }

func (f field) String() string { return f.pointer + " " + f.value }

// fields are the leaves of the document in the order of their pointers.
func (m *Model) fields() []field {
	var all []field
	if len(m.doc.root) > 0 {
		leaves("", m.doc.root, func(pointer string, value any) {
			quoted := text(pointer)
			all = append(all, field{quoted[1 : len(quoted)-1], text(value)})
		})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.pointer, b.pointer) })
	return all
}

// text is a value as JSON, in which nothing can play tricks on a terminal.
func text(value any) string {
	raw, _ := json.Marshal(value) // only what was decoded from JSON is marshalled
	var b strings.Builder
	for _, r := range string(raw) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
