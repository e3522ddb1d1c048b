package adaptertest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

func TestZZCalls(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	cfg := Config{short: true, New: func(context.Context) (driver.Adapter, error) { return inmem.New(), nil }}
	if os.Getenv("ZZ") == "again" {
		cfg = configOf(func(*broken) {})
		cfg.Crash = cfg.Reopen
	}
	found, err := cfg.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(0, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	type row struct {
		name  string
		calls int
		took  time.Duration
	}
	var rows []row
	laws := map[string]*row{}
	total, all := 0, time.Duration(0)
	for _, l := range lawsOf() {
		for _, c := range l.cases {
			if len(found.missing(c.needs)) > 0 {
				continue
			}
			if f := os.Getenv("ZZCASE"); f != "" && !strings.HasPrefix(l.name+"/"+c.name, f) {
				continue
			}
			began := cpu()
			levels := found.levelsFrom(levelOf(c.needs))
			w, failed := cfg.play(t.Context(), found, &l, &c, levels[len(levels)-1])
			if failed != nil {
				t.Error(l.name, c.name, w.text("", failed))
			}
			r := row{l.name + "/" + c.name, w.watch.calls, cpu() - began}
			rows = append(rows, r)
			if laws[l.name] == nil {
				laws[l.name] = &row{name: l.name}
			}
			laws[l.name].calls += r.calls
			laws[l.name].took += r.took
			total += r.calls
			all += r.took
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].calls > rows[j].calls })
	for _, r := range rows[:min(len(rows), 45)] {
		fmt.Printf("%8d %8s %s\n", r.calls, r.took.Round(time.Millisecond), r.name)
	}
	for _, r := range laws {
		fmt.Printf("LAW %8d %8s %s\n", r.calls, r.took.Round(time.Millisecond), r.name)
	}
	fmt.Println("TOTAL", total, all.Round(time.Millisecond), len(rows), runtime.NumGoroutine())
}

func lawsOf() []law { return laws() }
