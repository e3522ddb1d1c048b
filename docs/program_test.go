package docs

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages are walked through as a reader would do it: in an empty directory, block by block.
//
//   - A block of Go that begins with the comment "// NAME.go" is a file of the page's program. One that
//     begins with "// NAME.go, whole" shows the file as the blocks before it have left it.
//   - Another block of Go is a fragment: it becomes the body of a function with a context, which
//     runs at once. What stands as a comment behind fmt.Println is what has to be printed.
//   - A block "diff" changes a file of the program, the one that its first line names.
//   - A block "console" has commands behind "$ ", and below each what it prints; a line "..."
//     matches any lines, and "..." at the end of one for the rest of it. Where a line "FAIL" is
//     said to be printed, the command has to fail.
//   - Commands of other blocks are only looked up, see commands_test.go.
//
// go get becomes a replacement by this tree, so that nothing is fetched.
func TestPagesRunAsWritten(t *testing.T) {
	for _, p := range documents(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := &walk{page: p, dir: t.TempDir(), t: t}
			for _, b := range p.blocks {
				w.block(b)
				if t.Failed() {
					return
				}
			}
			w.finish()
		})
	}
}

// walk is a reader on the way through a page.
type walk struct {
	t       *testing.T
	page    page
	dir     string // of the page's program
	pending bool   // something was typed in and not run since
	n       int    // fragments
}

func (w *walk) block(b block) {
	where := fmt.Sprintf("%s:%d", w.page.name, b.line)
	first, rest, _ := strings.Cut(b.text, "\n")
	name, isFile := strings.CutPrefix(first, "// ")
	whole, isWhole := strings.CutSuffix(name, ", whole")
	switch {
	case b.lang == "go" && isFile && isWhole:
		w.shown(where, whole, rest)
	case b.lang == "go" && isFile && strings.HasSuffix(name, ".go") && !strings.Contains(name, " "):
		w.write(name, rest)
	case b.lang == "go":
		w.fragment(where, b)
	case b.lang == "diff":
		w.change(where, b)
	case b.lang == "console":
		w.console(where, b)
	case b.lang != "" && b.lang != "sh":
		w.t.Errorf("%s: nothing looks at a block of %q", where, b.lang)
	}
}

func (w *walk) write(name, text string) {
	w.pending = true
	if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
		w.t.Errorf("%s: %s is not as gofmt would have it: %v", w.page.name, name, err)
	}
	if err := write(filepath.Join(w.dir, name), text); err != nil {
		w.t.Fatal(err)
	}
}

// shown compares a file with what the page shows of it.
func (w *walk) shown(where, name, text string) {
	have, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil || string(have) != text {
		w.t.Errorf("%s: %s is now (%v):\n%s", where, name, err, have)
	}
}

// write writes a file and makes its directory.
func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// change applies a block "diff". Its old lines occur once in the file.
func (w *walk) change(where string, b block) {
	head, body, _ := strings.Cut(b.text, "\n")
	name, ok := strings.CutPrefix(head, "--- ")
	if !ok {
		w.t.Fatalf("%s: the first line of a diff names the file", where)
	}
	source, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatalf("%s: %v", where, err)
	}
	text := string(source)
	for hunk := range strings.SplitSeq(body, "@@\n") {
		var before, after strings.Builder
		for line := range strings.Lines(hunk) {
			if line == "\n" {
				line = " \n"
			}
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		if n := strings.Count(text, before.String()); n != 1 {
			w.t.Fatalf("%s: %s has the old lines %d times:\n%s", where, name, n, before.String())
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	w.write(name, text)
}

// console carries out the commands of a block.
func (w *walk) console(where string, b block) {
	var command string
	var want []string
	run := func() {
		if command == "" {
			if len(want) > 0 {
				w.t.Fatalf("%s: no command prints %q", where, want)
			}
			return
		}
		got, err := w.command(command)
		if failed := slices.Contains(want, "FAIL"); failed != (err != nil) {
			w.t.Fatalf("%s: $ %s: %v\n%s", where, command, err, got)
		}
		if !matches(lines(got), want) {
			w.t.Fatalf("%s: $ %s printed\n%s\nand the page says\n%s", where, command, got, strings.Join(want, "\n"))
		}
	}
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		if next, ok := strings.CutPrefix(line, "$ "); ok {
			run()
			command, want = next, nil
			continue
		}
		want = append(want, line)
	}
	run()
}

// command does what a line says, in the directory of the page's program.
func (w *walk) command(line string) (string, error) {
	words := strings.Fields(line)
	switch {
	case words[0] == "cd":
		w.dir = filepath.Join(w.dir, words[1])
		return "", nil
	case words[0] == "mkdir": // mkdir NAME && cd NAME
		w.dir = filepath.Join(w.dir, words[1])
		return "", os.Mkdir(w.dir, 0o755)
	case strings.HasPrefix(line, "git clone "):
		return "", nil // its files are those of this tree
	case words[0] == "cp":
		return "", w.copy(line)
	case strings.HasPrefix(line, "go mod init "):
		return "", os.WriteFile(filepath.Join(w.dir, "go.mod"), []byte("module "+words[3]+"\n\ngo 1.26.0\n"), 0o644)
	case strings.HasPrefix(line, "go get "):
		return "", requireTree(w.dir, words[2:])
	case line == "go mod tidy":
		return "", requireSums(w.dir)
	}
	w.pending = false
	return execute(w.t, w.dir, words...)
}

// copy copies files of the tree that a page has cloned beside the program's directory.
func (w *walk) copy(line string) error {
	m := regexp.MustCompile(`^cp \.\./agentmemory/(\S+)/\{?([\w,]+)\}?(\.\w+) \.$`).FindStringSubmatch(line)
	if m == nil {
		return errors.New("only files of the clone can be copied here")
	}
	for name := range strings.SplitSeq(m[2], ",") {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(m[1]), name+m[3]))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(w.dir, name+m[3]), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// fragment compiles a block within a function, and runs it.
func (w *walk) fragment(where string, b block) {
	w.n++
	dir := filepath.Join(w.t.TempDir(), fmt.Sprint("fragment", w.n))
	s := surroundings[strings.TrimSpace(strings.SplitN(b.text, "\n", 2)[0])]
	source, want, err := complete(b.text, s)
	if err != nil {
		w.t.Fatalf("%s: %v", where, err)
	}
	name := "main.go"
	if s.only != "" {
		name = "main_test.go"
	}
	files := map[string]string{name: source, "go.mod": "module example.org/fragment\n\ngo 1.26.0\n"}
	maps.Copy(files, s.files)
	for file, text := range files {
		if err := write(filepath.Join(dir, file), text); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(requireTree(dir, []string{root, root + "/memory/sqlite"}), requireSums(dir)); err != nil {
		w.t.Fatal(err)
	}
	command := []string{"go", "run", "."}
	if s.only != "" {
		command = []string{"go", "test", "-short", "-run", s.only, "."}
	}
	got, err := execute(w.t, dir, command...)
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", where, err, got)
	}
	if s.only == "" && !matches(lines(got), want) {
		w.t.Fatalf("%s printed\n%s\nand the page says\n%s", where, got, strings.Join(want, "\n"))
	}
}

func (w *walk) finish() {
	if w.pending {
		w.t.Errorf("%s has a file or a change behind its last command", w.page.name)
	}
}

// execute runs a command and returns what it printed, standard error behind it. go run is a
// build and a start, so that its output is the program's alone. The lines in which the go command
// says that it fetches a module depend on the machine and are left out.
func execute(t *testing.T, dir string, words ...string) (string, error) {
	t.Helper()
	if slices.Equal(words[:min(3, len(words))], []string{"go", "run", "."}) {
		program := filepath.Join(t.TempDir(), "program.exe") // as Windows wants it
		if out, err := execute(t, dir, "go", "build", "-ldflags=-w", "-o", program, "."); err != nil {
			return out, err
		}
		words = append([]string{program}, words[3:]...)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String() + fetching.ReplaceAllString(errs.String(), ""), err
}

var fetching = regexp.MustCompile(`(?m)^go: downloading .*\n`)

// What a program prints is the same on a machine that has none of its modules.
func TestExecute_LeavesOutWhatIsFetched(t *testing.T) {
	proxy := filepath.Join(t.TempDir(), "proxy")
	const mod = "module example.org/dep\n\ngo 1.26.0\n"
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, text := range map[string]string{"go.mod": mod, "dep.go": "package dep\n\nconst Word = 1\n"} {
		f, err := w.Create("example.org/dep@v1.0.0/" + name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := errors.Join(
		w.Close(),
		write(filepath.Join(proxy, "example.org", "dep", "@v", "v1.0.0.info"), `{"Version":"v1.0.0"}`),
		write(filepath.Join(proxy, "example.org", "dep", "@v", "v1.0.0.mod"), mod),
		write(filepath.Join(proxy, "example.org", "dep", "@v", "v1.0.0.zip"), packed.String()),
		write(filepath.Join(dir, "go.mod"), "module example.org/program\n\ngo 1.26.0\n\nrequire example.org/dep v1.0.0\n"),
		write(filepath.Join(dir, "main.go"), "package main\n\nimport \"example.org/dep\"\n\nfunc main() { _ = dep.Word }\n"),
	); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOMODCACHE": filepath.Join(t.TempDir(), "mod"), "GOPROXY": "file://" + filepath.ToSlash(proxy), "GOSUMDB": "off",
	} {
		t.Setenv(name, value)
	}
	defer execute(t, dir, "go", "clean", "-modcache") // it can be read only
	if out, err := execute(t, dir, "go", "mod", "tidy"); err != nil || out != "" {
		t.Errorf("%v, printed %q", err, out)
	}
	if out, err := execute(t, dir, "go", "vet", "."); err != nil || out != "" {
		t.Errorf("%v, printed %q", err, out)
	}
}

// root is the module of this tree.
const root = "github.com/openwop/agentmemory"

// requireTree does what go get would do, with modules of this tree, of which the go command takes
// those on the disk. What they require themselves is in their go.mod and go.sum. As with go get,
// the checksums of what only other packages of a module need are missing until go mod tidy.
func requireTree(dir string, modules []string) error {
	for _, module := range modules {
		module, _, _ = strings.Cut(module, "@")
		if module == "go.etcd.io/bbolt" { // what its store requires of it
			module = root + "/examples/customstore/boltstore"
		}
		at, ours := strings.CutPrefix(module, root)
		if !ours {
			return fmt.Errorf("go get %s: only modules of this tree are known here", module)
		}
		tree, err := filepath.Abs("..")
		if err != nil {
			return err
		}
		at = filepath.Join(tree, filepath.FromSlash(at))
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return err
		}
		text := string(mod)
		if !strings.Contains(text, "replace "+module+" ") {
			text += fmt.Sprintf("require %s v0.0.0\nreplace %s => %s\n", module, module, at)
		}
		own, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err != nil {
			return err
		}
		for _, r := range required.FindAllStringSubmatch(string(own), -1) {
			if !strings.HasPrefix(r[1], root) && !strings.Contains(text, "require "+r[1]+" ") {
				text += fmt.Sprintf("require %s %s\n", r[1], r[2])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
			return err
		}
		if err := addSums(dir, at, module != root); err != nil {
			return err
		}
	}
	return nil
}

var required = regexp.MustCompile(`(?m)^\t?(?:require )?(\S+\.\S+/\S+) (v\S+)`)

// requireSums does what go mod tidy would do for modules that requireTree has required.
func requireSums(dir string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	for _, r := range regexp.MustCompile(`(?m)^replace \S+ => (.*)$`).FindAllStringSubmatch(string(mod), -1) {
		if err := addSums(dir, r[1], true); err != nil {
			return err
		}
	}
	return nil
}

// addSums adds the checksums of a module of this tree: those of what it requires, or only those
// of their go.mod.
func addSums(dir, module string, all bool) error {
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "go.sum"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		if all || strings.Contains(line, "/go.mod h1:") {
			if _, err := file.WriteString(line); err != nil {
				return errors.Join(err, file.Close())
			}
		}
	}
	return file.Close()
}

func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// matches compares lines; "..." among the wanted ones matches any number of them.
func matches(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		for i := range len(got) + 1 {
			if matches(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && sameLine(got[0], want[0]) && matches(got[1:], want[1:])
}

// sameLine compares two lines; blanks and tabs count once.
func sameLine(got, want string) bool {
	got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
	if begin, ok := strings.CutSuffix(want, "..."); ok {
		return strings.HasPrefix(got+" ", begin)
	}
	return got == want
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"a b c", "a b c", true}, {"a b c", "a ...", true}, {"a b c", "... c", true}, {"a b c", "... b c", true},
		{"a b c", "a ... c", true}, {"a b c", "a b", false}, {"a b", "a b c", false}, {"", "...", true}, {"", "a", false},
		{"a", "", false}, {"a b c", "... b", false}, {"abc d", "a... d", true}, {"abc d", "b... d", false},
	} {
		if matches(strings.Fields(c.got), strings.Fields(c.want)) != c.same {
			t.Errorf("%q and %q: not %t", c.got, c.want, c.same)
		}
	}
}

// surrounding is what a fragment rests on and what its page does not repeat.
type surrounding struct {
	top    string // declarations beside the function
	before string // statements in front of it
	// replace are statements in the place of lines.
	replace map[string]string
	// show is a variable which the function of that name is given after each line that sets it.
	// The comments below that line say what the function prints.
	show string
	// only makes it a test, and names what is run of it.
	only string
	// files are beside it.
	files map[string]string
}

// complete makes a program of a fragment, and returns what it has to print.
func complete(fragment string, s surrounding) (source string, want []string, err error) {
	var b strings.Builder
	fragment, want = s.apply(fragment)
	if s.only != "" {
		b.WriteString("package main\n\n" + s.top + "\n" + fragment)
	} else {
		b.WriteString("package main\n\n" + s.top + "\nfunc main() {\n\tif err := fragment(context.Background()); err != nil {\n\t\tpanic(err)\n\t}\n}\n\n" +
			"func fragment(ctx context.Context) error {\n" + s.before + "\n{\n" + fragment)
		declared, err := declaredIn(fragment)
		if err != nil {
			return "", nil, err
		}
		for _, name := range declared {
			b.WriteString("\n_ = " + name)
		}
		b.WriteString("\n}\nreturn nil\n}\n")
	}
	source = b.String()
	parsed, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
	if err != nil {
		return "", nil, fmt.Errorf("%w\n%s", err, source)
	}
	var imports strings.Builder
	found := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] != "" && !found[x.Name] {
				found[x.Name] = true
				fmt.Fprintf(&imports, "import %q\n", packages[x.Name])
			}
		}
		return true
	})
	source = strings.Replace(source, "package main\n", "package main\n\n"+imports.String(), 1)
	return source, want, nil
}

// apply returns the fragment with what the surrounding does to its lines, and what it prints.
func (s surrounding) apply(fragment string) (text string, want []string) {
	var b strings.Builder
	shown := false
	for line := range strings.Lines(fragment) {
		bare := strings.TrimSpace(line)
		said, comment := strings.CutPrefix(bare, "// ")
		switch {
		case s.replace[bare] != "":
			line = s.replace[bare] + "\n"
		case shown && comment:
			want = append(want, said)
		case s.show != "" && strings.HasPrefix(bare, s.show+", err"):
			line += "if err != nil {\nreturn err\n}\nshow(" + s.show + ")\n"
		}
		shown = s.show != "" && (shown && comment || strings.HasPrefix(bare, s.show+", err"))
		if found := printed.FindStringSubmatch(line); found != nil {
			want = append(want, found[1])
		}
		b.WriteString(line)
	}
	return b.String(), want
}

// printed is a line of a fragment that says what it prints.
var printed = regexp.MustCompile(`(?m)^\s*fmt\.Println\(.*\)\s+// (.*)$`)

// packages that a fragment may use without saying so, by their names.
var packages = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "json": "encoding/json", "os": "os",
	"slog": "log/slog", "testing": "testing", "time": "time",
	"adaptertest": root + "/adaptertest", "capability": root + "/capability", "commitment": root + "/commitment",
	"consolidate": root + "/consolidate", "distill": root + "/distill", "driver": root + "/memory/driver",
	"events": root + "/events", "inmem": root + "/memory/inmem", "inspector": root + "/host/inspector",
	"inventory": root + "/inventory", "mystore": "example.org/fragment/mystore", "memory": root + "/memory", "recall": root + "/recall", "redact": root + "/redact",
	"sqlite": root + "/memory/sqlite", "wire": root + "/host/wire", "workspace": root + "/host/workspace",
}

// declaredIn returns the variables that the statements of a fragment declare at their top, so
// that one which the page does not go on with is no error.
func declaredIn(fragment string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+fragment+"\n}\n", 0)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range parsed.Decls[0].(*ast.FuncDecl).Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, left := range a.Lhs {
				if name := left.(*ast.Ident).Name; name != "_" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}
