package boltstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Who types the pages in, in the order of doc.go, can compile them at the end of each step.
func TestPagesCompileStepByStep(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`(?m)^//  \d\. (\w+\.go): `)
	steps := strings.Split(string(doc), "\n// Step ")[1:]
	if len(steps) != 3 {
		t.Fatalf("doc.go lists %d steps", len(steps))
	}
	pages := []string{}
	for i, step := range steps {
		for _, p := range page.FindAllStringSubmatch(step, -1) {
			pages = append(pages, p[1])
		}
		if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build"}, pages...)...).CombinedOutput(); err != nil {
			t.Errorf("step %d, %v: %v\n%s", i+1, pages, err, out)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		if file == "doc.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		if n := strings.Count(strings.Join(pages, " ")+" ", file+" "); n != 1 {
			t.Errorf("%s is listed %d times", file, n)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if t.Logf("%d lines without comments and blank lines", lines); lines >= 550 {
		t.Error("the tutorial promises fewer than 550")
	}
}
