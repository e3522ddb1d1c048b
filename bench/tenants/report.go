package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// report is what -json prints.
type report struct {
	Store   string        `json:"store"`
	Date    string        `json:"date"`
	Commit  string        `json:"commit"`
	Machine string        `json:"machine"`
	Go      string        `json:"go"`
	Command string        `json:"command"`
	Seconds float64       `json:"seconds"` // the whole took
	PeakRSS int64         `json:"peakBytes"`
	Worlds  []worldReport `json:"worlds"`
	// Growth is the median of each operation with the most tenants over that with the
	// fewest.
	Growth map[string]float64 `json:"growth"`
}

// worldReport is about one number of tenants.
type worldReport struct {
	Tenants int `json:"tenants"`
	Entries int `json:"entries"` // when it was filled
	// FillSeconds is how long filling took.
	FillSeconds float64 `json:"fillSeconds"`
	DiskBytes   int64   `json:"diskBytes"`
	IndexBytes  int64   `json:"indexBytes"` // of that
	// What a tenant takes on the disk, each of its entries, and an armed commitment.
	TenantBytes float64 `json:"tenantBytes"`
	EntryBytes  float64 `json:"entryBytes"`
	ArmedBytes  float64 `json:"armedBytes"`
	// NotedBytes is what the first note of a tenant's version takes.
	NotedBytes float64 `json:"notedBytes"`

	Latencies map[string]latency `json:"microseconds"`
	PerSecond float64            `json:"operationsPerSecond"` // of the clients
	Watched   []watched          `json:"watched"`

	Noting           swept   `json:"noting"`
	Purging          swept   `json:"purging"`
	Idle             swept   `json:"idle"`
	RelayedPerSecond float64 `json:"relayedPerSecond"` // events
	CaughtUp         int     `json:"caughtUp"`         // commitments after a week without a tick
	FiringsPerSecond float64 `json:"firingsPerSecond"`
	Compared         int     `json:"comparedEntries"`
}

// summarise fills in what is known when all has been done.
func (w *world) summarise() worldReport {
	r := w.report
	r.Latencies, r.Watched = w.latencies.summary(), w.watched
	n := 0
	for name, l := range r.Latencies {
		if !ofMaintenance(name) {
			n += l.Count
		}
	}
	r.PerSecond = float64(n) / w.busy.Seconds()
	return r
}

func ofMaintenance(name string) bool {
	return strings.HasPrefix(name, "tick") || strings.HasPrefix(name, "round") || name == "maintain" || strings.HasPrefix(name, "recall sweep") || name == "put alone"
}

// growth compares the last world with the first.
func growth(worlds []worldReport) map[string]float64 {
	out := map[string]float64{}
	first, last := worlds[0].Latencies, worlds[len(worlds)-1].Latencies
	for name, l := range last {
		if f, both := first[name]; both && f.P50 > 0 {
			out[name] = l.P50 / f.P50
		}
	}
	return out
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s, %s, commit %s, %s, %s\n%s\n", r.Store, r.Date, r.Commit, r.Machine, r.Go, r.Command)
	for _, w := range r.Worlds {
		fmt.Fprintf(out, "\n%d tenants, %d entries, filled in %.0f s: %.0f bytes a tenant, %.0f an entry, %.0f an armed commitment, %.0f a note, %.1f MB in all, %.1f MB of it indexes\n",
			w.Tenants, w.Entries, w.FillSeconds, w.TenantBytes, w.EntryBytes, w.ArmedBytes, w.NotedBytes, float64(w.DiskBytes)/1e6, float64(w.IndexBytes)/1e6)
		fmt.Fprintf(out, "%-20s %8s %10s %10s %10s %10s  us\n", "operation", "count", "p50", "p95", "p99", "max")
		for _, name := range names(w.Latencies) {
			l := w.Latencies[name]
			fmt.Fprintf(out, "%-20s %8d %10.0f %10.0f %10.0f %10.0f\n", name, l.Count, l.P50, l.P95, l.P99, l.Max)
		}
		early, late := halves(w.Watched)
		fmt.Fprintf(out, "clients: %.0f operations a second\n", w.PerSecond)
		fmt.Fprintf(out, "events waiting: %.1f on average in the first half, %.1f in the second; commitments overdue: %.1f, %.1f\n",
			early.waiting, late.waiting, early.overdue, late.overdue)
		fmt.Fprintf(out, "noting: %.0f tenants a second; purging: %.0f, %d entries of %d tenants; idle: %.0f\nrelaying: %.0f events a second; after a week without a tick: %d commitments fired or lapsed, %.0f a second\n",
			w.Noting.PerSecond, w.Purging.PerSecond, w.Purging.Purged, w.Purging.Tenants, w.Idle.PerSecond,
			w.RelayedPerSecond, w.CaughtUp, w.FiringsPerSecond)
		fmt.Fprintf(out, "compared: %d entries\n", w.Compared)
	}
	if len(r.Worlds) > 1 {
		last := r.Worlds[len(r.Worlds)-1]
		fmt.Fprintf(out, "\nmedians with %d tenants over those with %d\n", last.Tenants, r.Worlds[0].Tenants)
		for _, name := range names(last.Latencies) {
			fmt.Fprintf(out, "%-20s %5.2f\n", name, r.Growth[name])
		}
	}
	fmt.Fprintf(out, "\nthis process: at most %.0f MB; the whole took %.0f s\n", float64(r.PeakRSS)/1e6, r.Seconds)
}

type waits struct{ waiting, overdue float64 }

// halves are the means of what waited in the first and in the second half of the load.
func halves(all []watched) (early, late waits) {
	mean := func(part []watched) (m waits) {
		for _, x := range part {
			m.waiting += float64(x.Waiting) / float64(len(part))
			m.overdue += float64(x.Overdue) / float64(len(part))
		}
		return m
	}
	return mean(all[:len(all)/2]), mean(all[len(all)/2:])
}

// describe fills in where and when it ran.
func (r *report) describe() {
	r.Date = time.Now().UTC().Format(time.RFC3339)
	r.Go = runtime.Version()
	r.Commit = "unknown"
	if out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		r.Commit = strings.TrimSpace(string(out))
	}
	r.Machine = fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), lineOf("/proc/cpuinfo", "model name"))
	r.Command = "go run -C bench ./tenants " + strings.Join(os.Args[1:], " ")
	fmt.Sscan(lineOf("/proc/self/status", "VmHWM"), &r.PeakRSS)
	r.PeakRSS *= 1024
}

// lineOf is what stands behind the colon of a line of a file, empty if there is none.
func lineOf(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
