package main

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// latencies are how long operations took, by their names. It is safe for concurrent use.
type latencies struct {
	mu    sync.Mutex
	spans map[string][]time.Duration
}

func (l *latencies) add(name string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spans == nil {
		l.spans = map[string][]time.Duration{}
	}
	l.spans[name] = append(l.spans[name], d)
}

// time calls f and notes how long it took, unless it failed.
func (l *latencies) time(name string, f func() error) error {
	start := time.Now()
	err := f()
	if err == nil {
		l.add(name, time.Since(start))
	}
	return err
}

// latency is what the table says of one operation, in microseconds.
type latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func (l *latencies) summary() map[string]latency {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]latency{}
	for name, spans := range l.spans {
		slices.Sort(spans)
		at := func(q float64) float64 {
			return float64(spans[int(q*float64(len(spans)-1))].Nanoseconds()) / 1000
		}
		out[name] = latency{len(spans), at(0.5), at(0.95), at(0.99), at(1)}
	}
	return out
}

// names of operations that have been timed, in their order.
func names(of map[string]latency) []string { return slices.Sorted(maps.Keys(of)) }
