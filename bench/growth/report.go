package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// grown is from which factor on a row says why it grows.
const grown = 3.0

// tabulate writes a table of one store: an operation in each row, a number of entries in each column,
// for each number of tenants.
func tabulate(out io.Writer, store string, figures []figure) {
	sizes, crowds := numbers(figures, func(f figure) int { return f.Entries }), numbers(figures, func(f figure) int { return f.Tenants })
	for _, tenants := range crowds {
		fmt.Fprintf(out, "%s, tenants: %d\n", store, tenants)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(table, "entries of the ref\t")
		for _, size := range sizes {
			fmt.Fprintf(table, "%d\t", size)
		}
		fmt.Fprintln(table, "grows by\t")
		var reasons []string
		for _, o := range operations {
			fmt.Fprintf(table, "%s\t", o.name)
			var first, last float64
			for _, size := range sizes {
				last = value(figures, o.name, size, tenants)
				first = cmp.Or(first, last)
				fmt.Fprintf(table, "%v\t", short(last))
			}
			fmt.Fprintf(table, "%.1fx\t\n", last/first)
			if o.why != "" && last/first > grown {
				reasons = append(reasons, o.name+": "+o.why)
			}
		}
		table.Flush()
		if len(reasons) > 0 {
			fmt.Fprintln(out, "  "+strings.Join(reasons, "\n  "))
		}
		fmt.Fprintln(out)
	}
}

// short is a duration with two digits.
func short(ns float64) time.Duration {
	return time.Duration(ns).Round(time.Duration(math.Pow10(max(0, int(math.Log10(ns))-1))))
}

func numbers(figures []figure, of func(figure) int) (distinct []int) {
	for _, f := range figures {
		distinct = append(distinct, of(f))
	}
	slices.Sort(distinct)
	return slices.Compact(distinct)
}

func value(figures []figure, operation string, entries, tenants int) float64 {
	for _, f := range figures {
		if f.Operation == operation && f.Entries == entries && f.Tenants == tenants {
			return f.Nanoseconds
		}
	}
	return 0
}

// The colours suit a light page and a dark one.
const style = `<style>text{font:11px system-ui,sans-serif;fill:#6e7781}.title{font-size:14px;font-weight:600}
line{stroke:#8c959f;stroke-opacity:.3}polyline{fill:none;stroke-width:1.8}
.c0{stroke:#0969da}.c1{stroke:#bc4c00}.c2{stroke:#1a7f37}.c3{stroke:#8250df}.c4{stroke:#bf3989}.c5{stroke:#9a6700}.c6{stroke:#0550ae}.c7{stroke:#cf222e}.c8{stroke:#57606a}.c9{stroke:#116329}</style>`

// draw draws a panel for each store, with a line for each operation: time over entries, both
// logarithmic, with the fewest tenants solid and the most dashed.
func draw(all []figure) string {
	const width, height, left, top, legend = 340.0, 300.0, 46.0, 40.0, 300.0
	var stores []string
	for _, f := range all {
		if !slices.Contains(stores, f.Store) {
			stores = append(stores, f.Store)
		}
	}
	sizes, crowds := numbers(all, func(f figure) int { return f.Entries }), numbers(all, func(f figure) int { return f.Tenants })
	low, high := math.Log10(float64(sizes[0])), math.Log10(float64(sizes[len(sizes)-1]))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img"><title>How operations grow</title>`+style+"\n",
		width*float64(len(stores))+legend, height+top+30)
	for s, store := range stores {
		at := width*float64(s) + left
		x := func(entries int) float64 {
			return at + (width-left-20)*(math.Log10(float64(entries))-low)/max(high-low, 1)
		}
		y := func(ns float64) float64 { return top + height*(1-(math.Log10(max(ns, 100))-2)/9) } // 100 ns to 100 s
		fmt.Fprintf(&b, `<text x="%.0f" y="18" class="title">%s</text>`+"\n", at, store)
		for power := 2; power <= 11; power += 3 {
			fmt.Fprintf(&b, `<line x1="%.0f" x2="%.0f" y1="%[3]f" y2="%[3]f"/><text x="%[4]f" y="%[3]f" text-anchor="end">%[5]v</text>`+"\n",
				at, at+width-left-20, y(math.Pow10(power)), at-4, time.Duration(math.Pow10(power)))
		}
		for _, size := range sizes {
			fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle">%d</text>`+"\n", x(size), top+height+16, size)
		}
		for i, o := range operations {
			for _, tenants := range slices.Compact([]int{crowds[0], crowds[len(crowds)-1]}) {
				var points []string
				for _, f := range all {
					if f.Store == store && f.Operation == o.name && f.Tenants == tenants {
						points = append(points, fmt.Sprintf("%.1f,%.1f", x(f.Entries), y(f.Nanoseconds)))
					}
				}
				dashes := ""
				if tenants != crowds[0] {
					dashes = ` stroke-dasharray="4 3"`
				}
				fmt.Fprintf(&b, `<polyline class="c%d"%s points="%s"/>`+"\n", i%10, dashes, strings.Join(points, " "))
			}
		}
	}
	for i, o := range operations {
		y := top + 20*float64(i)
		at := width * float64(len(stores))
		fmt.Fprintf(&b, `<polyline class="c%d" points="%.0f,%[3]f %[4]f,%[3]f"/><text x="%[5]f" y="%[6]f">%[7]s</text>`+"\n", i%10, at, y, at+24, at+30, y+4, o.name)
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">tenants: %d solid, %d dashed</text></svg>`+"\n",
		width*float64(len(stores)), top+20*float64(len(operations))+10, crowds[0], crowds[len(crowds)-1])
	return b.String()
}
