package adaptertest

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestZZMatrix(t *testing.T) {
	out := os.Getenv("MATRIX")
	if out == "" {
		t.Skip()
	}
	only := os.Getenv("MATRIX_ONLY")
	all := map[string][]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan bool, 2)
	run := func(name, needs string, check func() (*Report, error)) {
		if only != "" && !strings.Contains(name, only) {
			return
		}
		wg.Add(1)
		slots <- true
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			r, err := check()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all[name+"|"+needs] = failed(r)
		}()
	}
	for _, d := range defects() {
		run("M:"+d.name, d.needs, func() (*Report, error) { return Check(ctx, configOf(d.do)) })
	}
	for _, d := range commitmentDefects() {
		run("C:"+d.name, d.needs, func() (*Report, error) { return CheckCommitmentStore(ctx, commitmentsWith(d.do)) })
	}
	for c, d := range shelfDefects {
		run("A:"+c, "ARCHIVE/"+c, func() (*Report, error) { return CheckArchiveStore(ctx, *shelfConfig(d)) })
	}
	wg.Wait()
	var names []string
	for _, l := range laws() {
		for _, c := range l.cases {
			names = append(names, "M:"+l.name+"/"+c.name)
		}
	}
	for _, l := range commitmentLaws() {
		for _, c := range l.cases {
			names = append(names, "C:"+l.name+"/"+c.name)
		}
	}
	for _, c := range archivesLaw().cases {
		names = append(names, "A:ARCHIVE/"+c.name)
	}
	all["cases"] = names
	b, _ := json.MarshalIndent(all, "", " ")
	os.WriteFile(out, b, 0o644)
}
