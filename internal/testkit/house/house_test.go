package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// vague are the last words of file names that say nothing of a topic.
var vague = []string{"more", "extra", "misc", "rest", "utils", "util", "helpers"}

// exports bounds the types and functions that a package shows on pkg.go.dev, apart from
// methods.
var exports = map[string]int{"memory": 36, "memory/driver": 36}

// tree is the Go code below a directory, nested modules included. Directories
// that the go command ignores (testdata, and names that begin with a dot or an
// underscore) are not part of it.
type tree struct {
	packages   map[string][]file // by directory, relative to the root
	modules    []string          // directories of nested modules
	rootModule string            // the root's go.mod
	workspaces []string          // go.work files
}

type file struct {
	name string
	test bool
	ast  *ast.File
}

func (f file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			imported = spec.Path.Value
		}
		paths = append(paths, imported)
	}
	return paths
}

// nested reports whether dir belongs to a module other than the root.
func (t *tree) nested(dir string) bool {
	return slices.ContainsFunc(t.modules, func(m string) bool { return within(dir, m) })
}

func load(t *testing.T, root fs.FS) *tree {
	t.Helper()
	found := &tree{packages: map[string][]file{}}
	set := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		dir := path.Dir(name)
		switch {
		case base == "go.work":
			found.workspaces = append(found.workspaces, name)
		case name == "go.mod":
			mod, err := fs.ReadFile(root, name)
			found.rootModule = string(mod)
			return err
		case base == "go.mod":
			found.modules = append(found.modules, dir)
		case path.Ext(base) == ".go":
			source, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			found.packages[dir] = append(found.packages[dir], file{
				name: name,
				test: strings.HasSuffix(base, "_test.go"),
				ast:  parsed,
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkHouse returns one line for every package without doc.go, every file whose name says
// nothing or that imports unsafe, every exported identifier without a comment, and every package that exports more
// than it may.
func checkHouse(t *tree) []string {
	var broken []string
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		if !hasPackageComment(t.packages[dir], path.Join(dir, "doc.go")) {
			broken = append(broken, dir+": there is no doc.go with a package comment")
		}
		if n, bounded := exported(t.packages[dir]), exports[dir]; bounded > 0 && n > bounded {
			broken = append(broken, fmt.Sprintf("%s exports %d types and functions, more than %d", dir, n, bounded))
		}
		for _, f := range t.packages[dir] {
			if word := topic(f.name); slices.Contains(vague, word) {
				broken = append(broken, fmt.Sprintf("%s: %q names no topic", f.name, word))
			}
			if slices.Contains(f.imports(), "unsafe") {
				broken = append(broken, f.name+" imports unsafe")
			}
			if f.test {
				continue
			}
			if importable(dir, f) {
				broken = append(broken, undocumented(f)...)
			}
		}
	}
	return broken
}

// topic is the last word of a file's name.
func topic(name string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".go"), "_test")
	return base[strings.LastIndexByte(base, '_')+1:]
}

// exported counts the types and functions that a package exports, apart from methods.
func exported(files []file) int {
	n := 0
	for _, f := range files {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					n++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

func hasPackageComment(files []file, doc string) bool {
	return slices.ContainsFunc(files, func(f file) bool {
		return f.name == doc && strings.TrimSpace(f.ast.Doc.Text()) != ""
	})
}

// importable reports whether anyone outside the project can import the package.
func importable(dir string, f file) bool {
	return f.ast.Name.Name != "main" && !strings.Contains("/"+dir+"/", "/internal/")
}

// obvious are methods whose name and signature say everything, because the
// interface they implement is documented where it is declared: fmt.Stringer,
// error, and events.Payload, whose implementers are all in its own package.
var obvious = map[string]string{
	"String":    "string",
	"Error":     "string",
	"EventType": "Type",
	"Validate":  "error",
}

// undocumented lists exported constants, variables, functions, types and
// methods of exported types that have no comment. A comment on a group of
// constants or variables counts for all of them, as on pkg.go.dev.
func undocumented(f file) []string {
	var broken []string
	report := func(name string) {
		broken = append(broken, fmt.Sprintf("%s: %s has no doc comment", f.name, name))
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := receiverName(d)
				if !ast.IsExported(receiver) || isObvious(d) {
					continue
				}
				name = receiver + "." + name
			}
			if d.Name.IsExported() && !says(d.Doc) {
				report(name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && !says(s.Doc) && !says(s.Comment) && (d.Lparen.IsValid() || !says(d.Doc)) {
						report(s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() && !says(s.Doc) && !says(s.Comment) && !says(d.Doc) {
							report(name.Name)
						}
					}
				}
			}
		}
	}
	return broken
}

// says reports whether a comment holds text, and not directives alone.
func says(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) != "" }

func receiverName(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func isObvious(d *ast.FuncDecl) bool {
	result, known := obvious[d.Name.Name]
	if !known || d.Type.Params.NumFields() != 0 || d.Type.Results.NumFields() != 1 {
		return false
	}
	id, ok := d.Type.Results.List[0].Type.(*ast.Ident)
	return ok && id.Name == result
}

func TestHouse(t *testing.T) {
	tree := load(t, os.DirFS(root))
	for _, line := range checkHouse(tree) {
		t.Error(line)
	}
	for _, dir := range slices.Sorted(maps.Keys(exports)) {
		t.Logf("%s exports %d types and functions, of at most %d", dir, exported(tree.packages[dir]), exports[dir])
	}
}

// Every rule is shown to fail on a tree that breaks just that rule.
func TestHouse_BrokenTrees(t *testing.T) {
	const doc = "// Package p is documented.\npackage p\n"
	funcs := func(n int) string {
		var b strings.Builder
		b.WriteString("package p\n")
		for i := range n {
			fmt.Fprintf(&b, "// F%d is.\nfunc F%d() {}\nfunc f%d() {}\n", i, i, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		file, content string
		want          string
	}{
		{"memory/a.go", "package p\n", ""},
		{"memory/doc.go", "package p\n", "no doc.go with a package comment"},
		{"memory/doc.go", "// Detached.\n\npackage p\n", "no doc.go with a package comment"},
		{"other/a.go", doc, "other: there is no doc.go"},
		{"memory/a.go", funcs(36), ""},
		{"memory/a.go", funcs(37), "exports 37 types and functions"},
		{"memory/a.go", funcs(35) + "// T is.\ntype T int\n// U is.\ntype U = T\n", "exports 37 types and functions"},
		{"memory/a_test.go", funcs(37), ""},
		{"memory/read_more.go", "package p\n", "names no topic"},
		{"memory/more_test.go", "package p\n", "names no topic"},
		{"memory/read_extra_test.go", "package p\n", "names no topic"},
		{"memory/a.go", "package p\nimport _ \"unsafe\"\n", "memory/a.go imports unsafe"},
		{"memory/a_test.go", "package p\nimport _ \"unsafe\"\n", "memory/a_test.go imports unsafe"},
		{"memory/evermore.go", "package p\n", ""},
		{"memory/a.go", "package p\nfunc F() {}\n", "F has no doc comment"},
		{"memory/a.go", "package p\n//go:noinline\nfunc F() {}\n", "F has no doc comment"},
		{"memory/a.go", "package p\n// F is.\nfunc F() {}\nfunc f() {}\n", ""},
		{"memory/a.go", "package p\ntype T struct{}\n", "T has no doc comment"},
		{"memory/a.go", "package p\n// Types.\ntype (\n\tT struct{}\n)\n", "T has no doc comment"},
		{"memory/a.go", "package p\n// T is.\ntype T[K any] struct{}\nfunc (*T[K]) M() {}\n", "T.M has no doc comment"},
		{"memory/a.go", "package p\ntype t struct{}\nfunc (t) M() {}\n", ""},
		{"memory/a.go", "package p\n// T is.\ntype T int\nfunc (T) String() string { return \"\" }\nfunc (T) Error() string { return \"\" }\n", ""},
		{"memory/a.go", "package p\n// T is.\ntype T int\nfunc (T) String(n int) string { return \"\" }\n", "T.String has no doc comment"},
		{"memory/a.go", "package p\nconst C = 1\n", "C has no doc comment"},
		{"memory/a.go", "package p\n// All of them.\nconst (\n\tC = 1\n\tD = 2\n)\n", ""},
		{"memory/a.go", "package p\nvar (\n\tV = 1 // one\n\tW = 2\n)\n", "W has no doc comment"},
		{"memory/internal/x/doc.go", doc + "func F() {}\n", ""},
		{"bench/doc.go", "// Command bench.\npackage main\nfunc F() {}\n", ""},
	} {
		files := map[string]string{"doc.go": doc, "memory/doc.go": doc, c.file: c.content}
		expectComplaint(t, fmt.Sprintf("%s %q", c.file, c.content[:min(80, len(c.content))]), checkHouse(load(t, mapTree(files))), c.want)
	}
}

func mapTree(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}
