package parts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/host/inspector"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/telemetry"
)

// root is the directory of the tree.
const root = "../../.."

// configurations are the types by which a host plugs parts in.
var configurations = []any{
	memory.Config{}, memory.RunConfig{}, memory.JobConfig{}, memory.Rewrite{}, telemetry.Hooks{},
	consolidate.Config{}, consolidate.Options{},
	distill.Config{}, distill.Options{}, commitment.Config{}, recall.Config{}, capability.Inputs{},
	workspace.Config{}, workspace.Handler{}, proposal.Config{}, proposal.Handler{},
	inspector.Handler{}, inventory.Handler{}, wire.Encoder{},
}

// packages are where a host plugs parts in.
var packages = []string{
	"memory", "consolidate", "distill", "commitment", "recall", "capability", "host/workspace", "host/proposal", "host/inspector",
	"inventory", "events", "redact", "host/wire", "telemetry",
}

// noParts are not called, or not on behalf of the library, with the reason.
var noParts = map[string]string{
	"memory.Config.Ranker.Version":    "no operation asks for it",
	"telemetry.Hooks.Code":            "the bank's",
	"telemetry.Hooks.Logger":          "the bank's, see memory.Config.Logger",
	"distill.Options.Configurable":    "data",
	"distill.queue.Push":              "of container/heap, with passages of ours",
	"distill.Request":                 "what a summarizer is given",
	"events.Record":                   "data",
	"wire.Error":                      "data",
	"wire.Envelope":                   "data",
	"wire.Read":                       "data",
	"wire.Reply":                      "data",
	"wire.Run":                        "data",
	"wire.RunOptions":                 "data",
	"wire.RunRequest":                 "data",
	"wire.ForkRequest":                "data",
	"wire.Encoder.Snapshot":           "data",
	"wire.Encoder.Discovery":          "data",
	"wire.ReplyTagged":                "data",
	"wire.Encoder.Payload":            "a payload has no code of a host",
	"wire.Majors":                     "the caller's own handlers: net/http contains them",
	"memory.Bank.Pass":                "the caller's own code: its panic goes on",
	"distill.Runner.LoadIndex":        "the bank's reader",
	"wire.Encoder.Handle":             "the caller's own handler: net/http contains it",
	"wire.Encoder.Mux":                "the caller's own handlers, see wire.Encoder.Handle",
	"events.SamePayload":              "a payload has no code of a host",
	"events.Emit":                     "the bank calls the sink, see memory.Config.Sink",
	"events.Follow":                   "the caller's own loop; wire.Encoder.Events contains its log",
	"redact.SecretRegistry.NewWriter": "the caller's own stream",
}

// Every function and every method of an interface that a configuration has is in the table, and
// so is everything else of the packages that takes one.
func TestEveryPartIsInTheTable(t *testing.T) {
	var covered []string
	for _, p := range slices.Concat(memoryParts, engineParts, hostParts) {
		covered = append(covered, p.of...)
	}
	isKnown := func(name string) bool { return noParts[name] != "" || slices.Contains(covered, name) }
	var found, types []string
	for _, c := range configurations {
		typ := reflect.TypeOf(c)
		types = append(types, typ.String())
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				found = append(found, callable(typ.String()+"."+f.Name, f.Type)...)
			}
		}
	}
	for _, name := range found {
		require.True(t, isKnown(name), "%s is not in the table", name)
	}
	declared := declarations(t)
	for _, name := range declared {
		require.True(t, isKnown(name) || slices.Contains(types, name), "%s takes code of the host, and is neither a configuration nor in the table", name)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(noParts)), covered) {
		if strings.Contains(name, ".") {
			require.True(t, slices.Contains(found, name) || slices.Contains(declared, name), "%s does not exist", name)
		}
	}
}

// callable are the functions by which code of the host can be called through a value of a type.
func callable(name string, typ reflect.Type) (names []string) {
	switch typ.Kind() {
	case reflect.Func:
		return []string{name}
	case reflect.Map, reflect.Slice:
		return callable(name, typ.Elem())
	case reflect.Interface:
		if typ.NumMethod() == 0 {
			return []string{name}
		}
		for i := range typ.NumMethod() {
			names = append(names, name+"."+typ.Method(i).Name)
		}
	case reflect.Pointer:
		if typ == reflect.TypeFor[*slog.Logger]() {
			return []string{name}
		}
	}
	return names
}

// parse returns the files of a package by their paths, without tests.
func parse(t *testing.T, set *token.FileSet, pkg string) map[string]*ast.File {
	names, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	require.NoError(t, err)
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		files[filepath.ToSlash(name)] = f
	}
	require.NotEmpty(t, files)
	return files
}

// declarations are the exported types of the packages with a field, and the exported functions
// with a parameter, through which code of the host can be called.
func declarations(t *testing.T) (names []string) {
	files := map[string][]*ast.File{}
	for _, p := range packages {
		files[path.Base(p)] = slices.Collect(maps.Values(parse(t, token.NewFileSet(), p)))
	}
	calls := map[string]bool{"io.Writer": true, "io.Reader": true, "slog.Handler": true, "http.Handler": true}
	structs := map[string]*ast.StructType{}
	var funcs []func(callsHost func(string, ast.Expr) bool)
	for p, parsed := range files {
		for _, f := range parsed {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					switch typ := n.Type.(type) {
					case *ast.FuncType, *ast.InterfaceType:
						calls[p+"."+n.Name.Name] = true
					case *ast.StructType:
						if n.Name.IsExported() {
							structs[p+"."+n.Name.Name] = typ
						}
					}
				case *ast.FuncDecl:
					if n.Name.IsExported() {
						funcs = append(funcs, func(callsHost func(string, ast.Expr) bool) {
							if slices.ContainsFunc(n.Type.Params.List, func(f *ast.Field) bool { return callsHost(p, f.Type) }) {
								names = append(names, p+"."+receiver(n)+n.Name.Name)
							}
						})
					}
					return false
				}
				return true
			})
		}
	}
	var callsHost func(p string, e ast.Expr) bool
	callsHost = func(p string, e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.FuncType, *ast.InterfaceType:
			return true
		case *ast.StarExpr:
			return callsHost(p, e.X)
		case *ast.ArrayType:
			return callsHost(p, e.Elt)
		case *ast.Ellipsis:
			return callsHost(p, e.Elt)
		case *ast.MapType:
			return callsHost(p, e.Value)
		case *ast.Ident:
			return e.Name == "any" || calls[p+"."+e.Name]
		case *ast.SelectorExpr:
			of, ok := e.X.(*ast.Ident)
			return ok && calls[of.Name+"."+e.Sel.Name]
		}
		return false
	}
	for name, s := range structs {
		p, _, _ := strings.Cut(name, ".")
		if slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
			return len(f.Names) > 0 && f.Names[0].IsExported() && callsHost(p, f.Type)
		}) {
			names = append(names, name)
		}
	}
	for _, f := range funcs {
		f(callsHost)
	}
	return names
}

// receiver is the name of a method's type with a dot.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	return typ.(*ast.Ident).Name + "."
}

// Nothing but package hostcall starts a goroutine for code of the host, or catches its panics.
func TestNothingElseStartsAGoroutineOrRecovers(t *testing.T) {
	own := map[string]string{
		root + "/commitment/tick.go": "works on some tenants at once",
		root + "/memory/maintain.go": "does chores beside each other, each through hostcall or of the bank itself",
		root + "/telemetry/span.go":  "tells of a panic of the operation, which goes on",
	}
	seen := map[string]bool{}
	for _, p := range packages {
		set := token.NewFileSet()
		for name, f := range parse(t, set, p) {
			ast.Inspect(f, func(n ast.Node) bool {
				_, starts := n.(*ast.GoStmt)
				call, ok := n.(*ast.CallExpr)
				catches := false
				if ok {
					id, plain := call.Fun.(*ast.Ident)
					catches = plain && id.Name == "recover"
					group, of := call.Fun.(*ast.SelectorExpr)
					starts = starts || of && group.Sel.Name == "Go" // of a sync.WaitGroup
				}
				if starts || catches {
					seen[name] = true
					require.NotEmpty(t, own[name], "%s", set.Position(n.Pos()))
				}
				return true
			})
		}
	}
	require.Len(t, seen, len(own))
}
