package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// edit puts other text in the place of a part of a file.
type edit struct {
	from, to int
	text     string
}

// breakGo lets each function call, instead of going on, the one of its broken forms whose number is chosen.
func (s *source) breakGo(file *ast.File) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "init" {
			continue
		}
		d := &editor{source: s}
		ast.Inspect(f.Body, d.breakGo)
		from, to := s.offset(f.Body.Pos()), s.offset(f.Body.End())
		head, tail := "func() ", "()\n\t\treturn"
		if f.Type.Results != nil {
			head, tail = "return func() "+s.textOf(f.Type.Results), "()"
		}
		forms := ""
		for _, e := range d.edits {
			first := max(from, 1+strings.LastIndexByte(s.text[:e.from], '\n'))
			last := e.to + strings.IndexByte(s.text[e.to:], '\n')
			body := s.text[from:e.from] + e.text + s.text[e.to:to]
			m, built := s.mutant(f.Name.Name, s.text[first:last], s.text[first:e.from]+e.text+s.text[e.to:last])
			if _, err := parser.ParseExpr("func() " + body); err != nil { // what follows it would not be read
				s.dropped[m.name] = true
			} else if built {
				forms += fmt.Sprintf("\tcase %d:\n//line mutant%d.go:1\n\t\t%s", m.number, m.number, head+body+tail+"\n")
			}
		}
		if forms != "" {
			s.splice(f.Body.Pos()+1, f.Body.Pos()+1, "\n\tswitch mutantNumber {\n"+forms+"\t}\n//line sound.go:1\n")
		}
	}
}

// editor collects the edits of a function, each of which makes a mutant.
type editor struct {
	*source
	edits  []edit
	failed []*ast.BlockStmt // those that are for an error only
	alone  ast.Node         // the only statement of an if
}

func (d *editor) put(n ast.Node, text string) { d.add(n.Pos(), n.End(), text) }
func (d *editor) add(from, to token.Pos, text string) {
	d.edits = append(d.edits, edit{d.offset(from), d.offset(to), text})
}

// otherOperators are what an operator is replaced by.
var otherOperators = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"}, token.EQL: {"!="}, token.NEQ: {"=="},
	token.LAND: {"||"}, token.LOR: {"&&"}, token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.AND: {"|"}, token.OR: {"&"}, token.ADD_ASSIGN: {"-="}, token.SUB_ASSIGN: {"+="}, token.INC: {"--"}, token.DEC: {"++"},
}

// sameAsEqual is by how much the number on the right of a comparison of integers would be moved
// to say what the comparison says with or without the equal sign: x < 3+1 is x <= 3. Of the
// two mutants one is made.
var sameAsEqual = map[token.Token]int{token.LSS: 1, token.LEQ: -1, token.GTR: -1, token.GEQ: 1}

// breakGo collects what can be broken at a node: an operator, a constant, a condition, a
// statement, a part of a literal or of a comparison.
func (d *editor) breakGo(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		d.operator(n.OpPos, n.Op)
		if n.Op == token.LAND || n.Op == token.LOR {
			d.put(n, d.textOf(n.X))
			d.put(n, d.textOf(n.Y))
		}
		if d.textOf(n.Y) == `""` {
			ast.Inspect(n.X, d.breakGo)
			return false // compared with another text it is always the same, as below
		}
		if number, ok := n.Y.(*ast.BasicLit); ok && number.Kind == token.INT && sameAsEqual[n.Op] != 0 {
			ast.Inspect(n.X, d.breakGo)
			d.number(number, -sameAsEqual[n.Op])
			return false
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			d.put(n, d.textOf(n.X))
		}
		if _, number := n.X.(*ast.BasicLit); number {
			return false // of a comparison's answer only the sign counts
		}
	case *ast.IfStmt:
		d.condition(n.Cond)
		if d.textOf(n.Cond) == "err != nil" {
			d.failed = append(d.failed, n.Body)
		}
		if n.Else == nil && n.Init == nil && len(n.Body.List) == 1 {
			d.alone = n.Body.List[0]
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && d.textOf(n.Results[0]) == "1" {
			d.put(n.Results[0], "-1")
			return false
		}
		return !d.fails(n)
	case *ast.KeyValueExpr:
		return d.textOf(n.Key) != "detail" // the text of an error
	case *ast.ForStmt:
		if n.Cond != nil {
			d.put(n.Cond, "false && ("+d.textOf(n.Cond)+")")
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, s := range n.Body.List {
				for _, x := range s.(*ast.CaseClause).List {
					d.condition(x)
				}
			}
		}
	case *ast.BasicLit:
		d.literal(n)
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}[n.Name]; ok {
			d.put(n, other)
		}
	case *ast.IncDecStmt:
		d.operator(n.TokPos, n.Tok)
		d.drop(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			d.operator(n.TokPos, n.Tok)
			d.drop(n)
		}
	case *ast.ExprStmt:
		if !strings.HasPrefix(d.textOf(n), "clear(") {
			d.drop(n)
		}
	case *ast.DeferStmt, *ast.BranchStmt:
		d.drop(n)
	case *ast.CallExpr:
		if name := d.textOf(n.Fun); name == "make" || name == "clear" {
			return false // what is set aside or set free shows in time and memory only
		}
		if strings.HasPrefix(d.textOf(n.Fun), "cmp.Or") {
			d.dropEach(n.Args)
		}
	case *ast.CompositeLit:
		d.dropEach(n.Elts)
	}
	return true
}

// fails reports whether nothing but an error is returned: what is beside it means nothing.
func (d *editor) fails(r *ast.ReturnStmt) bool {
	if len(r.Results) < 2 {
		return false
	}
	last := d.textOf(r.Results[len(r.Results)-1])
	return strings.HasPrefix(last, "driver.Err") || last == "err" &&
		slices.ContainsFunc(d.failed, func(b *ast.BlockStmt) bool { return b.Pos() < r.Pos() && r.End() < b.End() })
}

func (d *editor) operator(at token.Pos, op token.Token) {
	for _, other := range otherOperators[op] {
		d.add(at, at+token.Pos(len(op.String())), other)
	}
}

func (d *editor) condition(x ast.Expr) {
	d.put(x, "true || ("+d.textOf(x)+")")
	d.put(x, "false && ("+d.textOf(x)+")")
}

// drop leaves a statement out, but not what it uses. The only statement of an if is not
// left out, as a condition that is never true does the same.
func (d *editor) drop(s ast.Node) {
	if s != d.alone {
		d.put(s, "if false { "+d.textOf(s)+" }")
	}
}

// dropEach leaves one of the elements of a list out.
func (d *editor) dropEach(list []ast.Expr) {
	for i, x := range list {
		switch {
		case i+1 < len(list):
			d.add(x.Pos(), list[i+1].Pos(), "")
		case i > 0:
			d.add(list[i-1].End(), x.End(), "")
		default:
			d.put(x, "")
		}
	}
}

func (d *editor) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		d.number(n, 1)
		d.number(n, -1)
	case token.STRING:
		if n.Value == `""` {
			d.put(n, `"x"`)
		} else {
			d.put(n, `""`)
		}
	}
}

// number moves a number by 1 or -1, but none below 0.
func (d *editor) number(n *ast.BasicLit, by int) {
	if by > 0 {
		d.put(n, "("+n.Value+" + 1)")
	} else if n.Value != "0" {
		d.put(n, "("+n.Value+" - 1)")
	}
}
