package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Commands of the repository that a page names outside of its walk, in a block or in a line of
// prose, can be carried out: the program that go run starts builds, go test finds packages, the
// rows that a benchmark is to measure exist, and the command line has the command.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	var commands []string
	for _, p := range documents(t) {
		var lines []string
		for _, b := range p.blocks {
			if b.lang == "" || b.lang == "sh" {
				lines = append(lines, strings.Split(b.text, "\n")...)
			}
		}
		prose := withoutBlocks(p.text)
		for _, m := range span.FindAllStringSubmatch(prose, -1) {
			lines = append(lines, m[1])
		}
		lines = append(lines, regexp.MustCompile(`(?m)^    go .*$`).FindAllString(prose, -1)...)
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if known := regexp.MustCompile(`^(go (run|test|build) |agentmemory [a-z]|AGENTMEMORY_\w+=1 go test )`); known.MatchString(line) && !slices.Contains(commands, line) {
				commands = append(commands, line)
			}
		}
	}
	if len(commands) < 15 {
		t.Errorf("only %d commands were found", len(commands))
	}
	programs := map[string]string{} // by directory and package
	for _, c := range commands {
		words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(c))
		if words[0] == "agentmemory" {
			if !hasCommand(t, words[1]) {
				t.Errorf("%s: there is no such command", c)
			}
			continue
		}
		words = words[slices.Index(words, "go")+1:]
		dir, pkg, pattern := "..", "", ""
		for i := 1; i < len(words); i++ {
			switch {
			case words[i] == "-C":
				dir = filepath.Join("..", words[i+1])
				i++
			case words[i] == "-run":
				pattern = words[i+1]
				i++
			case words[i] == "-o":
				i++
			case pkg == "" && strings.HasPrefix(words[i], "."):
				pkg = words[i]
			}
		}
		program, known := programs[dir+" "+pkg]
		if !known {
			program = filepath.Join(t.TempDir(), "program.exe") // as Windows wants it
			programs[dir+" "+pkg] = program
			check := exec.CommandContext(t.Context(), "go", "list", pkg)
			if words[0] != "test" {
				check = exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", program, pkg)
			}
			check.Dir, check.Env = dir, append(os.Environ(), "GOWORK=off")
			if out, err := check.CombinedOutput(); err != nil || strings.Contains(string(out), "matched no packages") {
				t.Errorf("%s: %v\n%s", c, err, out)
				continue
			}
		}
		if words[0] == "run" && pattern != "" {
			if out, err := exec.CommandContext(t.Context(), program, "-list", "-quick", "-run", pattern).Output(); err != nil || len(out) == 0 {
				t.Errorf("%s: no such rows: %v", c, err)
			}
		}
	}
}

// hasCommand looks for a command of the command line.
func hasCommand(t *testing.T, name string) bool {
	text, err := os.ReadFile("../cmd/agentmemory/main.go")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), `"`+name+`"`)
}
