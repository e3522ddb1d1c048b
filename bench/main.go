package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// areas are the groups of rows, one per file. What the rows of an area share is
// released before the next area runs.
var areas = []func() []row{
	storeRows,
	bankRows,
	commitmentRows,
	redactRows,
	inventoryRows,
	consolidateRows,
	distillRows,
	coverageRows,
	dialogueRows,
	recallRows,
	sqliteRows,
	postgresRows,
	mysqlRows,
	hostRows,
}

var quick = flag.Bool("quick", false, "three short rounds instead of six long ones, and fewer entries where that takes long")

// cleanups run at the end, the last one first.
var cleanups []func()

// row is one line of the table.
type row struct {
	name string
	peer string // what it is measured against; empty for an absolute figure
	// setup prepares the row, which is not timed.
	setup func() (sides, error)
}

// sides are the two ways to do a row's work.
type sides struct {
	// check runs before anything is timed and reports whether both sides come to
	// the same result.
	check func() error
	// ours and theirs do the work n times; theirs is nil for a row without a peer.
	ours, theirs func(n int)
	// bytes is the size of the input of one operation. If it is set, the figures
	// are in MB/s.
	bytes int
	// share, if it is set, is what the row is about instead of time: two shares in per
	// cent, of which more is better.
	share func() (ours, theirs float64)
	// size, if it is set, is what the row is about instead of time: the bytes that one
	// operation leaves on the disk, of which fewer are better.
	size func() (ours, theirs float64)
	// items is how many things one operation handles. If it is set, the figures are
	// in items per second.
	items int
}

func main() {
	run := flag.String("run", "", "measure only rows whose name matches this regular expression")
	asJSON := flag.Bool("json", false, "print one JSON object a line")
	list := flag.Bool("list", false, "print the names of the rows and stop")
	plots := flag.String("plots", "", "measure nothing, but draw the files that -json has printed, given as arguments, into this `directory`")
	worker := flag.Bool("worker", false, "measure nothing, but be one of the processes of sqlite/processes, which that row starts")
	flag.Parse()
	if *worker {
		work(flag.Arg(0), flag.Arg(1), flag.Arg(2))
		return
	}
	if *plots != "" {
		if err := drawAll(*plots, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	// A collection marks the data of both sides, also if only one brought it on, so it
	// would blur every ratio. It runs between what is timed instead.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(8 << 30)
	err := bench(*run, *asJSON, *list)
	for _, cleanup := range slices.Backward(cleanups) {
		cleanup()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(pattern string, asJSON, list bool) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	switch {
	case list:
	case asJSON:
		if err := json.NewEncoder(os.Stdout).Encode(thisRun()); err != nil {
			return err
		}
	default:
		fmt.Printf("%-28s %-26s %12s %12s  %-6s %7s  %s\n", "row", "peer", "ours", "theirs", "unit", "ratio", "allocs")
	}
	for _, area := range areas {
		rows := slices.DeleteFunc(area(), func(r row) bool { return !match.MatchString(r.name) })
		for _, r := range rows {
			if list {
				fmt.Println(r.name)
				continue
			}
			res, err := r.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if err := res.print(asJSON); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure times both sides round by round and takes the median of the rounds.
func (r row) measure() (result, error) {
	rounds, span := 6, 300*time.Millisecond
	if *quick {
		rounds, span = 3, 150*time.Millisecond
	}
	s, err := r.setup()
	if err != nil {
		return result{}, err
	}
	if s.check != nil {
		if err := s.check(); err != nil {
			return result{}, err
		}
	}
	if s.share != nil {
		ours, theirs := s.share()
		return result{Name: r.name, Peer: r.peer, Unit: "%", Ours: ours, Theirs: theirs, Ratio: ours / theirs}, nil
	}
	if s.size != nil {
		ours, theirs := s.size()
		return result{Name: r.name, Peer: r.peer, Unit: "bytes", Ours: ours, Theirs: theirs, Ratio: theirs / ours}, nil
	}
	work := []func(int){s.ours}
	if s.theirs != nil {
		work = append(work, s.theirs)
	}
	var n []int
	for _, f := range work {
		n = append(n, calibrate(f, span))
	}
	var rs [2][]sample
	for range rounds {
		for i, r := range round(work, n) {
			rs[i] = append(rs[i], r)
		}
	}
	ours, theirs := median(rs[0]), median(rs[1])
	res := result{
		Name: r.name, Peer: r.peer, Unit: "ns/op", Ours: ours.ns, Theirs: theirs.ns,
		OurAllocs: ours.allocs, TheirAllocs: theirs.allocs, OurBytes: ours.bytes, TheirBytes: theirs.bytes,
	}
	if s.theirs != nil {
		res.Ratio = theirs.ns / ours.ns
		var ratios []float64
		for i := range rs[0] {
			ratios = append(ratios, rs[1][i].ns/rs[0][i].ns)
		}
		res.RatioLow, res.RatioHigh = slices.Min(ratios), slices.Max(ratios)
	}
	if s.items > 0 {
		res.Unit = "items/s"
		res.Ours = 1e9 * float64(s.items) / ours.ns
		if s.theirs != nil {
			res.Theirs = 1e9 * float64(s.items) / theirs.ns
		}
	}
	if s.bytes > 0 {
		res.Unit = "MB/s"
		res.Ours = 1e3 * float64(s.bytes) / ours.ns
		if s.theirs != nil {
			res.Theirs = 1e3 * float64(s.bytes) / theirs.ns
		}
	}
	return res, nil
}

// parts is the number of turns that each side takes within a round.
const parts = 16

// round lets both sides take turns, so that a slow moment of the machine hits both,
// and takes the lower quartile of each side's turns: what another process takes
// away comes in bursts.
func round(work []func(int), n []int) []sample {
	collect()
	turns := min(parts, slices.Min(n))
	rs := make([][]sample, len(work))
	for range turns {
		for i, f := range work {
			rs[i] = append(rs[i], timed(f, n[i]/turns))
		}
	}
	var figures []sample
	for _, r := range rs {
		figures = append(figures, quantile(r, 0.25))
	}
	return figures
}

// sample is the cost of one operation.
type sample struct{ ns, allocs, bytes float64 }

// collect runs the garbage collector if there may be much for it to do.
func collect() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.TotalAlloc-collected > 256<<20 {
		runtime.GC()
		collected = m.TotalAlloc
	}
}

var collected uint64 // TotalAlloc at the last collection

func timed(f func(int), n int) sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f(n)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	per := func(x uint64) float64 { return float64(x) / float64(n) }
	return sample{
		ns:     float64(took.Nanoseconds()) / float64(n),
		allocs: per(after.Mallocs - before.Mallocs),
		bytes:  per(after.TotalAlloc - before.TotalAlloc),
	}
}

// calibrate returns how often f is to do its work to take about as long as span.
// It also warms f up.
func calibrate(f func(int), span time.Duration) int {
	for n := 1; ; {
		start := time.Now()
		f(n)
		took := max(time.Since(start), 1)
		if took >= span/4 || n >= 1e9 {
			return max(1, int(float64(n)*float64(span)/float64(took)))
		}
		n = int(min(100*float64(n), 1+1.2*float64(n)*float64(span/4)/float64(took)))
	}
}

func median(rs []sample) sample { return quantile(rs, 0.5) }

// quantile takes the quantile of each figure by itself, between two samples the mean
// of both.
func quantile(rs []sample, q float64) sample {
	if len(rs) == 0 {
		return sample{}
	}
	of := func(get func(sample) float64) float64 {
		var xs []float64
		for _, r := range rs {
			xs = append(xs, get(r))
		}
		slices.Sort(xs)
		at := q * float64(len(xs)-1)
		return (xs[int(math.Floor(at))] + xs[int(math.Ceil(at))]) / 2
	}
	return sample{
		ns:     of(func(s sample) float64 { return s.ns }),
		allocs: of(func(s sample) float64 { return s.allocs }),
		bytes:  of(func(s sample) float64 { return s.bytes }),
	}
}

func (r result) print(asJSON bool) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	if r.Peer == "" {
		fmt.Printf("%-28s %-26s %12s %12s  %-6s %7s  %.1f\n", r.Name, "", figure(r.Ours), "", r.Unit, "", r.OurAllocs)
		return nil
	}
	fmt.Printf("%-28s %-26s %12s %12s  %-6s %6.2fx  %.1f / %.1f\n",
		r.Name, r.Peer, figure(r.Ours), figure(r.Theirs), r.Unit, r.Ratio, r.OurAllocs, r.TheirAllocs)
	return nil
}

func figure(x float64) string {
	if x < 100 {
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
