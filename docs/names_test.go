package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tree is what the pages may name.
type tree struct {
	symbols map[string]bool // "package.Name" and "package.Type.Member", of packages that can be imported
	members map[string]bool // "Type.Member" of any of them
	tests   map[string]bool // tests, fuzz targets and examples
	clauses map[string]string
}

// source reads every Go file of the repository, nested modules included, once.
var source = sync.OnceValues(func() (*tree, error) {
	found := &tree{symbols: map[string]bool{}, members: map[string]bool{}, tests: map[string]bool{}, clauses: map[string]string{}}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != ".." && (base == "testdata" || base[0] == '.' || base[0] == '_' || name == "../docs") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found.add(strings.TrimPrefix(name, "../"), file)
		return nil
	})
	return found, err
})

func (t *tree) add(name string, file *ast.File) {
	test := strings.HasSuffix(name, "_test.go")
	if !test {
		for _, group := range file.Comments {
			for _, clause := range clausesOf(group.Text()) {
				t.clauses[clause] = name
			}
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch {
			case test:
				t.tests[d.Name.Name] = true
			case d.Recv == nil:
				t.symbols[file.Name.Name+"."+d.Name.Name] = true
			default:
				t.member(file.Name.Name, receiver(d.Recv.List[0].Type), d.Name.Name)
			}
		case *ast.GenDecl:
			if !test {
				t.declared(file.Name.Name, d)
			}
		}
	}
}

func (t *tree) declared(in string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				t.symbols[in+"."+n.Name] = true
			}
		case *ast.TypeSpec:
			t.symbols[in+"."+s.Name.Name] = true
			var fields *ast.FieldList
			switch typ := s.Type.(type) {
			case *ast.StructType:
				fields = typ.Fields
			case *ast.InterfaceType:
				fields = typ.Methods
			default:
				continue
			}
			for _, f := range fields.List {
				for _, n := range f.Names {
					t.member(in, s.Name.Name, n.Name)
				}
			}
		}
	}
}

func (t *tree) member(in, typ, name string) {
	t.symbols[in+"."+typ+"."+name] = true
	t.members[typ+"."+name] = true
}

func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	case *ast.IndexExpr:
		return receiver(x.X)
	}
	return ""
}

// clausesOf returns the clauses of the protocol that a text names, such as "RFC 0068 §D.2". A
// paragraph sign without a number belongs to the document named before it.
func clausesOf(text string) []string {
	var clauses []string
	text = stepOf.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1.$2")
	for _, m := range clause.FindAllStringSubmatch(text, -1) {
		if m[2] == "" {
			clauses = append(clauses, "RFC "+m[1])
		}
		for s := range strings.SplitSeq(m[2], ",") {
			if s = strings.TrimSpace(s); s != "" {
				clauses = append(clauses, "RFC "+m[1]+" "+strings.TrimSuffix(s, "."))
			}
		}
	}
	return clauses
}

var (
	clause = regexp.MustCompile(`\bRFCs? ?(0\d{3})((?:,? §[A-Z](?:\.\d+)?)*)`)
	stepOf = regexp.MustCompile(`(§[A-Z]) step (\d)`)
)

func TestClausesOf(t *testing.T) {
	got := clausesOf("RFC 0068 §C, §D; RFC 0062\n§B step 4, RFC 0052 §B.3. and RFC 3339, (RFC 0096)")
	want := []string{"RFC 0068 §C", "RFC 0068 §D", "RFC 0062 §B.4", "RFC 0052 §B.3", "RFC 0096"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every clause that a comment of the code names is a row of the map.
func TestEveryClauseIsInTheMap(t *testing.T) {
	found, err := source()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("protocol-map.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cell, ok := strings.CutPrefix(line, "| RFC "); ok {
			cell, _, _ = strings.Cut(cell, " |")
			for _, c := range clausesOf("RFC " + cell) {
				rows[c] = true
				rows[c[:len("RFC 0000")]] = true // a document is in the map with its clauses
				section, _, _ := strings.Cut(c, ".")
				rows[section] = true
			}
		}
	}
	if len(found.clauses) < 30 {
		t.Fatalf("only %d clauses were found in the code", len(found.clauses))
	}
	for _, c := range slices.Sorted(maps.Keys(found.clauses)) {
		if !rows[c] {
			t.Errorf("%s names %s, which is not in protocol-map.md", found.clauses[c], c)
		}
	}
}

// Every row of the map has a symbol or says whose clause it is, and a test.
func TestEveryRowOfTheMapIsWhole(t *testing.T) {
	text, err := os.ReadFile("protocol-map.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[0], " RFC ") && !strings.HasPrefix(cells[0], " agent-memory.md ") {
			continue
		}
		n++
		if strings.HasSuffix(cells[1], " above ") {
			continue
		}
		if !strings.Contains(cells[3], "`") || !strings.Contains(cells[4], "`Test") && !strings.Contains(cells[4], "`Fuzz") {
			t.Errorf("without a symbol or a test: %s", line)
		}
	}
	if n < 80 {
		t.Errorf("the map has %d rows", n)
	}
}

// The page of the module's root on pkg.go.dev names every package that can be imported from it.
func TestRootNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	list.Dir, list.Env = "..", append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[\w/]+`).FindAllString(string(text), -1)
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir = strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
		if dir == "" || name == "main" || strings.Contains(dir, "internal/") || strings.HasPrefix(dir, "examples/") {
			continue
		}
		if !slices.Contains(named, dir) {
			t.Errorf("doc.go does not name %s", dir)
		}
	}
}

// What a page names exists: tests, symbols and files that it links to.
func TestEveryNameExists(t *testing.T) {
	found, err := source()
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, p := range documents(t) {
		prose := withoutBlocks(p.text)
		for _, m := range span.FindAllStringSubmatch(prose, -1) {
			name := strings.TrimSuffix(m[1], "()")
			switch {
			case testName.MatchString(name):
				names++
				if begin, glob := strings.CutSuffix(name, "…"); glob {
					if !slices.ContainsFunc(slices.Collect(maps.Keys(found.tests)), func(s string) bool { return strings.HasPrefix(s, begin) }) {
						t.Errorf("%s names %s, and no test begins so", p.name, name)
					}
				} else if !found.tests[name] {
					t.Errorf("%s names %s, and there is no such test", p.name, name)
				}
			case symbolName.MatchString(name) && name != "blob.Bucket": // of gocloud.dev
				names++
				if !found.symbols[name] {
					t.Errorf("%s names %s, and there is no such symbol", p.name, name)
				}
			case memberName.MatchString(name):
				names++
				if !found.members[name] {
					t.Errorf("%s names %s, and no type has it", p.name, name)
				}
			}
		}
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if err := follow(p, m[1]); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
	if names < 200 {
		t.Errorf("only %d names were found", names)
	}
}

var (
	span       = regexp.MustCompile("`([^`\n]+)`")
	testName   = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w*…?$`)
	symbolName = regexp.MustCompile(`^[a-z]\w*\.[A-Z]\w*(?:\.[A-Z]\w*)?$`)
	memberName = regexp.MustCompile(`^[A-Z]\w*\.[A-Z]\w*$`)
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// withoutBlocks takes the fenced blocks out of a page.
func withoutBlocks(text string) string {
	var b strings.Builder
	within := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			within = !within
		} else if !within {
			b.WriteString(line)
		}
	}
	return b.String()
}

// follow looks whether what a page links to within the repository is there, with its heading.
func follow(p page, to string) error {
	if strings.Contains(to, "://") {
		return nil
	}
	name, heading, _ := strings.Cut(to, "#")
	file := filepath.Join("..", path.Dir(p.name), name)
	if name == "" {
		file = filepath.Join("..", p.name)
	}
	text, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); statErr != nil {
		return fmt.Errorf("%s leads nowhere", to)
	} else if info.IsDir() && heading == "" {
		return nil
	} else if err != nil {
		return err
	}
	if heading == "" {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if title := strings.TrimLeft(line, "#"); title != line && slug(title) == heading {
			return nil
		}
	}
	return fmt.Errorf("%s has no such heading", to)
}

// slug is how GitHub names a heading in an address.
func slug(title string) string {
	title = strings.ToLower(strings.TrimSpace(title))
	title = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(title, "")
	return strings.ReplaceAll(title, " ", "-")
}
