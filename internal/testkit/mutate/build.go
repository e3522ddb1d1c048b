package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// mutant is one broken place.
type mutant struct {
	name   string
	number int
	idle   bool   // it is not asked for
	result string // once it has run
}

// build makes one test binary of all mutants that compile.
func (o *options) build() error {
	for range 8 {
		if err := o.generate(); err != nil {
			return err
		}
		cmd := exec.Command("go", "test", "-c", "-gcflags=github.com/openwop/agentmemory/...=-e",
			"-overlay", filepath.Join(o.work, "overlay.json"), "-o", filepath.Join(o.work, "kit"), o.test)
		cmd.Dir = o.dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		wrong := compilerError.FindAllStringSubmatch(string(out), -1)
		if len(wrong) == 0 {
			return fmt.Errorf("what does not compile is no mutant: %s", out)
		}
		for _, found := range wrong {
			number, _ := strconv.Atoi(found[1])
			o.dropped[o.mutants[number-1].name] = true
		}
	}
	return errors.New("there is no end of mutants that do not compile")
}

// compilerError is an error in a mutant, which says in a line directive that it is a file of its own.
var compilerError = regexp.MustCompile(`(?m)\bmutant(\d+)\.go:\d+:`)

// chooser is what the broken packages have beside their files. A mutant names no index: its
// conditions may not imply those of a partial one, and the database would not take it.
const chooser = `package %s

import (
	mutantos "os"
	mutantregexp "regexp"
	mutantconv "strconv"
)

var mutantNumber, _ = mutantconv.Atoi(mutantos.Getenv("MUTANT"))

var mutantHint = mutantregexp.MustCompile("(?i) INDEXED BY [a-z_]+")

// mutantText is a text, or a broken form of it if the number of that is chosen.
func mutantText(text string, broken map[int]string) string {
	if chosen, ok := broken[mutantNumber]; ok {
		text = chosen
	}
	if mutantNumber > 0 {
		text = mutantHint.ReplaceAllString(text, "")
	}
	return text
}
`

// generate writes the broken sources and an overlay that puts them in place.
func (o *options) generate() (err error) {
	o.mutants, o.named = nil, map[string]int{}
	overlay := map[string]string{}
	place := func(path, text string) {
		to := filepath.Join(o.work, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		overlay[filepath.Join(o.dir, path)] = to
		err = errors.Join(err, os.WriteFile(to, []byte(text), 0o600))
	}
	for _, path := range o.files {
		text, err := os.ReadFile(filepath.Join(o.dir, path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s := &source{options: o, path: path, text: string(text), base: file.FileStart}
		if o.sql {
			s.breakSQL(file)
		} else {
			s.breakGo(file)
		}
		place(path, s.out.String()+s.text[s.at:])
		place(filepath.Join(filepath.Dir(path), "mutant_number.go"), fmt.Sprintf(chooser, file.Name))
	}
	wire, _ := json.Marshal(map[string]any{"Replace": overlay})
	return errors.Join(err, os.WriteFile(filepath.Join(o.work, "overlay.json"), wire, 0o600))
}

// source is a file that is broken.
type source struct {
	*options
	path, text string
	base       token.Pos
	out        strings.Builder // the broken form
	at         int             // so much of the text is in it
}

func (s *source) offset(p token.Pos) int   { return int(p - s.base) }
func (s *source) textOf(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// splice has the broken form go on with the text up to a position, and then with another text in
// place of what is there up to a second one.
func (s *source) splice(from, to token.Pos, other string) {
	s.out.WriteString(s.text[s.at:s.offset(from)] + other)
	s.at = s.offset(to)
}

var spaces = regexp.MustCompile(`\s+`)

// mutant names a mutant in the words of the source, so that the name stays the same when lines
// move. built is false if it is left out: it is idle, or does not compile.
func (s *source) mutant(in, before, after string) (m *mutant, built bool) {
	squeezed := func(text string) string { return spaces.ReplaceAllString(strings.TrimSpace(text), " ") }
	name := fmt.Sprintf("%s %s: %s -> %s", s.path, in, squeezed(before), squeezed(after))
	s.named[name]++
	if n := s.named[name]; n > 1 {
		name = fmt.Sprintf("%s #%d", name, n)
		s.named[name]++
	}
	m = &mutant{name: name, number: len(s.mutants) + 1, idle: !s.wants(name)}
	s.mutants = append(s.mutants, m)
	return m, !m.idle && !s.dropped[name]
}
