package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// drawAll draws what files of -json hold: for each area its ratios, and for all areas together
// how the cost of one item grows, and how much of the evidence recall finds. The first file says
// where the figures come from; others, such as the one of bench/recall, are of the same run.
func drawAll(dir string, files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("-plots needs the files that -json has printed, as arguments")
	}
	from, results, err := readRun(files[0])
	if err != nil {
		return err
	}
	for _, file := range files[1:] {
		more, err := readResults(file)
		if err != nil {
			return err
		}
		results = append(results, more...)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, picture := range pictures(from, results) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pictures are the texts of the SVG files, by their names.
func pictures(from origin, results []result) map[string]string {
	all := map[string]string{}
	ratios := map[string][]result{}
	var shares []result
	for _, r := range results {
		area, _, _ := strings.Cut(r.Name, "/")
		switch {
		case area == "retrieval":
			shares = append(shares, r)
		case r.Peer != "":
			ratios[area] = append(ratios[area], r)
		}
	}
	for area, rows := range ratios {
		all["ratios-"+area+".svg"] = ratioBars(area, from, rows)
	}
	if panels := growth(results); len(panels) > 0 {
		all["growth.svg"] = growthCurves(from, panels)
	}
	if len(shares) > 0 {
		all["retrieval.svg"] = shareBars(from, shares)
	}
	return all
}

// The colours suit a light page, and a dark one where the reader's system asks for it.
const style = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}.note{font-size:10.5px;fill:#57606a}
.ours{fill:#0969da}.below{fill:#bc4c00}.theirs{fill:#8c959f}.line{fill:none;stroke-width:2}.grid{stroke:#d0d7de}.one{stroke:#57606a}.spread{stroke:#24292f}
.s0{stroke:#0969da}.s1{stroke:#bc4c00}.s2{stroke:#1a7f37}.s3{stroke:#8250df}.s4{stroke:#bf3989}.s5{stroke:#9a6700}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.ours{fill:#4493f8}.below{fill:#f0883e}.theirs{fill:#656c76}
.grid{stroke:#30363d}.one{stroke:#9198a1}.spread{stroke:#e6edf3}.s0{stroke:#4493f8}.s1{stroke:#f0883e}.s2{stroke:#3fb950}.s3{stroke:#ab7df8}.s4{stroke:#db61a2}.s5{stroke:#d29922}}
</style>
`

// svg is a picture that grows downwards.
type svg struct {
	strings.Builder
	width, height float64
}

func (p *svg) text(x, y float64, class, anchor, s string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">`, x, y, class, anchor)
	xml.EscapeText(p, []byte(s))
	p.WriteString("</text>\n")
}

func (p *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (p *svg) bar(x, y, width, height float64, class string) {
	fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" class="%s"/>`+"\n", x, y, max(width, 1), height, class)
}

// finish puts title and origin around what was drawn.
func (p *svg) finish(title, explanation string, from origin) string {
	var b svg
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" role="img">`+"\n<title>", p.width, p.height+30, p.width)
	xml.EscapeText(&b, []byte(title+": "+explanation))
	b.WriteString("</title>\n" + style)
	b.text(10, 22, "title", "start", title)
	b.text(10, 40, "note", "start", explanation)
	b.WriteString(p.String())
	b.text(10, p.height+18, "note", "start", from.String())
	b.WriteString("</svg>\n")
	return b.String()
}

const (
	top      = 62.0 // where a picture's own part begins
	rowStep  = 22.0
	barThick = 13.0
)

// ratioBars draws a bar for each row from 1x to its ratio, on a logarithmic scale, with a line from
// the lowest round to the highest.
func ratioBars(area string, from origin, rows []result) string {
	const left, right, width = 330.0, 70.0, 860.0
	low, high := 0.5, 2.0
	for _, r := range rows {
		low, high = min(low, r.Ratio, spread(r)[0]), max(high, r.Ratio, spread(r)[1])
	}
	x := logScale(low, high, left, width-right)
	p := &svg{width: width, height: top + rowStep*float64(len(rows))}
	for _, tick := range ticks(low, high) {
		p.line(x(tick), top-4, x(tick), p.height-4, "grid")
		p.text(x(tick), top-8, "note", "middle", strconv.FormatFloat(tick, 'g', -1, 64)+"x")
	}
	for i, r := range rows {
		y := top + rowStep*float64(i)
		class := "ours"
		if r.Ratio < 1 {
			class = "below"
		}
		name := strings.TrimPrefix(r.Name, area+"/")
		p.text(10, y+11, "", "start", name)
		p.text(left-10, y+11, "note", "end", "against "+r.Peer)
		p.bar(min(x(1), x(r.Ratio)), y, math.Abs(x(r.Ratio)-x(1)), barThick, class)
		p.line(x(spread(r)[0]), y+barThick/2, x(spread(r)[1]), y+barThick/2, "spread")
		p.text(width-10, y+11, "", "end", figure(r.Ratio)+"x")
	}
	p.line(x(1), top-4, x(1), p.height-4, "one")
	return p.finish(area+": our speed against a peer's", "their time over ours in one run: to the right of 1x we take less; the thin line goes from the lowest round to the highest", from)
}

// spread is the lowest and the highest ratio of the rounds, or the ratio itself where there are none.
func spread(r result) [2]float64 {
	if r.RatioLow == 0 {
		return [2]float64{r.Ratio, r.Ratio}
	}
	return [2]float64{r.RatioLow, r.RatioHigh}
}

// curve is how the cost of one item grows with how much there is.
type curve struct {
	name   string
	points []point // by size
}

type point struct{ size, cost float64 }

var sized = regexp.MustCompile(`^(.*)/(?:n|armed|tenants)=(\d+)$`)

// growth are the curves of each area that has rows of two sizes or more, relative to the smallest.
func growth(results []result) map[string][]curve {
	points := map[string][]point{}
	var names []string
	for _, r := range results {
		m := sized.FindStringSubmatch(r.Name)
		if m == nil || r.Ours == 0 || strings.Contains(r.Name, "build/") { // one build is of all items
			continue
		}
		size, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		cost := r.Ours // a time
		if r.Unit != "ns/op" {
			cost = 1 / r.Ours // a rate
		}
		if points[m[1]] == nil {
			names = append(names, m[1])
		}
		points[m[1]] = append(points[m[1]], point{size, cost})
	}
	panels := map[string][]curve{}
	for _, name := range names {
		ps := points[name]
		slices.SortFunc(ps, func(a, b point) int { return cmp.Compare(a.size, b.size) })
		if len(ps) < 2 {
			continue
		}
		first := ps[0].cost
		for i := range ps {
			ps[i].cost /= first
		}
		area, rest, _ := strings.Cut(name, "/")
		panels[area] = append(panels[area], curve{rest, ps})
	}
	return panels
}

// growthCurves draws one panel for each area, both scales logarithmic.
func growthCurves(from origin, panels map[string][]curve) string {
	const across, wide, gap = 2, 420.0, 24.0
	deep := 230.0
	for _, curves := range panels {
		deep = max(deep, 80+13*float64(len(curves))) // room for the names beside the lines
	}
	areas := slices.Sorted(maps.Keys(panels))
	p := &svg{width: across*wide + gap, height: top + deep*math.Ceil(float64(len(areas))/across)}
	for i, area := range areas {
		left := 10 + float64(i%across)*wide
		above := top + float64(i/across)*deep
		p.text(left, above, "", "start", area)
		drawPanel(p, panels[area], left+40, above+14, wide-210, deep-60)
	}
	return p.finish("cost of one item against how much there is", "1x is the cost at the smallest size of the row; a flat line means that one item costs the same, however many there are", from)
}

func drawPanel(p *svg, curves []curve, left, above, wide, deep float64) {
	small, large, low, high := math.Inf(1), 0.0, 0.5, 2.0
	for _, c := range curves {
		for _, at := range c.points {
			small, large = min(small, at.size), max(large, at.size)
			low, high = min(low, at.cost), max(high, at.cost)
		}
	}
	x, y := logScale(small, large, left, left+wide), logScale(low, high, above+deep, above)
	for _, tick := range ticks(small, large) {
		p.line(x(tick), above, x(tick), above+deep, "grid")
		p.text(x(tick), above+deep+14, "note", "middle", sizeText(tick))
	}
	for _, tick := range ticks(low, high) {
		p.line(left, y(tick), left+wide, y(tick), "grid")
		p.text(left-6, y(tick)+4, "note", "end", strconv.FormatFloat(tick, 'g', -1, 64)+"x")
	}
	// Names stand beside the ends of their lines, moved apart where these are close.
	order := slices.Clone(curves)
	end := func(c curve) float64 { return y(c.points[len(c.points)-1].cost) }
	slices.SortStableFunc(order, func(a, b curve) int { return cmp.Compare(end(a), end(b)) })
	last := math.Inf(-1)
	for i, c := range order {
		room := above + deep - 13*float64(len(order)-1-i) // what the names below need
		class := fmt.Sprintf("s%d", i%6)
		var path strings.Builder
		for _, at := range c.points {
			fmt.Fprintf(&path, "%.1f,%.1f ", x(at.size), y(at.cost))
		}
		fmt.Fprintf(p, `<polyline points="%s" class="line %s"/>`+"\n", strings.TrimSpace(path.String()), class)
		last = max(min(end(c), room), last+13)
		p.line(x(c.points[len(c.points)-1].size), end(c), left+wide+10, last, class)
		p.text(left+wide+13, last+4, "note", "start", c.name+" "+figure(c.points[len(c.points)-1].cost)+"x")
	}
}

// shareBars draws two bars for each row, ours above theirs, from 0 to 100 per cent.
func shareBars(from origin, rows []result) string {
	const left, right, width, step = 330.0, 110.0, 800.0, 34.0
	x := func(percent float64) float64 { return left + percent/100*(width-left-right) }
	p := &svg{width: width, height: top + step*float64(len(rows))}
	for percent := 0.0; percent <= 100; percent += 25 {
		p.line(x(percent), top-4, x(percent), p.height-4, "grid")
		p.text(x(percent), top-8, "note", "middle", fmt.Sprintf("%.0f %%", percent))
	}
	for i, r := range rows {
		y := top + step*float64(i)
		p.text(10, y+17, "", "start", strings.TrimPrefix(r.Name, "retrieval/"))
		p.bar(x(0), y, x(r.Ours)-x(0), 12, "ours")
		p.text(x(r.Ours)+5, y+10, "note", "start", fmt.Sprintf("recall %.1f", r.Ours))
		p.bar(x(0), y+13, x(r.Theirs)-x(0), 12, "theirs")
		p.text(x(r.Theirs)+5, y+23, "note", "start", fmt.Sprintf("bleve %.1f", r.Theirs))
	}
	return p.finish("evidence found by questions", "the part of a question's evidence among the first entries, the mean over the questions of bench/recall", from)
}

// logScale maps low to from and high to to, logarithmically.
func logScale(low, high, from, to float64) func(float64) float64 {
	low, high = math.Log(low), math.Log(max(high, low*1.0001))
	return func(v float64) float64 { return from + (math.Log(v)-low)/(high-low)*(to-from) }
}

// ticks are powers of ten within low and high, and halves and doubles where that is too few.
func ticks(low, high float64) []float64 {
	steps := []float64{1}
	if high/low < 30 {
		steps = []float64{1, 2, 5}
	}
	var all []float64
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high)+1; power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= low*0.999 && v <= high*1.001 {
				all = append(all, v)
			}
		}
	}
	return all
}

func sizeText(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%gM", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%gk", n/1e3)
	}
	return fmt.Sprint(n)
}
