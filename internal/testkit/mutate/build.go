package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are those of the command line, and the directory of what is built.
type options struct {
	dir, test, run        string
	short, sql, all, list bool
	parallel              int
	limit                 time.Duration
	log                   string
	finders               finders
	work                  string
	seed                  uint64 // of the draw
	wanted                func(name string) bool
}

// mutant is one broken place.
type mutant struct {
	name string
	number,
	first, last int // the lines of its function in the generated file
	file    string // the generated one
	dropped bool   // it does not compile
	idle    bool   // it is not asked for
}

// build makes one test binary of all mutants that compile.
func (o *options) build(sources map[string][]byte) ([]*mutant, error) {
	mutants := map[string]*mutant{} // those that an earlier round has made, by name
	for range 8 {
		all, err := o.generate(sources, mutants)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("go", "test", "-c", "-gcflags=-e", "-overlay", filepath.Join(o.work, "overlay.json"), "-o", filepath.Join(o.work, "kit"), o.test)
		packages := slices.Sorted(maps.Keys(directories(sources)))
		check := exec.Command("go", append([]string{"build", "-gcflags=-e", "-overlay", filepath.Join(o.work, "overlay.json")}, packages...)...)
		check.Dir, cmd.Dir = o.dir, o.dir
		out, err := check.CombinedOutput()
		if err == nil {
			if out, err = cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, out)
			}
			return slices.DeleteFunc(all, func(m *mutant) bool { return m.dropped }), nil
		}
		if !drop(all, string(out)) {
			return nil, fmt.Errorf("what does not compile is no mutant: %s", out)
		}
	}
	return nil, errors.New("there is no end of mutants that do not compile")
}

func directories(sources map[string][]byte) map[string]bool {
	dirs := map[string]bool{}
	for file := range sources {
		dirs["./"+filepath.Dir(file)] = true
	}
	return dirs
}

var compilerError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// drop marks the mutants that the compiler complains of.
func drop(all []*mutant, out string) (any bool) {
	for _, found := range compilerError.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(found[2])
		for _, m := range all {
			if filepath.Base(m.file) == filepath.Base(found[1]) && m.first <= line && line <= m.last && !m.dropped {
				m.dropped, any = true, true
			}
		}
	}
	return any
}

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
func mutantText(text string, broken ...any) string {
	for i := 0; i < len(broken); i += 2 {
		if broken[i] == mutantNumber {
			text = broken[i+1].(string)
		}
	}
	if mutantNumber > 0 {
		text = mutantHint.ReplaceAllString(text, "")
	}
	return text
}
`

// generate writes the broken sources and an overlay that puts them in place.
func (o *options) generate(sources map[string][]byte, known map[string]*mutant) ([]*mutant, error) {
	overlay := map[string]string{}
	var all []*mutant
	place := func(path, text string) error {
		abs, err := filepath.Abs(filepath.Join(o.dir, path))
		if err != nil {
			return err
		}
		overlay[abs] = filepath.Join(o.work, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		return os.WriteFile(overlay[abs], []byte(text), 0o600)
	}
	packages := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		breakFile := o.breakGoFile
		if o.sql {
			breakFile = o.breakSQLFile
		}
		text, name, made, err := breakFile(file, sources[file], len(all), known)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
		packages[filepath.Dir(file)] = name
		if err := place(file, text); err != nil {
			return nil, err
		}
	}
	for dir, name := range packages {
		if err := place(filepath.Join(dir, "mutant_number.go"), fmt.Sprintf(chooser, name)); err != nil {
			return nil, err
		}
	}
	wire, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(filepath.Join(o.work, "overlay.json"), wire, 0o600)
}

// breakGoFile puts a copy of each function for each of its mutants behind it, and lets the
// function itself call the one whose number is chosen.
func (o *options) breakGoFile(path string, source []byte, before int, known map[string]*mutant) (text, pkg string, made []*mutant, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", "", nil, err
	}
	d := &editor{source: source, base: fset.File(file.Pos()).Base()}
	var out strings.Builder
	at := 0
	lines := func() int { return strings.Count(out.String(), "\n") }
	type pending struct {
		m    *mutant
		text string
	}
	var waiting []pending
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "init" {
			continue
		}
		d.edits = nil
		ast.Inspect(f.Body, d.breakGo)
		if len(d.edits) == 0 {
			continue
		}
		head, arguments := d.signature(f, f.Name.Name)
		from, to := d.offset(f.Body.Pos()), d.offset(f.Body.End())
		out.Write(source[at:d.offset(f.Pos())])
		out.WriteString(head + "{\n\tswitch mutantNumber {\n")
		for _, e := range d.edits {
			name := mutantName(path, f, d, e, source)
			for n := 2; slices.ContainsFunc(made, func(m *mutant) bool { return m.name == name }); n++ {
				name = fmt.Sprintf("%s #%d", mutantName(path, f, d, e, source), n)
			}
			m := known[name]
			if m == nil {
				m = &mutant{name: name, file: strings.ReplaceAll(path, string(filepath.Separator), "_")}
				known[name] = m
			}
			made = append(made, m)
			m.number = before + len(made)
			m.idle = !o.wanted(name)
			if m.dropped || m.idle {
				continue
			}
			broken := fmt.Sprintf("%sMutant%d", f.Name.Name, m.number)
			call := broken + "(" + strings.Join(arguments, ", ") + ")"
			if f.Recv != nil {
				call = receiverName(f) + "." + call
			}
			if f.Type.Results != nil {
				call = "return " + call
			} else {
				call += "\n\t\treturn"
			}
			fmt.Fprintf(&out, "\tcase %d:\n\t\t%s\n", m.number, call)
			brokenHead, _ := d.signature(f, broken)
			waiting = append(waiting, pending{m, "\n" + brokenHead + string(source[from:e.from]) + e.text + string(source[e.to:to]) + "\n"})
		}
		out.WriteString("\t}\n" + string(source[from+1:to]))
		at = to
	}
	out.Write(source[at:])
	for _, p := range waiting {
		p.m.first = lines() + 1
		out.WriteString(p.text)
		p.m.last = lines()
	}
	return out.String(), file.Name.Name, made, nil
}

func receiverName(f *ast.FuncDecl) string {
	if names := f.Recv.List[0].Names; len(names) > 0 && names[0].Name != "_" {
		return names[0].Name
	}
	return "unnamed1"
}

var spaces = regexp.MustCompile(`\s+`)

// mutantName tells where a mutant is and what is broken, in the words of the source, so
// that it stays the same when lines move.
func mutantName(path string, f *ast.FuncDecl, d *editor, e edit, source []byte) string {
	from, to := e.from, e.to
	for from > d.offset(f.Body.Pos()) && source[from-1] != '\n' {
		from--
	}
	for to < len(source) && source[to] != '\n' {
		to++
	}
	before := spaces.ReplaceAllString(strings.TrimSpace(string(source[from:to])), " ")
	after := spaces.ReplaceAllString(strings.TrimSpace(string(source[from:e.from])+e.text+string(source[e.to:to])), " ")
	return fmt.Sprintf("%s %s: %s -> %s", path, f.Name.Name, before, after)
}
