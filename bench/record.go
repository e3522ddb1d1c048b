package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// result is what -json prints of a row, one object a line.
type result struct {
	Name   string  `json:"name"`
	Peer   string  `json:"peer"`
	Ours   float64 `json:"ours"`
	Theirs float64 `json:"theirs"`
	Unit   string  `json:"unit"`
	Ratio  float64 `json:"ratio"` // their time over our time; of shares, ours over theirs
	// The lowest and the highest ratio of a round; 0 where there are no rounds.
	RatioLow  float64 `json:"ratioLow,omitempty"`
	RatioHigh float64 `json:"ratioHigh,omitempty"`
	// Allocations and bytes allocated by one operation.
	OurAllocs   float64 `json:"ourAllocs"`
	TheirAllocs float64 `json:"theirAllocs"`
	OurBytes    float64 `json:"ourBytes"`
	TheirBytes  float64 `json:"theirBytes"`
}

// origin says where the results of a run come from. It is the first line that -json prints.
type origin struct {
	Machine string `json:"machine"`
	Go      string `json:"go"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
}

func (o origin) String() string {
	return fmt.Sprintf("%s, %s, commit %s, %s", o.Machine, o.Go, o.Commit, o.Date)
}

func thisRun() origin {
	return origin{
		Machine: fmt.Sprintf("%d cores of %s", runtime.NumCPU(), processor()),
		Go:      runtime.Version(),
		Commit:  commit("."),
		Date:    time.Now().UTC().Format(time.DateOnly),
	}
}

// processor is the model of the processor where the system says it, and its kind elsewhere.
func processor() string {
	info, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	defer info.Close()
	for lines := bufio.NewScanner(info); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// commit is the one that the working tree of a directory stands on, with a plus sign if it was
// changed since. The figures do not count: the shell has emptied the file there that a run's
// results go to before the run begins.
func commit(dir string) string {
	head, err := exec.Command("git", "-C", dir, "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--", ":/", ":(top,exclude)docs/figures").Output()
	if err != nil || len(changed) > 0 {
		name += "+"
	}
	return name
}

// readRun reads what -json has printed.
func readRun(file string) (origin, []result, error) {
	f, err := os.Open(file)
	if err != nil {
		return origin{}, nil, err
	}
	defer f.Close()
	var from origin
	in := json.NewDecoder(f)
	if err := in.Decode(&from); err != nil {
		return origin{}, nil, fmt.Errorf("%s: %w", file, err)
	}
	if from.Date == "" {
		return origin{}, nil, fmt.Errorf("%s: the first line does not say where the results come from", file)
	}
	results, err := decodeResults(in, file)
	return from, results, err
}

// readResults reads results that have no such first line, as bench/recall prints them.
func readResults(file string) ([]result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeResults(json.NewDecoder(f), file)
}

func decodeResults(in *json.Decoder, file string) ([]result, error) {
	var results []result
	for in.More() {
		var r result
		if err := in.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if r.Name == "" {
			return nil, fmt.Errorf("%s: result %d has no name", file, len(results)+1)
		}
		if r.Peer != "" && (r.Ratio <= 0 || r.RatioLow < 0 || r.RatioHigh < r.RatioLow) { // it has no place on a logarithmic scale
			return nil, fmt.Errorf("%s: result %d has a peer and no ratio", file, len(results)+1)
		}
		results = append(results, r)
	}
	return results, nil
}
